"""Choose the known defects that are put to the pages in every test run: their catches imply those of all others.

A defect is implied by another one if every example and case that catches the other one catches it too, by the record:
whatever lets the implied one pass lets the other one pass first. A defect without a valid catch is implied by none.
"""

from collections.abc import Iterable

from spec_examples.contract.clauses import PROMISES
from spec_examples.mutants import Mutant
from spec_examples.mutants.record import CatchRecord, Caught


def telling(mutants: Iterable[Mutant], record: CatchRecord) -> list[Mutant]:
    """Return the defects that no other one implies, and of each promise that these leave out the least caught one.

    Of defects that imply each other, the first one stands for all.
    """
    mutants = list(mutants)
    catches = {mutant.name: _catches(record.valid.get(mutant.name)) for mutant in mutants}
    kept: dict[str, Mutant] = {}
    for mutant in sorted(mutants, key=lambda mutant: len(catches[mutant.name])):
        own = catches[mutant.name]
        if not own or not any(catches[name] <= own for name in kept if catches[name]):
            kept[mutant.name] = mutant
    for promise in PROMISES:
        breaking = [mutant for mutant in mutants if promise in mutant.clauses]
        if breaking and not any(mutant.name in kept for mutant in breaking):
            least = min(breaking, key=lambda mutant: len(catches[mutant.name]))
            kept[least.name] = least
    return [mutant for mutant in mutants if mutant.name in kept]


def _catches(caught: Caught | None) -> frozenset[str]:
    """What catches a defect, by the record; nothing if it has no catch."""
    return frozenset((*caught.by, *caught.cases)) if caught else frozenset()
