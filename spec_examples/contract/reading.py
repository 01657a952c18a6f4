"""A trace put in order for the judges: each scheduled row beside all that crossed the boundary for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from spec_examples.contract import rows
from spec_examples.contract.matching import HookMatch, Match, MtpMatch, match
from spec_examples.contract.origins import Origin, describe
from spec_examples.contract.verdict import Violation
from spec_examples.trace import MTP_INPUTS, HookRow, ScheduledRow, Step, Trace, Value


@dataclass(frozen=True)
class RowReading:
    """One scheduled row.

    ``step`` counts from 1. ``origins`` are those of its tokens that reached ``forward``, in order and possibly fewer
    than its span. ``mtp`` are the MTP rows called for it. ``codes_before`` are the codes last seen stored for its
    request, ``codes_after`` those after the step. ``filled`` is what the model wrote there itself, if it
    did. ``complete`` is false in a step in which the runner raised: what is absent there proves nothing. ``asked`` says
    that it raised because this row's update had no MTP inputs.
    """

    step: int
    row: ScheduledRow
    hooks: tuple[HookMatch, ...]
    origins: tuple[Origin, ...]
    mtp: tuple[MtpMatch, ...]
    codes_before: tuple[int, ...] | None
    codes_after: tuple[int, ...] | None
    filled: HookRow | None = None
    complete: bool = True
    asked: bool = False

    @property
    def returned(self) -> int:
        """How many embeddings its hook returned, or its model wrote."""
        wrote = len(self.filled.embeds) if self.filled else 0
        return sum(len(found.row.embeds) for found in self.hooks[:1]) or wrote

    @property
    def at(self) -> str:
        """How messages name the row."""
        return rows.at(self.row, self.step)

    @property
    def takes_mtp(self) -> bool:
        """Whether it is a single-token decode row."""
        return rows.takes_mtp(self.row)

    @property
    def offered(self) -> bool:
        """Whether its hook offered MTP inputs; a row of a model that offers none has nothing that MTP could take."""
        return any(found.row.hidden is not None or found.row.text is not None for found in self.hooks)

    @property
    def planted(self) -> dict[str, Value]:
        """The phase keys that its per-row hooks wrote."""
        return {key: value for found in self.hooks for key, value in found.row.planted.items()}

    def violation(self, problem: str) -> Violation:
        """A violation at this row; ``problem`` says what the contract has, and what crossed the boundary instead."""
        return Violation(self.step, self.row.request, f"{self.at}: {problem}")


@dataclass(frozen=True)
class StepReading:
    """One step: its rows in the order of the batch, and what belongs to no row.

    ``origins`` has one entry for each row of ``forward``. ``state`` holds, for each request, the phase keys that stood
    in its state at ``preprocess_batch``, and ``planted`` those that were written there. ``codes_changed`` names the
    requests outside this step whose stored codes changed in it.
    """

    number: int
    step: Step
    match: Match
    rows: tuple[RowReading, ...]
    origins: tuple[Origin, ...]
    state: dict[str, dict[str, Value]] = field(default_factory=dict)
    planted: dict[str, dict[str, Value]] = field(default_factory=dict)
    codes_changed: tuple[str, ...] = ()
    complete: bool = True


@dataclass(frozen=True)
class Reading:
    """A whole trace, read once and shared by all judges."""

    trace: Trace
    steps: tuple[StepReading, ...] = field(default=())

    @property
    def rows(self) -> tuple[RowReading, ...]:
        """Every scheduled row, step after step."""
        return tuple(row for step in self.steps for row in step.rows)


def read(trace: Trace) -> Reading:
    """Match every step of a trace and carry along which codes were stored before it."""
    codes: dict[str, tuple[int, ...]] = {}
    steps = []
    for number, step in enumerate(trace.steps, start=1):
        complete = not (trace.error is not None and number == len(trace.steps))
        asked = None if complete else _asked(trace.error or "", step)
        steps.append(_read_step(number, step, codes, complete, asked))
        codes.update(step.codes)
    return Reading(trace, tuple(steps))


def _asked(error: str, step: Step) -> str | None:
    """The request whose MTP inputs a runner looked for and did not find: that of its last call for one row."""
    last = step.hooks[-1] if step.hooks else None
    if last is None or last.hook != "preprocess" or not error.startswith(f"KeyError: '{MTP_INPUTS}'"):
        return None
    return next((row.request for row in last.rows), None)


def _read_step(
    number: int, step: Step, codes: dict[str, tuple[int, ...]], complete: bool, asked: str | None
) -> StepReading:
    matched = match(step)
    origins = describe(step, matched)
    readings = tuple(
        RowReading(
            step=number,
            row=row,
            hooks=matched.hooks[i],
            origins=origins[max(0, row.start) : max(0, row.start + row.span)],
            mtp=matched.mtp(i),
            codes_before=codes.get(row.request),
            codes_after=step.codes.get(row.request),
            filled=matched.filled[i],
            complete=complete,
            asked=asked is not None and row.request == asked,
        )
        for i, row in enumerate(step.rows)
    )
    scheduled = {row.request for row in step.rows}
    changed = tuple(r for r, stored in step.codes.items() if r not in scheduled and codes.get(r) != stored)
    batch = [row for call in step.hooks if call.hook == "preprocess_batch" for row in call.rows]
    state = {row.request: row.fields for row in batch if row.request is not None}
    planted = {row.request: row.planted for row in batch if row.request is not None}
    return StepReading(number, step, matched, readings, origins, state, planted, changed, complete)
