"""What catches a defect that no example of a page does: the conformance suite, and cases that it does not have."""

from __future__ import annotations

from spec_examples.conformance.suite import SUITE, Case
from spec_examples.contract.judge import judge
from spec_examples.contract.pair import judge_pair
from spec_examples.scenario import Limits, Request, Scenario
from spec_examples.targets import Session, Target, TargetUnavailable

OWN_STATE = Case(
    "state of its own",
    tuple(
        Scenario(
            f"spec_examples.mutants.remembering:Remembering{hook}Talker",
            requests=(Request(5, 4), Request(1, 4)),
            limits=Limits(budget=4),
        )
        for hook in ("Scalar", "Batched")
    ),
    compared=True,
)
"""A model that notes each hook call in its own state: what it stored comes back, and to the same request."""

CASES = (*SUITE, OWN_STATE)


def failing(session: Session, target: Target) -> dict[str, set[str]]:
    """The cases in which ``target`` breaks promises, by name, and which.

    A case that cannot be put to it shows nothing of it, as in the matrix.
    """
    broken: dict[str, set[str]] = {}
    for case in CASES:
        try:
            traces = [session.run(scenario, target) for scenario in case.scenarios]
        except TargetUnavailable:
            continue
        verdicts = [verdict for trace in traces for verdict in judge(trace)]
        if case.compared:
            verdicts.append(judge_pair(*traces))
        clauses = {verdict.clause for verdict in verdicts if verdict.outcome == "failed"}
        if clauses:
            broken[case.name] = clauses
    return broken
