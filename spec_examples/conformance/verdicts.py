"""One verdict for each clause of one target, from the traces of the suite. Reads traces; runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from spec_examples.conformance.suite import SUITE
from spec_examples.contract.clauses import CLAUSES
from spec_examples.contract.judge import JUDGES, judge, route_form
from spec_examples.contract.pair import judge_pair
from spec_examples.contract.verdict import Verdict
from spec_examples.scenario import Scenario
from spec_examples.trace import Trace

State = Literal["passed", "failed", "not-applicable", "not-runnable"]

BATCHED = {"HOOK-2", "ROUTE-6"}
"""Clauses that speak of the batched hook alone."""


@dataclass(frozen=True)
class Cell:
    """What one target does about one clause. ``evidence`` names the case that shows it, ``message`` is one line."""

    clause: str
    verdict: State
    evidence: str = ""
    message: str = ""


def judge_target(traces: Mapping[str, Trace]) -> dict[str, Cell]:
    """A cell for every clause, from the suite's traces by scenario digest. A missing trace counts as not run."""
    batched = any(
        call.hook == "preprocess_decode_batch"
        for trace in traces.values()
        for step in trace.steps
        for call in step.hooks
    )
    seen: dict[str, list[tuple[str, Verdict]]] = {clause: [] for clause in (*JUDGES, "ROUTE-6")}
    raised: list[tuple[str, str]] = []
    for case in SUITE:
        found = [traces[s.digest] for s in case.scenarios if s.digest in traces]
        for scenario, trace in zip(case.scenarios, found, strict=False):
            if trace.error:
                raised.append((case.name, trace.error))
            for verdict in judge(trace):
                if verdict.clause == "ROUTE-1" and not batched and _offers_batched(scenario):
                    continue  # no row of the whole suite reached a batched hook: this release has none
                seen[verdict.clause].append((case.name, verdict))
        if case.compared and len(found) == 2:
            seen["ROUTE-6"].append((case.name, judge_pair(*found)))
    cells = {clause: _cell(clause, verdicts) for clause, verdicts in seen.items()}
    if not batched:
        for clause in BATCHED:
            cells[clause] = Cell(clause, "not-applicable", message="no row of the suite reached a batched hook")
    if raised:
        name, error = raised[0]
        if cells["ROUTE-1"].verdict != "failed":
            cells["ROUTE-1"] = Cell("ROUTE-1", "failed", name, f"the runner raised: {error}")
    for each in CLAUSES.values():
        cells.setdefault(each.id, Cell(each.id, "not-applicable", message=f"a {each.kind}, run on its page"))
    cells["OWN-1"] = _owner(traces)
    return {clause: cells[clause] for clause in CLAUSES}


def form(traces: Mapping[str, Trace]) -> str | None:
    """Which form of ROUTE-1 a target shows with a batched hook and no MTP."""
    forms = [route_form(trace) for trace in traces.values() if trace.batched and not trace.mtp]
    return next((f for f in forms if f), None)


def _offers_batched(scenario: Scenario) -> bool:
    return isinstance(scenario.talker, str) and "batched" in scenario.talker.lower()


def _cell(clause: str, verdicts: list[tuple[str, Verdict]]) -> Cell:
    """Failed where one case fails; passed where at least one case shows it; else not applicable."""
    states: tuple[State, State] = ("failed", "passed")
    for state in states:
        for case, verdict in verdicts:
            if verdict.outcome == state:
                return Cell(clause, state, case, verdict.message if state == "failed" else "")
    message = verdicts[0][1].message if verdicts else "no case of the suite speaks of it here"
    return Cell(clause, "not-applicable", message=message)


def _owner(traces: Mapping[str, Trace]) -> Cell:
    """OWN-1: whose ``_preprocess`` ran."""
    owners = {trace.environment.preprocess_from for trace in traces.values()}
    if owners == {"OmniGPUModelRunner"}:
        return Cell("OWN-1", "passed", SUITE[0].name)
    return Cell("OWN-1", "not-applicable", message=f"the producer here is {', '.join(sorted(owners)) or 'unknown'}")
