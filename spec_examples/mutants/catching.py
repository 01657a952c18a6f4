"""Which examples catch a defect: the pages of the contract, executed on a runner that has it.

An example catches a defect where it goes red and is not red on the runner as it is; where that runner is known to break
promises, it also does where it names a clause that it does not name there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from spec_examples.conformance.known import known
from spec_examples.contract.clauses import CLAUSES
from spec_examples.contract.judge import judge
from spec_examples.execution.claims import is_claim
from spec_examples.execution.needs import needs
from spec_examples.execution.page import PageExecution
from spec_examples.execution.result import Result
from spec_examples.execution.tables import ROUTING
from spec_examples.markdown import Example, Page, read
from spec_examples.mutants import record as recorded
from spec_examples.mutants.beyond_pages import failing
from spec_examples.mutants.mutant import Mutant
from spec_examples.mutants.session import DefectSession, Traces
from spec_examples.probing import SPLIT_PROMPT
from spec_examples.targets import Session, Target, TargetUnavailable

State = Literal["caught", "passed", "not-measurable", "not-applicable-here"]

RED = ("failed", "error")

SHOWN_BY_ROWS = {"HOOK-2", "ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-4", "ROUTE-5"}
"""Clauses that a row of the routing table may show, whatever its section states."""


@dataclass(frozen=True)
class Catch:
    """What came of one defect.

    ``by`` are the ids of the examples that caught it, in the order in which they were executed; ``clauses`` those that
    they named. ``message`` says why there are none: the divergence that hides it, the release with which its construct
    came, or which edit does not apply. ``judged`` are the clauses that were seen to be broken, by the judge of any run
    that was made, and ``message`` is what the first of these judges said. ``cases`` are those of the suite that show
    it, if all were asked for.
    """

    mutant: Mutant
    state: State
    by: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    message: str = ""
    judged: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()


class Hunt:
    """The examples of ``pages``, executed on ``target`` as it is and with each of its known defects.

    ``session`` runs everything in the one process that has imported the runner. ``anew`` asks examples in an order
    that does not depend on what caught a defect before, as a record does.
    """

    def __init__(self, pages: Iterable[Path], session: Session, target: Target, *, anew: bool = False) -> None:
        self.session, self.target = session, target
        self.pages = [read(path) for path in pages]
        self.version = session.environment(target).vllm_omni
        self.hidden = known(self.version, target.runner)
        self.control: dict[str, Result] = {}
        """What came of each example that asks the target, on the runner as it is."""
        self.red: list[Result] = []
        """The examples that are red without any defect, and so say nothing of one."""
        self._without_control = {
            each.id: each
            for page in self.pages
            for each in page.examples
            if each.kind != "admonition" and not each.exempt
        }
        self.keys = {each.id: recorded.key(each, page) for page in self.pages for each in page.examples}
        before = {} if anew else recorded.caught_on(self.version, target.runner)
        self._likely = {name: set(caught.by) for name, caught in before.items()}
        self._others: Traces = {}

    def run_control(self) -> None:
        """Execute all examples on the runner as it is; nothing may be red where it is not known to break promises.

        Without this call, each example that a defect turns red is executed so afterwards.
        """
        for example in tuple(self._without_control.values()):
            self._run_control(example)

    def _run_control(self, example: Example) -> None:
        """Execute one example on the runner as it is, unless that was done."""
        if self._without_control.pop(example.id, None) is None:
            return
        execution = self._controls[example.page]
        before = len(execution.context.made)
        result = _evaluated(execution, example)
        asked = {made.target for made in execution.context.made[before:]}
        outside = example.parent is not None and is_claim(execution.page, example.parent)
        if result.outcome in RED and not self.hidden:
            self.red += [] if outside else [result]
        elif not asked or self.target in asked:
            self.control[example.id] = result

    @cached_property
    def _controls(self) -> dict[str, PageExecution]:
        """The pages on the runner as it is, by their names."""
        session = DefectSession(self.session, self.target, "", self._others)
        return {
            example.page: PageExecution(page, session, self.target)
            for page in self.pages
            for example in page.examples[:1]
        }

    def hunt(
        self,
        mutant: Mutant,
        *,
        all_examples: bool = False,
        earlier: recorded.Caught | None = None,
        asked: Collection[str] = (),
    ) -> Catch:
        """Execute examples with ``mutant`` in the runner, until one catches it or, on demand, all of them.

        ``earlier`` is what all examples with the keys ``asked``, and the suite, showed of it before: these are not run
        again.
        """
        if mutant.is_before(self.version):
            there = f"vLLM-Omni {self.version} does not have what it edits, which came with {mutant.since}"
            return Catch(mutant, "not-measurable", message=there)
        session = DefectSession(self.session, self.target, mutant.name, self._others)
        try:
            session.run(SPLIT_PROMPT, self.target)
        except TargetUnavailable as error:
            return Catch(mutant, "not-applicable-here", message=str(error))
        if self.hidden.keys() >= set(mutant.clauses):
            ids = sorted({self.hidden[clause].id for clause in mutant.clauses})
            breaks = " and ".join(mutant.clauses)
            return Catch(mutant, "not-measurable", message=f"the runner breaks {breaks} as it is: {', '.join(ids)}")
        found: list[str] = []
        clauses: dict[str, None] = {}
        likely = () if all_examples else self._likely.get(mutant.name, ())
        for example, named in self._catches(mutant, session, likely, earlier, asked):
            found.append(example)
            clauses |= dict.fromkeys(named)
            if not all_examples:
                break
        catch = Catch(mutant, "caught" if found else "passed", tuple(found), tuple(clauses))
        if earlier:
            return self._judged(catch, session, {case: set(earlier.judged) for case in earlier.cases}, earlier.message)
        return self._judged(catch, session, self._failing_with(session) if all_examples else {})

    def _judged(self, catch: Catch, session: DefectSession, cases: dict[str, set[str]], message: str = "") -> Catch:
        """The same with what the judges say of every run that was made, the defect's clauses first."""
        said: dict[str, str] = {}
        for trace in session.broken:
            for verdict in judge(trace):
                if verdict.outcome == "failed" and verdict.clause not in self.hidden:
                    said.setdefault(verdict.clause, verdict.message)
        broken = {clause for clauses in cases.values() for clause in clauses} | said.keys()
        broken |= set(catch.clauses) & set(catch.mutant.clauses)
        judged = [clause for clause in CLAUSES if clause in broken]
        judged.sort(key=lambda clause: clause not in catch.mutant.clauses)
        message = message or next((said[clause] for clause in judged if clause in said), "")
        return replace(catch, judged=tuple(judged), cases=tuple(cases), message=message)

    def _failing_with(self, session: DefectSession) -> dict[str, set[str]]:
        """The cases of the suite that break more clauses than without a defect, and which."""
        without = self._failing_without_defect
        more = {case: broken - without.get(case, set()) for case, broken in failing(session, self.target).items()}
        return {case: clauses for case, clauses in more.items() if clauses}

    def _catches(
        self,
        mutant: Mutant,
        session: DefectSession,
        likely: Collection[str],
        earlier: recorded.Caught | None,
        asked: Collection[str],
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """What catches it, with the clauses that it names, or those of its section where it names none of the defect's.

        Where no example does, the cases of the conformance suite are asked.
        """
        executions = {page.path: PageExecution(page, session, self.target) for page in self.pages}
        caught = False
        for page, example in self._in_order(mutant, likely):
            if earlier and self.keys[example.id] in asked:
                if self.keys[example.id] in earlier.by:
                    caught = True
                    yield example.id, earlier.judged
                continue
            result = _evaluated(executions[page.path], example)
            if self._is_catch(example, result):
                caught = True
                section = () if set(result.clauses) & set(mutant.clauses) else example.clauses
                yield example.id, (*result.clauses, *section)
        if not caught and not earlier:
            for case, named in self._failing_with(session).items():
                yield f"suite: {case}", tuple(sorted(named))

    @cached_property
    def _failing_without_defect(self) -> dict[str, set[str]]:
        return failing(DefectSession(self.session, self.target, "", self._others), self.target)

    def _in_order(self, mutant: Mutant, likely: Collection[str]) -> list[tuple[Page, Example]]:
        """The ``likely``, a row of each kind, then sections that state a clause of the defect, blocks before rows."""
        asking = self.control.keys() | self._without_control.keys()
        pairs = [(page, example) for page in self.pages for example in page.examples if example.id in asking]
        wanted = set(mutant.clauses)
        telling = _row_of_each_kind(example for _, example in pairs) if wanted & SHOWN_BY_ROWS else set()

        def rank(pair: tuple[Page, Example]) -> tuple[bool, ...]:
            page, example = pair
            states, home = wanted & set(example.clauses), wanted & page.clauses.keys()
            unlikely = self.keys[example.id] not in likely
            return unlikely, example.id not in telling, not states, example.header == ROUTING, not home

        return sorted(pairs, key=rank)

    def _is_catch(self, example: Example, result: Result) -> bool:
        if result.outcome not in RED:
            return False
        self._run_control(example)
        control = self.control.get(example.id)
        return control is not None and (control.outcome == "passed" or not set(result.clauses) <= set(control.clauses))


def _row_of_each_kind(examples: Iterable[Example]) -> set[str]:
    """Of the routing table's rows, the first of each phase and eligibility."""
    first: dict[tuple[str, ...], str] = {}
    for example in examples:
        if example.header == ROUTING:
            first.setdefault(tuple(cell.split(" (")[0] for cell in example.cells[3:]), example.id)
    return set(first.values())


def _evaluated(execution: PageExecution, example: Example) -> Result:
    """The result of an example, executed behind the blocks of which it needs something, and no others."""
    needed = needs(execution.page, example)
    for statement in needed.imports:
        execution.interpreter.execute(statement, example.page, 1, execution.context)
    for each in (*needed.blocks, example):
        if each.id not in execution.results:
            execution.results[each.id] = execution.attempt(each, lambda each=each: execution.execute(each))  # type: ignore[misc]
    return execution.results[example.id]
