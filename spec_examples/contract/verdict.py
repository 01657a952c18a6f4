"""What a judge says: a verdict on one clause, with every violation that it rests on. Plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["passed", "failed", "not-applicable"]


@dataclass(frozen=True)
class Violation:
    """One row that broke a clause.

    ``step`` counts from 1, as messages do. ``request`` is ``None`` where what crossed the boundary belongs to no row.
    """

    step: int
    request: str | None
    message: str


@dataclass(frozen=True)
class Verdict:
    """What a trace shows of one clause.

    ``message`` is one line for the person who changed a runner: the first violation, or how much was judged, or what
    the trace lacks. ``step`` and ``request`` are those of the first violation. ``judged`` counts the rows that the
    clause speaks of and that were judged; a verdict passes only where it is at least 1.
    """

    clause: str
    outcome: Outcome
    message: str
    step: int | None = None
    request: str | None = None
    judged: int = 0
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What a judge counted before it is put into words: rows judged, and violations in the order of the trace."""

    judged: int
    violations: Sequence[Violation] = ()


def decide(clause: str, finding: Finding, missing: str) -> Verdict:
    """The verdict that a finding amounts to. ``missing`` says what the trace lacks where nothing was judged."""
    violations = tuple(finding.violations)
    if violations:
        first, others = violations[0], len(violations) - 1
        message = first.message + (f" (and {others} more)" if others else "")
        return Verdict(clause, "failed", message, first.step, first.request, finding.judged, violations)
    if not finding.judged:
        return Verdict(clause, "not-applicable", missing)
    return Verdict(clause, "passed", f"{finding.judged} row{'s' * (finding.judged > 1)} judged", judged=finding.judged)
