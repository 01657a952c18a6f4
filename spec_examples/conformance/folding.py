"""Tell a fault from what follows from it, so that a report names one clause for one fault.

A clause is folded under another if every violation of it has a violation of that other one beside or before it in the
same run. The verdict stays: what crossed the boundary did violate the clause.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

FIELDS = ("FIELD-1", "FIELD-2", "FIELD-3")
SPECIFIC = ("FIELD-7", "FIELD-6", "FIELD-5", "FIELD-4")
"""Clauses that say where a wrong value came from. Of two that are violated in the same rows, the first is the fault."""

COINCIDENT = ("FIELD-4", "FIELD-6")
"""Those of them that compare a value with earlier ones, which it may equal by coincidence."""

ROUTES = ("ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-4", "ROUTE-5")
LATER = ("STATE-1", "STATE-2", "ROUTE-4", "ROUTE-6", "ROUTE-8")
"""Clauses about what a step leaves behind: an earlier fault of the same run may be all that they show."""

AT_THE_ROW: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SPECIFIC, (*FIELDS, "HOOK-2", *ROUTES)),
    "FIELD-1": ("FIELD-3", "HOOK-2", *ROUTES),
    "FIELD-2": ("FIELD-3", "HOOK-2", *ROUTES),
    "FIELD-3": ("HOOK-2", *ROUTES),
    "ROUTE-1": ("HOOK-2",),
}
"""For each clause those that a violation of it makes another violation of, in the same row."""

KEYWORDS = "HOOK-1"
"""A field that does not arrive is one fault: it is missing among the keywords, and so has no value either."""

LAST = "ROUTE-6"
"""It compares two runs: any other violation in either of them explains why they differ."""


@dataclass(frozen=True)
class Seen:
    """One violation: the run, counted over the suite, its step from 1, and the request at fault if there is one.

    ``absent`` says that something did not arrive, which explains nothing else: a runner has no fields or no guard.
    """

    clause: str
    run: int
    step: int
    request: str | None = None
    absent: bool = False


def folded(seen: Iterable[Seen]) -> dict[str, str]:
    """For each clause whose violations all follow from others, the clause that they follow from."""
    by_run: dict[int, list[Seen]] = defaultdict(list)
    by_clause: dict[str, list[Seen]] = defaultdict(list)
    for each in seen:
        by_run[each.run].append(each)
        by_clause[each.clause].append(each)
    rows = {clause: frozenset(_row(each) for each in found if not each.absent) for clause, found in by_clause.items()}
    found: dict[str, str] = {}
    for clause, violations in by_clause.items():
        wider = next((other for other in (*SPECIFIC, *FIELDS) if _says_more(other, clause, rows)), "")
        causes = [wider or _cause(each, by_run[each.run]) for each in violations]
        if all(causes):
            found[clause] = _most(causes)
    return {clause: _root(cause, found) for clause, cause in found.items()}


def _root(clause: str, follows: Mapping[str, str]) -> str:
    """The clause at the end of a chain of causes."""
    chain = [clause]
    while (cause := follows.get(chain[-1])) and cause not in chain:
        chain.append(cause)
    return chain[-1]


def _row(seen: Seen) -> tuple[int, int, str | None]:
    return seen.run, seen.step, seen.request


def _says_more(other: str, clause: str, rows: Mapping[str, frozenset[tuple[int, int, str | None]]]) -> bool:
    """Whether a clause about a value is violated wherever another is that names the source of the value, and elsewhere.

    A wrong value that is an earlier one by coincidence is not the earlier one where there is none that it could be.
    """
    if clause not in SPECIFIC or other == clause or other not in rows or not rows[clause]:
        return False
    if other in FIELDS:
        return clause in COINCIDENT and rows[clause] < rows[other]
    return rows[clause] < rows[other] or (
        rows[clause] == rows[other] and SPECIFIC.index(other) < SPECIFIC.index(clause)
    )


def _cause(effect: Seen, beside: Iterable[Seen]) -> str:
    """The clause whose violation explains this one; empty if none does."""
    return next((each.clause for each in beside if each.clause != effect.clause and _explains(each, effect)), "")


def _explains(cause: Seen, effect: Seen) -> bool:
    if effect.clause == LAST:
        return True
    if cause.clause == LAST:
        return False
    same_row = cause.step == effect.step and (effect.request is None or cause.request == effect.request)
    if cause.absent:
        return same_row and effect.absent and cause.clause == KEYWORDS
    if same_row and effect.clause in AT_THE_ROW.get(cause.clause, ()):
        return True
    return cause.step < effect.step and effect.clause in LATER and cause.clause not in LATER


def _most(causes: Iterable[str]) -> str:
    """The cause that explains most, the first of equal ones."""
    ((clause, _),) = Counter(causes).most_common(1)
    return clause
