"""What a search came across: kinds of rows, spans, batch shapes, and what of them never came up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from spec_examples.contract.judge import JUDGES
from spec_examples.contract.rows import is_prefill
from spec_examples.contract.verdict import Verdict
from spec_examples.trace import ScheduledRow, Step, Trace

LONGEST = 5
"""Spans from this length on are counted together."""

SPANS = tuple(f"{phase} of {n}" for phase in ("prefill", "decode") for n in (1, 2, 3, 4, "5 or more"))

KINDS = (
    "one-token prompt",
    "one-token chunk before the tail",
    "one-token tail",
    "longer tail",
    "whole prompt",
    "prefill past the prompt",
    "decode",
    "starts at cached progress, one token left",
    "starts at cached progress, more left",
    "resumed from 0",
    "resumed at cached progress inside the prompt",
    "resumed at cached progress past the prompt",
    "replayed decode of one token, nothing sampled",
    "the same without a long_prefill_token_threshold",
    "replayed decode of several tokens",
    "prefill again after the prompt grew",
    "one-token tail of a grown prompt",
    "an id that comes back",
    "planted keys under a prefill row",
    "planted keys under a decode row",
    "asynchronous, its token not known to the scheduler",
    "drafts, all of them accepted",
    "drafts, some of them rejected",
)
"""Rows that a story is about, and a few more."""

LETTERS = {(True, True): "t", (True, False): "p", (False, True): "d", (False, False): "D"}
"""A row in a batch shape: prefill of one token or of more, decode of one token or of more."""

SHAPES = tuple("".join(letters) for rows in (1, 2, 3) for letters in product("ptdD", repeat=rows))
"""Every batch of up to three rows; larger ones are counted by their number of rows."""


@dataclass
class Reached:
    """Counts over all traces of a search. Rows are counted under each kind that they are of."""

    traces: int = 0
    steps: int = 0
    rows: int = 0
    preempted: int = 0
    spans: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=Counter)
    clauses: Counter[str] = field(default_factory=Counter)

    def add(self, trace: Trace, verdicts: tuple[Verdict, ...]) -> None:
        """Count a trace that was judged; ``clauses`` counts the rows that each clause was judged on."""
        self.traces += 1
        history = _History(bool(trace.scheduler.get("long_prefill_token_threshold")))
        for step in trace.steps:
            self.steps += 1
            self.rows += len(step.rows)
            self.preempted += len(step.preempted)
            self.shapes[_shape(step)] += 1
            for row in step.rows:
                self.spans[f"{_phase(row)} of {row.span if row.span < LONGEST else '5 or more'}"] += 1
                self.kinds.update(history.kinds(step, row))
        self.clauses.update({verdict.clause: verdict.judged for verdict in verdicts})

    def never(self) -> dict[str, tuple[str, ...]]:
        """What never came up."""
        return {
            "spans": tuple(each for each in SPANS if not self.spans[each]),
            "kinds": tuple(each for each in KINDS if not self.kinds[each]),
            "shapes": tuple(each for each in SHAPES if not self.shapes[each]),
            "clauses": tuple(each for each in JUDGES if not self.clauses[each]),
        }

    def as_json(self) -> dict[str, object]:
        """Counts under the names of what was reached, in a stable order, and what was not."""
        larger = {shape: n for shape, n in self.shapes.items() if shape not in SHAPES}
        return {
            "traces": self.traces,
            "steps": self.steps,
            "rows": self.rows,
            "preempted": self.preempted,
            "spans": {each: self.spans[each] for each in SPANS},
            "kinds": {each: self.kinds[each] for each in KINDS},
            "shapes": {each: self.shapes[each] for each in SHAPES if self.shapes[each]} | dict(sorted(larger.items())),
            "clauses": {each: self.clauses[each] for each in JUDGES},
            "never": {name: list(found) for name, found in self.never().items()},
        }


class _History:
    """What the rows of one trace were before the row that is looked at."""

    def __init__(self, threshold: bool) -> None:
        self.threshold = threshold
        self.last: dict[str, ScheduledRow] = {}
        self.reached: dict[str, int] = {}

    def kinds(self, step: Step, row: ScheduledRow) -> set[str]:
        last, replayed = self.last.get(row.request), row.computed < self.reached.get(row.request, 0)
        came_back = last is not None and row.request not in step.resumed and row.prompt_len < last.prompt_len
        first = last is None or came_back
        found = {kind for kind, holds in _kinds(step, row, last, replayed, first) if holds}
        found |= {"an id that comes back"} if came_back else set()
        if "replayed decode of one token, nothing sampled" in found and not self.threshold:
            found.add("the same without a long_prefill_token_threshold")
        self.last[row.request] = row
        self.reached[row.request] = max(0 if first else self.reached.get(row.request, 0), row.computed + row.span)
        return found


def _kinds(
    step: Step, row: ScheduledRow, last: ScheduledRow | None, replayed: bool, first: bool
) -> Iterator[tuple[str, bool]]:
    """Each kind, and whether the row is of it."""
    prefill, end = is_prefill(row), row.computed + row.span
    resumed, one = row.request in step.resumed, row.span == 1
    cached = first and row.computed > 0
    grown = last is not None and row.prompt_len > last.prompt_len
    yield "one-token prompt", row.prompt_len == 1 and prefill
    yield "one-token chunk before the tail", prefill and one and end < row.prompt_len
    yield "one-token tail", prefill and one and end == row.prompt_len and row.computed > 0
    yield "longer tail", prefill and not one and end == row.prompt_len and row.computed > 0
    yield "whole prompt", row.computed == 0 and end == row.prompt_len
    yield "prefill past the prompt", prefill and end > row.prompt_len
    yield "decode", not prefill and one and not replayed
    yield "starts at cached progress, one token left", cached and row.computed == row.prompt_len - 1
    yield "starts at cached progress, more left", cached and row.computed < row.prompt_len - 1
    yield "resumed from 0", resumed and row.computed == 0
    yield "resumed at cached progress inside the prompt", resumed and 0 < row.computed < row.prompt_len
    yield "resumed at cached progress past the prompt", resumed and not prefill
    yield (
        "replayed decode of one token, nothing sampled",
        not prefill and one and replayed and row.request not in step.sampled,
    )
    yield "replayed decode of several tokens", not prefill and not one and replayed and not row.drafts
    yield "prefill again after the prompt grew", prefill and grown
    yield "one-token tail of a grown prompt", prefill and grown and one and end == row.prompt_len
    yield "planted keys under a prefill row", prefill and row.request in step.planted
    yield "planted keys under a decode row", not prefill and row.request in step.planted
    yield "asynchronous, its token not known to the scheduler", step.in_flight > 0 and len(row.tokens) < row.span
    sampled = len(step.sampled.get(row.request, ()))
    yield "drafts, all of them accepted", 0 < row.drafts < sampled
    yield "drafts, some of them rejected", 0 < sampled <= row.drafts


def _phase(row: ScheduledRow) -> str:
    return "prefill" if is_prefill(row) else "decode"


def _shape(step: Step) -> str:
    """``dt`` is a decode row and a one-token prefill row; more than three rows are a number."""
    if len(step.rows) > 3:
        return f"{len(step.rows)} rows"
    return "".join(LETTERS[is_prefill(row), row.span == 1] for row in step.rows)
