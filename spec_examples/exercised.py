"""What a run exercised, counted off its traces: a suite can pass because nothing happened, and this says what did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from spec_examples.contract import rows
from spec_examples.contract.origins import Origin, describe
from spec_examples.trace import Step, Trace


@dataclass(frozen=True)
class Exercised:
    """Counts of what crossed the boundary.

    ``rows`` are scheduled rows by phase and span, such as ``prefill 4``; spans of ten tokens or more are ``10+``.
    ``mtp`` are the calls of MTP by their number of rows, ``hooks`` the rows that reached each hook. ``orders`` are the
    different orders of prefill and decode in a step of several rows, such as ``decode prefill decode``. ``kept`` and
    ``taken`` count the rows whose embedding is the hook's, and those whose embedding is that of MTP.
    """

    steps: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    mtp: Counter[int] = field(default_factory=Counter)
    hooks: Counter[str] = field(default_factory=Counter)
    orders: frozenset[tuple[str, ...]] = frozenset()
    kept: int = 0
    taken: int = 0

    def __add__(self, other: Exercised) -> Exercised:
        """Both together."""
        return Exercised(
            self.steps + other.steps,
            self.rows + other.rows,
            self.mtp + other.mtp,
            self.hooks + other.hooks,
            self.orders | other.orders,
            self.kept + other.kept,
            self.taken + other.taken,
        )


def exercised(traces: Iterable[Trace]) -> Exercised:
    """What all of ``traces`` exercised together."""
    return by_steps((step, describe(step)) for trace in traces for step in trace.steps)


def by_steps(steps: Iterable[tuple[Step, Sequence[Origin]]]) -> Exercised:
    """What ``steps`` exercised, each given with the origins of what reached ``forward`` in it."""
    counted = _Counts()
    for step, origins in steps:
        counted.count(step, origins)
    return Exercised(
        counted.steps, counted.rows, counted.mtp, counted.hooks, frozenset(counted.orders), counted.kept, counted.taken
    )


class _Counts:
    """Counters that steps are added to."""

    def __init__(self) -> None:
        self.steps = self.kept = self.taken = 0
        self.rows: Counter[str] = Counter()
        self.mtp: Counter[int] = Counter()
        self.hooks: Counter[str] = Counter()
        self.orders: set[tuple[str, ...]] = set()

    def count(self, step: Step, origins: Sequence[Origin]) -> None:
        """Add one step."""
        self.steps += 1
        self.rows.update(f"{rows.phase(row)} {row.span if row.span < 10 else '10+'}" for row in step.rows)
        self.mtp.update(len(call) for call in step.mtp if call)
        for call in step.hooks:
            self.hooks[call.hook] += len(call.rows)
        if len(step.rows) > 1:
            self.orders.add(tuple(rows.phase(row) for row in step.rows))
        for row in step.rows:
            kinds = {origin.kind for origin in origins[row.start : row.start + row.span]}
            self.kept += kinds == {"preprocess"}
            self.taken += kinds == {"mtp"}


def in_words(found: Exercised) -> str:
    """One line for a person."""
    if not found.steps:
        return "exercised: nothing"
    scheduled = ", ".join(f"{number} {what}" for what, number in sorted(found.rows.items(), key=_by_span))
    batches = ", ".join(f"{number} of {size}" for size, number in sorted(found.mtp.items())) or "none"
    hooks = ", ".join(f"{number} {hook}" for hook, number in sorted(found.hooks.items())) or "none"
    return (
        f"exercised: {found.steps} steps; rows by phase and span: {scheduled}; MTP batches by size: {batches}; "
        f"hook rows: {hooks}; {len(found.orders)} orders of prefill and decode"
    )


def _by_span(item: tuple[str, int]) -> tuple[str, int]:
    phase, _, span = item[0].partition(" ")
    return phase, int(span.rstrip("+"))


def in_json(found: Exercised) -> dict[str, object]:
    """Under the names of the JSON report."""
    return {
        "steps": found.steps,
        "rows": dict(sorted(found.rows.items(), key=_by_span)),
        "mtp_batches": {str(size): number for size, number in sorted(found.mtp.items())},
        "hooks": dict(sorted(found.hooks.items())),
        "orders": sorted(" ".join(order) for order in found.orders),
        "kept": found.kept,
        "taken": found.taken,
    }
