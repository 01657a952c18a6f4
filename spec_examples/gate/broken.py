"""What a check found broken, clause by clause: what every report tells a runner's author."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spec_examples.contract.clauses import CLAUSES
from spec_examples.contract.consequences import CONSEQUENCES
from spec_examples.execution.result import Result, Shown
from spec_examples.gate.smallest import smallest_run
from spec_examples.targets import Session, Target


@dataclass(frozen=True)
class Broken:
    """One promise that the runner broke, in ``examples``, the first of which tells of it.

    ``suffers`` says what a model suffers from it, ``smallest`` is the command for the smallest run that shows it (empty
    where none was found), ``anchor`` the page and place on which the promise stands.
    """

    clause: str
    examples: tuple[Result, ...]
    smallest: str = ""

    @property
    def name(self) -> str:
        """A few words for the promise."""
        return CLAUSES[self.clause].name

    @property
    def anchor(self) -> str:
        """``docs/contract/fields.md#FIELD-1``."""
        return CLAUSES[self.clause].anchor

    @property
    def suffers(self) -> str:
        """One sentence without its full stop."""
        return CONSEQUENCES.get(self.clause, "a model that relies on it cannot")


def broken_clauses(results: Sequence[Result], session: Session, target: Target) -> tuple[Broken, ...]:
    """The clauses that ``results`` show to be broken, in the contract's order, without known divergences."""
    examples: dict[str, list[Result]] = defaultdict(list)
    shown: Mapping[str, list[Shown]] = defaultdict(list)
    for result in results:
        for one in result.shown if result.outcome == "failed" else ():
            examples[one.clause].append(result)
            shown[one.clause].append(one)
    return tuple(
        Broken(clause, tuple(examples[clause]), smallest_run(shown[clause][:3], session, target))
        for clause in CLAUSES
        if clause in examples
    )
