"""The scenarios that a target is judged on. Each has a name that a cell's evidence refers to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from spec_examples.execution.tables import placements
from spec_examples.running import forced
from spec_examples.scenario import Limits, Request, Row, Scenario

HOOKS = ("scalar", "batched")

DESIGN_CASES = ((5, 0, 4), (5, 4, 1), (5, 5, 1), (5, 6, 1), (1, 0, 1), (5, 5, 2))
"""Prompt length, computed, span: the six rows with which the contract's routing table begins."""


@dataclass(frozen=True)
class Case:
    """One question to a target: the same scenario through the scalar and the batched hook, or one scenario.

    ``compared`` says that two scenarios are also compared with each other, for ROUTE-6.
    """

    name: str
    scenarios: tuple[Scenario, ...]
    compared: bool = False


def _both(name: str, *requests: Request, limits: Limits) -> Case:
    return Case(name, tuple(Scenario(hook, requests=requests, limits=limits) for hook in HOOKS), compared=True)


def _forced(name: str, *steps: list[Row]) -> Case:
    return Case(name, tuple(forced(steps, hook) for hook in HOOKS), compared=True)


SCHEDULED = (
    _both("split prompt", Request(5, id="split"), Request(1, id="single"), limits=Limits(budget=4)),
    _both("tail of two tokens", Request(6, id="split"), Request(1, id="single"), limits=Limits(budget=4)),
    _both("three requests", Request(5), Request(9), Request(3), limits=Limits(budget=4)),
    _both("preempted and resumed", Request(5, 8), Request(5, 8), limits=Limits(budget=8, blocks=6)),
    _both(
        "replayed in pieces",
        Request(3, 14),
        Request(4, 12),
        Request(2, 12),
        limits=Limits(budget=3, sequences=3, blocks=7),
    ),
    _both(
        "an id that comes back",
        Request(11, 3, "long"),
        Request(3, 9, "again", aborts=4),
        Request(2, 3, "again", arrives=4),
        limits=Limits(budget=4),
    ),
)
"""Requests under the target's own scheduler."""

FORCED = (
    *(_forced(f"row ({p}, {c}, {s})", *placements(p, c, s)) for p, c, s in DESIGN_CASES),
    _forced("adjacent decode rows", [Row(5, 5 + i, 1) for i in range(4)]),
    _forced(
        "prefill before decode",
        [
            Row(4, 0, 3, "chunk"),
            Row(5, 5, 1, "first"),
            Row(5, 4, 1, "tail"),
            Row(5, 6, 1, "second"),
            Row(5, 5, 2, "long"),
        ],
    ),
    _forced("cached progress", [Row(9, 8, 1, "cached"), Row(12, 8, 4, "shared"), Row(5, 5, 1, "decode")]),
)
"""Rows that are put to the runner as they are: generation requests end with the prompt and decode only here."""

OVERWRITTEN = (
    Case(
        "keys overwritten by the model",
        tuple(
            Scenario(f"spec_examples.talker:{talker}", requests=(Request(5), Request(1)), limits=Limits(budget=4))
            for talker in ("OverwritingScalarTalker", "OverwritingBatchedTalker")
        ),
    ),
)

WITHOUT_MTP = (
    Case(
        "without MTP",
        tuple(forced([[Row(5, 5, 1), Row(5, 4, 1), Row(5, 6, 1), Row(5, 7, 1)]], f"{hook}-no-mtp") for hook in HOOKS),
    ),
)

SUITE = (*SCHEDULED, *FORCED, *OVERWRITTEN, *WITHOUT_MTP)


def digest() -> str:
    """SHA-256 over names and scenarios: a result is valid for the suite that it was recorded with."""
    parts = [f"{case.name}\0{case.compared}\0" + "\0".join(s.to_json() for s in case.scenarios) for case in SUITE]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
