"""One verdict for each clause of one target, from the traces of the suite. Reads traces; runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from spec_examples.conformance.control import NOT_THE_RUNNER
from spec_examples.conformance.folding import LAST, Seen, folded
from spec_examples.conformance.suite import SUITE, Case
from spec_examples.contract.alignment import ABSENT, NOTHING_ARRIVED
from spec_examples.contract.clauses import CLAUSES
from spec_examples.contract.judge import JUDGES, judge, route_form, stopped
from spec_examples.contract.pair import judge_pair
from spec_examples.contract.routing import RouteForm
from spec_examples.contract.verdict import Verdict, Violation
from spec_examples.scenario import Scenario
from spec_examples.trace import Trace

State = Literal["passed", "failed", "not-applicable", "not-runnable"]

BATCHED = ("HOOK-2", "ROUTE-6")
"""Clauses that speak of the batched hook alone."""

SHARED_PRODUCER = "OmniGPUModelRunner"
V2_PRODUCER = "OmniModelState"


@dataclass(frozen=True)
class Cell:
    """The verdict on one clause for one target. ``evidence`` names the case that shows it, ``message`` is one line.

    ``follows`` is the clause whose violations explain all violations of this one.
    """

    clause: str
    verdict: State
    evidence: str = ""
    message: str = ""
    follows: str = field(default="", compare=False)


@dataclass(frozen=True)
class _Shown:
    """What one scenario of a case shows of a clause, and on what it stopped, if it did."""

    case: str
    verdict: Verdict
    error_at: str = ""
    error: str | None = None


def judge_target(traces: Mapping[str, Trace], producer: str) -> dict[str, Cell]:
    """A cell for every clause, from the suite's traces by scenario digest, and the class whose ``_preprocess`` ran.

    A scenario without a trace could not be put to the target.
    """
    missing = sum(scenario.digest not in traces for case in SUITE for scenario in case.scenarios)
    batched = any(_called_batched(trace) for trace in traces.values())
    shown: dict[str, list[_Shown]] = {clause: [] for clause in (*JUDGES, "ROUTE-6")}
    stops: list[tuple[str, str]] = []
    seen: list[Seen] = []
    for run, case in enumerate(SUITE):
        found = [(scenario, traces[scenario.digest]) for scenario in case.scenarios if scenario.digest in traces]
        for scenario, trace in found:
            stops += [(case.name, error)] if (error := stopped(trace)) else []
            seen += [Seen("ROUTE-1", run, len(trace.steps))] if stopped(trace) else []
            for verdict in _verdicts(trace):
                if verdict.clause == "ROUTE-1" and not batched and _offers_batched(scenario):
                    continue  # no row of the whole suite reached a batched hook: there is none here
                shown[verdict.clause].append(_Shown(case.name, verdict, trace.error_at, trace.error))
                seen += [_seen(verdict.clause, run, violation) for violation in verdict.violations]
        if case.compared and len(found) == 2:
            compared = _compared(found[0][1], found[1][1])
            shown["ROUTE-6"].append(_Shown(case.name, compared))
            seen += [_seen(LAST, run, violation) for violation in compared.violations]
    cells = {clause: _cell(clause, found, missing) for clause, found in shown.items()}
    if not batched:
        for clause in BATCHED:
            cells[clause] = Cell(clause, "not-applicable", message="there is no batched hook: no row reached one")
    if stops and cells["ROUTE-1"].verdict != "failed":
        name, error = stops[0]
        cells["ROUTE-1"] = Cell("ROUTE-1", "failed", name, f"the runner stopped: {error}")
    for each in CLAUSES.values():
        cells.setdefault(each.id, Cell(each.id, "not-applicable", message=f"a {each.kind}: it is run on its page"))
    cells["OWN-1"] = _owner(producer)
    follows = folded(seen)
    return {clause: replace(cells[clause], follows=follows.get(clause, "")) for clause in CLAUSES}


def _seen(clause: str, run: int, violation: Violation) -> Seen:
    absent = violation.message.endswith((ABSENT, NOTHING_ARRIVED))
    return Seen(clause, run, violation.step, violation.request, absent)


def form(traces: Mapping[str, Trace]) -> RouteForm | None:
    """The latest form of ROUTE-1 that a target shows; ``None`` where it has no batched hook."""
    if not any(_called_batched(trace) for trace in traces.values()):
        return None
    forms = {route_form(trace) for trace in traces.values()}
    return next((each for each in reversed(get_args(RouteForm)) if each in forms), None)


def failing_step(case: Case, clause: str, traces: Mapping[str, Trace]) -> tuple[Scenario, Trace, int] | None:
    """The scenario of a case that breaks a clause, its trace, and the number of the step in which it does."""
    found = [(scenario, traces[scenario.digest]) for scenario in case.scenarios if scenario.digest in traces]
    for scenario, trace in found:
        for verdict in judge(trace):
            if verdict.clause == clause and verdict.outcome == "failed" and verdict.step:
                return scenario, trace, verdict.step
    if clause == "ROUTE-6" and case.compared and len(found) == 2:
        verdict = judge_pair(found[0][1], found[1][1])
        scenario, trace = found[1]
        if verdict.outcome == "failed" and verdict.step and verdict.step <= len(trace.steps):
            return scenario, trace, verdict.step
    for scenario, trace in found:
        if trace.error and trace.steps:
            return scenario, trace, len(trace.steps)
    return None


def _called_batched(trace: Trace) -> bool:
    return any(call.hook == "preprocess_decode_batch" for step in trace.steps for call in step.hooks)


def _offers_batched(scenario: Scenario) -> bool:
    return isinstance(scenario.talker, str) and any(word in scenario.talker for word in ("atched", "Filling"))


_JUDGED: dict[int, tuple[Trace, tuple[Verdict, ...]]] = {}
_COMPARED: dict[tuple[int, int], tuple[Trace, Trace, Verdict]] = {}
"""By the identity of traces, which are kept with them: releases that behave alike share theirs, and are judged once."""


def _verdicts(trace: Trace) -> tuple[Verdict, ...]:
    if id(trace) not in _JUDGED:
        _JUDGED[id(trace)] = (trace, judge(trace))
    return _JUDGED[id(trace)][1]


def _compared(scalar: Trace, batched: Trace) -> Verdict:
    pair = (id(scalar), id(batched))
    if pair not in _COMPARED:
        _COMPARED[pair] = (scalar, batched, judge_pair(scalar, batched))
    return _COMPARED[pair][2]


def _cell(clause: str, found: list[_Shown], missing: int) -> Cell:
    """Failed if a case fails, or if the runner stopped every case that speaks of it; passed if a case shows it.

    Else it does not apply, unless the case that would have shown it may be one of the ``missing``.
    """
    states: tuple[State, State] = ("failed", "passed")
    for state in states:
        for one in found:
            if one.verdict.outcome == state:
                return Cell(clause, state, one.case, one.verdict.message if state == "failed" else "")
    for one in found:
        if one.error:
            said = f"the run stopped before anything showed it: {one.error}"
            return Cell(clause, "not-runnable" if one.error_at in NOT_THE_RUNNER else "failed", one.case, said)
    if missing:
        return Cell(clause, "not-runnable", message=f"{missing} scenarios of the suite could not be put to this runner")
    message = found[0].verdict.message if found else "no case of the suite speaks of it here"
    return Cell(clause, "not-applicable", message=message)


def _owner(producer: str) -> Cell:
    """OWN-1: whose ``_preprocess`` ran."""
    if producer == SHARED_PRODUCER:
        return Cell("OWN-1", "passed", SUITE[0].name)
    if producer == V2_PRODUCER:
        return Cell("OWN-1", "not-applicable", message=f"it speaks of the shared runner; here {V2_PRODUCER} produces")
    produces = producer or "no class that is known"
    return Cell("OWN-1", "not-applicable", message=f"not {SHARED_PRODUCER} but {produces} produces here, see OWN-2")
