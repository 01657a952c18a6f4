"""What one trace shows of each row of a model, and by how much two such rows differ. Plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spec_examples.trace import Embedding, HookRow, ScheduledRow, Step, Trace

TOLERANCE = 1e-3
"""By how much a value may differ, relative to the larger of the two or to 1: sums in another order round otherwise."""


@dataclass(frozen=True)
class Seen:
    """One row of a step with what the model made of it.

    ``step`` counts from 1. ``hook`` is the name of the hook that it reached, ``returned`` what that hook was given and
    gave. ``reached`` are the embeddings that went to ``forward``, one a token. ``codes`` are those that the runner
    keeps. ``resumed`` says whether the request was preempted before, ``replayed`` whether it had a decode row of
    several tokens before, and ``beside`` how many requests were alive at some time up to here. ``raised`` is what the
    hook raised at this row, if it did.
    """

    step: int
    row: ScheduledRow
    hook: str
    returned: HookRow
    reached: tuple[Embedding, ...]
    codes: tuple[int, ...]
    resumed: bool
    replayed: bool
    beside: int
    raised: str = ""

    @property
    def is_prefill(self) -> bool:
        """By the scheduler's count, whatever the flag said."""
        return self.row.computed < self.row.prompt_len

    @property
    def is_decode_step(self) -> bool:
        """One token after the prompt."""
        return not self.is_prefill and self.row.span == 1

    @property
    def prompt_part(self) -> tuple[tuple[int, int], ...]:
        """Index in the span, and position in the prompt, of each prompt token."""
        begin, end = self.row.computed, min(self.row.computed + self.row.span, self.row.prompt_len)
        return tuple((position - begin, position) for position in range(begin, end))

    def __str__(self) -> str:
        return f"row {self.row.request} ({self.row.prompt_len}, {self.row.computed}, {self.row.span})"


def seen(trace: Trace) -> Iterator[Seen]:
    """The rows of a trace, step by step, that reached a hook."""
    resumed: set[str] = set()
    replayed: set[str] = set()
    met: set[str] = set()
    for number, step in enumerate(trace.steps, start=1):
        resumed.update(step.resumed)
        met.update(row.request for row in step.rows)
        for row in step.rows:
            if row.computed == 0 and row.request not in resumed:
                replayed.discard(row.request)
            found = _hook_of(step, row.request)
            if found is not None:
                end = row.start + row.span
                yield Seen(
                    number,
                    row,
                    found[0],
                    found[1],
                    step.forward[row.start : end],
                    step.codes.get(row.request, ()),
                    row.request in resumed,
                    row.request in replayed,
                    len(met),
                    (trace.error or "") if found[1].raised else "",
                )
            if row.computed >= row.prompt_len and row.span > 1:
                replayed.add(row.request)


def _hook_of(step: Step, request: str) -> tuple[str, HookRow] | None:
    """The per-row hook that a request reached; else ``preprocess_batch``, where it filled the row itself."""
    if found := step.hook_of(request):
        return found[0].hook, found[1]
    for call in step.hooks:
        for row in call.rows:
            if row.request == request and row.filled:
                return call.hook, row
    return None


def apart(one: Embedding | None, other: Embedding | None) -> float:
    """The largest difference of two values beyond tolerance, 0 where there is none; infinite for two lengths."""
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    if len(one) != len(other):
        return math.inf
    worst = 0.0
    for a, b in zip(one, other, strict=True):
        if abs(a - b) > TOLERANCE * max(1.0, abs(a), abs(b)):
            worst = max(worst, abs(a - b))
    return worst


def differs(decode: Seen, other: Seen, mtp: bool) -> str:
    """How a decode step differs from the same step of another run, in words; empty where it does not.

    ``mtp`` says whether MTP ran, so that its embedding and codes are compared too.
    """
    pairs: Sequence[tuple[str, Embedding | None, Embedding | None]] = (
        ("the embedding that the hook returns", _only(decode.returned.embeds), _only(other.returned.embeds)),
        ("its first MTP input", decode.returned.hidden, other.returned.hidden),
        ("its second MTP input", decode.returned.text, other.returned.text),
        ("the MTP embedding", _only(decode.reached) if mtp else None, _only(other.reached) if mtp else None),
    )
    for what, one, another in pairs:
        if difference := apart(one, another):
            return f"{what} {by(difference)}"
    if mtp and decode.codes != other.codes:
        return f"its codes are {decode.codes}, not {other.codes}"
    return ""


def by(difference: float) -> str:
    """``differs by 0.5``, or ``has another length``."""
    return "has another length" if math.isinf(difference) else f"differs by {difference:.3g}"


def _only(rows: tuple[Embedding, ...]) -> Embedding | None:
    return rows[0] if len(rows) == 1 else None
