"""Run what is drawn, judge every step of it, and make what breaks a clause as small as it gets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from spec_examples.contract.judge import judge, stopped
from spec_examples.contract.pair import judge_pair
from spec_examples.contract.verdict import Verdict
from spec_examples.gate.words import command_of
from spec_examples.running import scalar_twin
from spec_examples.scenario import Scenario
from spec_examples.search.reached import Reached
from spec_examples.search.strategies import TALKERS, scenarios
from spec_examples.targets import Session, Target
from spec_examples.targets.target import INSTALLED
from spec_examples.trace import Trace


@dataclass(frozen=True)
class Profile:
    """How long a search is, and whether it is the same each time.

    ``examples`` counts scenarios, each of which is run twice where both hooks can be compared. Without a ``seed``
    the search draws the same each time.
    """

    examples: int
    seed: int | None = None
    talkers: Sequence[str] = TALKERS
    asynchronous: bool = True
    drafts: bool = True
    embeds: bool = True
    shortest_prompt: int = 1


FIXED = Profile(examples=150, seed=2)
"""What ``make test`` does: with a seed it draws the same, however its own code changes."""


class Broken(AssertionError):
    """A schedule that breaks a clause; the message names the clauses, the row, and the command that shows it."""

    def __init__(self, scenario: Scenario, target: Target, trace: Trace, verdicts: Sequence[Verdict]) -> None:
        self.scenario, self.trace = scenario, trace
        self.clauses = tuple(verdict.clause for verdict in verdicts)
        release = "" if target.vllm_omni == INSTALLED else target.vllm_omni
        self.command = command_of(scenario, release, "" if target.runner == "ar" else target.runner)
        said = [f"{verdict.clause}: {verdict.message}" for verdict in verdicts]
        said += [f"the runner raised {trace.error}"] if trace.error else []
        super().__init__("\n".join([f"{target} breaks the contract: {self.command}", *(f"  {line}" for line in said)]))


@dataclass
class Found:
    """What a search came to. ``broken`` is its smallest failure, if any; ``seconds`` all of its time.

    ``stopped`` counts the runs in which a runner stopped that is known to.
    """

    reached: Reached = field(default_factory=Reached)
    seconds: float = 0.0
    stopped: int = 0
    broken: Broken | None = None

    @property
    def steps_a_second(self) -> float:
        """Steps that were run and judged a second, drawing included."""
        return self.reached.steps / self.seconds if self.seconds else 0.0


def hunt(
    session: Session,
    target: Target,
    profile: Profile = FIXED,
    known: Sequence[str] = (),
    found: Found | None = None,
) -> Found:
    """Search ``target`` for a schedule that breaks a clause, other than the ``known`` ones; goes on with ``found``."""
    found = found or Found()
    reached, begun = found.reached, time.monotonic()

    @settings(
        max_examples=profile.examples,
        derandomize=profile.seed is None,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
    )
    @given(scenarios(profile.talkers, profile.asynchronous, profile.shortest_prompt, profile.drafts, profile.embeds))
    def judged(scenario: Scenario) -> None:
        trace = session.run(scenario, target)
        verdicts = judge(trace)
        broken = [
            verdict for verdict in (*verdicts, *_pair(session, target, scenario, trace)) if _fails(verdict, known)
        ]
        stops = stopped(trace) is not None and not refuses_embeddings(scenario)
        if broken or (stops and "ROUTE-1" not in known):  # a row at which the runner stops is not routed
            raise Broken(scenario, target, trace, broken)
        found.stopped += stops
        reached.add(trace, verdicts)

    try:
        (judged if profile.seed is None else seed(profile.seed)(judged))()
    except Broken as broken:
        found.broken = broken
    found.seconds += time.monotonic() - begun
    return found


def refuses_embeddings(scenario: Scenario) -> bool:
    """Whether a runner may stop on it: all releases raise on a prompt without ids. What came before is judged."""
    return any(request.embeds for request in scenario.requests)


def _fails(verdict: Verdict, known: Sequence[str]) -> bool:
    return verdict.outcome == "failed" and verdict.clause not in known


def _pair(session: Session, target: Target, scenario: Scenario, trace: Trace) -> tuple[Verdict, ...]:
    """ROUTE-6, where the scenario has a twin with the other hook."""
    twin = scalar_twin(scenario)
    if twin is None or trace.error:
        return ()
    return (judge_pair(session.run(twin, target), trace),)
