"""What would be missed: which defects each example, judge and suite case is the only one to show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spec_examples.markdown import Page
from spec_examples.mutants import record as catches
from spec_examples.mutants.record import CatchRecord


@dataclass(frozen=True)
class Share:
    """``catches`` are the defects that it shows, ``alone`` those of them that nothing else of its kind does."""

    catches: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()


def of_examples(pages: Iterable[Page], records: Iterable[CatchRecord]) -> dict[str, Share]:
    """By the id of each example that was executed with the defects; some ask other releases only, and are not here."""
    now = catches.keys(pages)
    executed = [each for record in records for each in record.examples if each in now]
    shares = _shares(executed, {c.name: c.by for record in records for c in record.caught.values()})
    return {now[each].id: share for each, share in shares.items()}


def of_judges(clauses: Iterable[str], records: Iterable[CatchRecord]) -> dict[str, Share]:
    """By clause."""
    return _shares(clauses, {c.name: c.judged for record in records for c in record.caught.values()})


def _shares(of: Iterable[str], shown_by: dict[str, tuple[str, ...]]) -> dict[str, Share]:
    return {
        each: Share(
            tuple(defect for defect, by in shown_by.items() if each in by),
            tuple(defect for defect, by in shown_by.items() if set(by) == {each}),
        )
        for each in of
    }
