"""The scenarios that a target is judged on. Each has a name that a cell's evidence refers to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from spec_examples.execution.tables import placements
from spec_examples.running import forced
from spec_examples.scenario import Growth, Limits, Plant, Request, Row, Scenario

HOOKS = ("scalar", "batched")
WITHOUT_MTP = ("scalar-no-mtp", "batched-no-mtp")
FILLING = "spec_examples.talker:FillingTalker"
VARIANTS = "spec_examples.variants"
RENAMING = (f"{VARIANTS}:RenamingScalarTalker", f"{VARIANTS}:RenamingBatchedTalker")
CAREFUL = (f"{VARIANTS}:CarefulScalarTalker", f"{VARIANTS}:CarefulBatchedTalker")
DECLARING = (f"{VARIANTS}:DeclaringScalarTalker", f"{VARIANTS}:DeclaringBatchedTalker")
CAPTURED = (f"{VARIANTS}:CapturedScalarTalker", f"{VARIANTS}:CapturedBatchedTalker")
WITHOUT_MTP_RENAMING = (f"{VARIANTS}:RenamingScalarTalkerWithoutMtp", f"{VARIANTS}:RenamingBatchedTalkerWithoutMtp")
SPARING = (f"{VARIANTS}:SparingScalarTalker", f"{VARIANTS}:SparingBatchedTalker")
EQUAL = (f"{VARIANTS}:EqualScalarTalker", f"{VARIANTS}:EqualBatchedTalker")
KEEPING = (f"{VARIANTS}:KeepingScalarTalker", f"{VARIANTS}:KeepingBatchedTalker")
DRAWING = (f"{VARIANTS}:DrawingScalarTalker", f"{VARIANTS}:DrawingBatchedTalker")
FOLLOWING = (f"{VARIANTS}:FollowingScalarTalker", f"{VARIANTS}:FollowingBatchedTalker")
REPEATING = (f"{VARIANTS}:RepeatingScalarTalker", f"{VARIANTS}:RepeatingBatchedTalker")

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


def _both(
    name: str,
    *requests: Request,
    limits: Limits,
    talkers: tuple[str, ...] = HOOKS,
    planted: tuple[Plant, ...] = (),
) -> Case:
    scenarios = [Scenario(talker, requests=requests, limits=limits, planted=planted) for talker in talkers]
    return Case(name, tuple(scenarios), compared=True)


def _forced(name: str, *steps: list[Row], talkers: tuple[str, ...] = HOOKS) -> Case:
    return Case(name, tuple(forced(steps, talker) for talker in talkers), compared=True)


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
        "replayed token by token",
        Request(5, 8),
        Request(5, 8),
        limits=Limits(budget=8, blocks=6, long_prefill_threshold=1),
    ),
    _both("asynchronous steps", Request(5, 5), Request(1, 5), limits=Limits(budget=4, async_scheduling=True)),
    _both(
        "asynchronous drafts, and a request that waits",
        Request(1, 8),
        Request(2, 8),
        Request(3, 8),
        limits=Limits(budget=6, async_scheduling=True, speculative_tokens=3),
    ),
    _both(
        "a prompt that grows",
        Request(5, 3, "grows", grows=(Growth(6, at=4),)),
        Request(3, 8, "beside"),
        limits=Limits(budget=4),
    ),
    _both(
        "keys planted in the state",
        Request(5, 5, id="one"),
        Request(1, 5, id="other"),
        limits=Limits(budget=4),
        planted=(
            Plant("one", 1),
            Plant("other", 2),
            Plant("one", 3, prompt_len=8, computed=6),  # one of the three is wrong
            Plant("other", 3, prompt_len=1, computed=3, is_prefill=True),
            Plant("one", 4, prompt_len=5, computed=4),
        ),
    ),
    _both(
        "an id that comes back",
        Request(11, 3, "long"),
        Request(3, 9, "again", aborts=4),
        Request(2, 3, "again", arrives=4),
        limits=Limits(budget=4),
    ),
    _both(
        "a cached prefix",
        Request(9, 2, "first"),
        Request(12, 3, "longer", arrives=2, same_as="first", same_tokens=9),
        Request(9, 3, "same", arrives=2, same_as="first", same_tokens=9),
        limits=Limits(budget=16, prefix_caching=True),
    ),
    _both(
        "drafts that are verified",
        Request(9, 12, "cycles", cycle=4),
        Request(5, 5, "beside"),
        limits=Limits(budget=16, speculative_tokens=3),
        talkers=REPEATING,
    ),
    _both(
        "seeds for MTP",
        Request(5, 6, "seeded", seed=5),
        Request(3, 9, "again", aborts=4, seed=6),
        Request(2, 3, "again", arrives=4, seed=7),
        Request(1, 5, "unseeded"),
        limits=Limits(budget=4),
    ),
    _both(
        "what a model may declare",
        Request(5, 3, "grows", grows=(Growth(6, at=4),), seed=5),
        Request(1, 9, "beside"),
        Request(2, 8, "seeded", seed=6),
        limits=Limits(budget=5),
        talkers=DECLARING,
    ),
    _both(
        "MTP inputs in decode alone",
        Request(7, 4, "long"),
        Request(1, 6, "short"),
        Request(5, 4, "last"),
        limits=Limits(budget=6, long_prefill_threshold=3),
        talkers=CAREFUL,
    ),
    _both(
        "MTP as a captured graph",
        Request(7, 3, "long", seed=5),
        Request(2, 8, "short"),
        Request(1, 5, "single"),
        Request(9, 3, "last"),
        limits=Limits(budget=6, long_prefill_threshold=3),
        talkers=CAPTURED,
    ),
    _both("token ids that the model changes", Request(5), Request(1), limits=Limits(budget=4), talkers=RENAMING),
    _both(
        "ids that come back after an end and after a wait",
        Request(5, 8, "ends"),
        Request(5, 8, "waits", aborts=6),
        Request(2, 3, "waits", arrives=8),
        Request(2, 3, "ends", arrives=12),
        limits=Limits(budget=8, blocks=6),
    ),
    _both(
        "resumed where a cached block ends",
        Request(5, 12),
        Request(5, 12),
        limits=Limits(budget=8, blocks=6, prefix_caching=True),
    ),
    _both(
        "a prompt that grows by one token",
        Request(2, 3, "grows", grows=(Growth(1, at=4, max_tokens=2),)),
        Request(1, 9, "beside"),
        limits=Limits(budget=4, long_prefill_threshold=1),
    ),
    _both(
        "equal values of other types under the keys",
        Request(5, 4),
        Request(1, 5),
        limits=Limits(budget=4),
        talkers=EQUAL,
    ),
    _both("hidden states that the model keeps", Request(5), Request(2), limits=Limits(budget=4), talkers=FOLLOWING),
    _both(
        "seeds that are equal, zero and none",
        Request(5, 10, "7-one", seed=7),
        Request(1, 4, "0-zero", seed=0),
        Request(2, 4, "none"),
        Request(5, 10, "7-other", seed=7),
        limits=Limits(budget=8, blocks=7),
        talkers=DRAWING,
    ),
    _both(
        "an id and a seed that come back",
        Request(3, 9, "7-again", aborts=4, seed=7),
        Request(2, 4, "7-again", arrives=4, seed=7),
        limits=Limits(budget=8),
        talkers=DRAWING,
    ),
)
"""Requests under the target's own scheduler."""

