"""The clauses that a check found violated, as every report shows them to a runner's author."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from spec_examples.conformance.record import Record
from spec_examples.conformance.suite import case
from spec_examples.conformance.verdicts import failing_step
from spec_examples.contract.clauses import CLAUSES
from spec_examples.contract.consequences import CONSEQUENCES
from spec_examples.execution.result import Result, Shown
from spec_examples.execution.show import show_step
from spec_examples.gate.smallest import smallest_run
from spec_examples.scenario import Row
from spec_examples.targets import Session, Target


@dataclass(frozen=True)
class Broken:
    """One clause that the runner violates: in a ``case`` of the suite, in ``examples`` of pages, or in both.

    ``message`` is the first violation in a line, ``detail`` its step. ``suffers`` says what a model suffers from it,
    ``smallest`` is the command for the smallest run that shows it (empty if none was found), ``anchor`` the page and
    place that state the clause. ``follows`` is the clause whose violation explains this one, if one does.
    """

    clause: str
    examples: tuple[Result, ...] = ()
    smallest: str = ""
    case: str = ""
    message: str = ""
    detail: str = ""
    follows: str = ""

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


def violated_clauses(record: Record, session: Session, target: Target) -> tuple[Broken, ...]:
    """The clauses that the suite shows to be violated and that are not known to be, causes first.

    A runner that is older than the contract violates most of them: no smaller run is looked for there.
    """
    found = []
    for clause, cell in record.violated().items():
        shown, detail = _of_case(record, clause, cell.evidence)
        small = "" if record.predates or cell.follows else smallest_run(shown, session, target)
        found.append(Broken(clause, (), small, cell.evidence, cell.message, detail, cell.follows))
    return tuple(found)


def _of_case(record: Record, clause: str, name: str) -> tuple[list[Shown], str]:
    """The run of a case in which a clause is violated, and the step in words."""
    chosen = case(name)
    found = failing_step(chosen, clause, record.traces) if chosen else None
    if found is None:
        return [], ""
    scenario, trace, number = found
    step = trace.steps[number - 1]
    rows = tuple(Row(row.prompt_len, row.computed, row.span, row.request) for row in step.rows)
    return [Shown(clause, scenario, rows)], show_step(trace, number)


def broken_clauses(
    results: Sequence[Result], session: Session, target: Target, judged: Sequence[Broken] = ()
) -> tuple[Broken, ...]:
    """The clauses that ``results`` show to be violated, without known divergences, behind those ``judged`` before."""
    examples: dict[str, list[Result]] = defaultdict(list)
    shown: Mapping[str, list[Shown]] = defaultdict(list)
    for result in results:
        for one in result.shown if result.outcome == "failed" else ():
            examples[one.clause].append(result)
            shown[one.clause].append(one)
    before = {each.clause for each in judged}
    more = [clause for clause in CLAUSES if clause in examples and clause not in before]
    return (
        *(replace(each, examples=tuple(examples.get(each.clause, ()))) for each in judged),
        *(_of_examples(clause, examples[clause], shown[clause], session, target) for clause in more),
    )


def _of_examples(
    clause: str, examples: Sequence[Result], shown: Sequence[Shown], session: Session, target: Target
) -> Broken:
    first = examples[0]
    small = smallest_run(shown[:3], session, target)
    return Broken(clause, tuple(examples), small, message=f"{first.id}: {first.message}", detail=first.detail)
