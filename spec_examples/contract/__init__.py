"""The clauses of the contract, and how a trace is judged against each. Imports no runner."""

from __future__ import annotations

from spec_examples.contract.clauses import CLAUSES, PROMISES, Clause
from spec_examples.contract.judge import JUDGES, Place, excluded, judge, route_form, stopped, took_mtp
from spec_examples.contract.origins import Origin, describe
from spec_examples.contract.pair import judge_pair
from spec_examples.contract.verdict import Outcome, Verdict, Violation

__all__ = [
    "CLAUSES",
    "JUDGES",
    "PROMISES",
    "Clause",
    "Origin",
    "Outcome",
    "Place",
    "Verdict",
    "Violation",
    "describe",
    "excluded",
    "judge",
    "judge_pair",
    "route_form",
    "stopped",
    "took_mtp",
]