NO_MTP = (
    _both(
        "split prompt without MTP",
        Request(5, id="split"),
        Request(1, id="single"),
        limits=Limits(budget=4),
        talkers=WITHOUT_MTP,
    ),
    _forced(
        "rows without MTP",
        [Row(5, 5, 1), Row(5, 4, 1), Row(5, 6, 1), Row(5, 7, 1)],
        [Row(9, 0, 4, "chunk"), Row(5, 5, 1, "one"), Row(3, 3, 1, "two")],
        [Row(9, 4, 4, "chunk"), Row(5, 6, 1, "one"), Row(3, 4, 1, "two")],
        talkers=WITHOUT_MTP,
    ),
    _both(
        "token ids changed without MTP",
        Request(5),
        Request(1, 4),
        limits=Limits(budget=4),
        talkers=WITHOUT_MTP_RENAMING,
    ),
)
"""What a model without ``talker_mtp`` gets: the form of ROUTE-1 is seen here."""

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
    _forced(
        "a row that pauses",
        [Row(5, 0, 5, "pauses"), Row(1, 0, 1, "goes on")],
        [Row(5, 5, 1, "pauses"), Row(1, 1, 1, "goes on")],
        [Row(1, 2, 1, "goes on")],
        [Row(5, 6, 1, "pauses"), Row(1, 3, 1, "goes on")],
    ),
    _forced(
        "tensors changed in place, and nothing stored",
        [Row(9, 0, 4, "a"), Row(9, 0, 3, "b"), Row(5, 5, 1, "c")],
        [Row(9, 4, 4, "a"), Row(9, 3, 3, "b"), Row(5, 6, 1, "c")],
        [Row(9, 8, 1, "a"), Row(5, 7, 2, "c"), Row(9, 6, 3, "b")],
        [Row(9, 9, 1, "a"), Row(9, 9, 2, "b"), Row(5, 9, 1, "c")],
        talkers=SPARING,
    ),
    _forced(
        "state of many kinds",
        [Row(5, 2, 3, "a-1"), Row(1, 0, 1, "a-2")],
        *([Row(5, 5 + i, 1, "a-1"), Row(1, 1 + i, 1, "a-2")] for i in range(3)),
        [Row(1, 4, 1, "a-2")],
        [Row(1, 5, 1, "a-2"), Row(5, 8, 1, "a-1")],
        talkers=KEEPING,
    ),
    _forced(
        "codes of a request that waits",
        [Row(40, 0, 4, "chunk"), Row(1, 1, 1, "waits"), Row(1, 1, 1, "b")],
        *([Row(40, 4 + 4 * i, 4, "chunk"), Row(1, 2 + i, 1, "b"), Row(1, 1 + i, 1, "c")] for i in range(5)),
        [Row(1, 7, 1, "b"), Row(1, 2, 1, "waits")],
        [Row(1, 3, 1, "waits")],
        talkers=DRAWING,
    ),
    _forced(
        "a prompt behind a padded graph",
        [Row(5, 5, 1), Row(5, 6, 1), Row(5, 7, 1), Row(5, 0, 4)],
        talkers=CAPTURED,
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

FILLED = (
    Case(
        "rows that the model fills",
        (
            Scenario(FILLING, requests=(Request(5), Request(1), Request(6)), limits=Limits(budget=4)),
            forced(
                [
                    [Row(5, 5, 1), Row(5, 6, 1), Row(5, 4, 1), Row(5, 4, 1), Row(1, 0, 1), Row(4, 0, 3)],
                    [Row(4, 0, 3, "chunk"), Row(1, 0, 1, "single"), Row(5, 5, 1, "decode"), Row(5, 5, 2, "long")],
                ],
                FILLING,
            ),
        ),
    ),
)
"""A talker that asks to write every other row itself, which 0.32.0rc1 and later let it do."""

SUITE = (*SCHEDULED, *NO_MTP, *FORCED, *OVERWRITTEN, *FILLED)


def case(name: str) -> Case | None:
    """The case of that name."""
    return next((each for each in SUITE if each.name == name), None)


def in_words(scenario: Scenario) -> str:
    """A scenario in one line, for a person."""
    talker = scenario.talker if isinstance(scenario.talker, str) else scenario.talker.label
    if scenario.steps:
        steps = "; then ".join(
            ", ".join(f"{row.request} ({row.prompt_len}, {row.computed}, {row.span})" for row in step)
            for step in scenario.steps
        )
        return f"{talker}: rows {steps}"
    requests = ", ".join(_request_in_words(request) for request in scenario.requests)
    default = Limits()
    limits = ", ".join(
        f"{name.replace('_', ' ')} {getattr(scenario.limits, name)}"
        for name in default.__dataclass_fields__
        if name == "budget" or getattr(scenario.limits, name) != getattr(default, name)
    )
    planted = "".join(f"; wrong keys planted for {plant.request} before step {plant.at}" for plant in scenario.planted)
    return f"{talker}: requests {requests}; {limits}{planted}"


def _request_in_words(request: Request) -> str:
    when = f" before step {request.arrives}" if request.arrives else ""
    ends = f", aborted before step {request.aborts}" if request.aborts is not None else ""
    shares = f", the first {request.same_tokens} tokens those of {request.same_as}" if request.same_as else ""
    grows = "".join(f", {growth.tokens} more before step {growth.at}" for growth in request.grows)
    own = f"{shares}{grows}" + (f", seed {request.seed}" if request.seed is not None else "")
    return f"{request.id} (prompt {request.prompt_len}, {request.max_tokens} to generate{when}{own}{ends})"


def digest() -> str:
    """SHA-256 over names and scenarios: a result is valid for the suite that it was recorded with."""
    parts = [f"{case.name}\0{case.compared}\0" + "\0".join(s.to_json() for s in case.scenarios) for case in SUITE]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
