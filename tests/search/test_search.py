"""The search: on the runner as it is, on one without its guard, and what it says of what it found."""

import json
import shlex

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from spec_examples.gate.cli import main
from spec_examples.gate.words import command_of, plant_of, request_of
from spec_examples.running import Context
from spec_examples.scenario import Growth, Limits, Plant, Request, Scenario
from spec_examples.search import FIXED, Profile, hunt
from spec_examples.search.__main__ import EXAMPLES
from spec_examples.search.__main__ import main as main_of_search
from spec_examples.search.reached import KINDS, Reached
from spec_examples.search.strategies import scenarios
from spec_examples.targets import Target
from spec_examples.trace import ScheduledRow, Step, Trace

UNGUARDED = Target(runner="spec_examples.real_model.guards:WithoutScalarGuard")


@pytest.fixture(scope="module")
def found(session):
    return hunt(session, Target(), FIXED)


@pytest.mark.clause("FIELD-*", "HOOK-[12]", "STATE-*", "ROUTE-[1-68]")
def test_no_schedule_of_the_fixed_profile_breaks_a_clause(found):
    assert found.broken is None, found.broken
    assert found.reached.traces == FIXED.examples
    assert found.steps_a_second > 1


def test_the_fixed_profile_reaches_what_the_contract_is_about(found):
    never = found.reached.never()
    assert never["clauses"] == ()
    assert "t" not in never["shapes"]
    assert not {"dt", "td", "dp", "pd", "dd"}.intersection(never["shapes"])
    assert {kind for kind in KINDS if found.reached.kinds[kind]} >= {
        "one-token tail",
        "one-token prompt",
        "prefill past the prompt",
        "resumed from 0",
        "starts at cached progress, one token left",
        "replayed decode of several tokens",
        "prefill again after the prompt grew",
        "drafts, all of them accepted",
        "drafts, some of them rejected",
    }
    assert found.reached.preempted > 0


def test_the_fixed_profile_is_the_same_each_time(session):
    few = Profile(12)
    assert hunt(session, Target(), few).reached == hunt(session, Target(), few).reached


@pytest.mark.clause("ROUTE-3")
def test_without_the_guard_it_finds_a_one_token_prefill_row(session, capsys):
    broken = hunt(session, UNGUARDED, FIXED).broken
    assert broken is not None
    assert {"ROUTE-2", "ROUTE-3"} <= set(broken.clauses)
    assert broken.command.startswith("phase-contract trace --request 1:1 ")
    assert main(shlex.split(broken.command)[1:], context=Context(session, Target())) == 0
    assert "prefill row MTP" in capsys.readouterr().out


def test_with_prompts_of_two_tokens_or_more_it_finds_the_tail(session):
    broken = hunt(session, UNGUARDED, Profile(FIXED.examples, shortest_prompt=2)).broken
    assert broken is not None
    assert {"ROUTE-2", "ROUTE-3"} <= set(broken.clauses)
    wrong = [row for step in broken.trace.steps for row in step.rows if row.span == 1 and row.computed < row.prompt_len]
    assert any(0 < row.computed == row.prompt_len - 1 for row in wrong)
    assert len(broken.trace.steps) <= 3


def test_a_known_divergence_is_passed_over(session):
    few = Profile(20, talkers=("scalar",))
    assert hunt(session, UNGUARDED, few, known=("ROUTE-2", "ROUTE-3")).broken is None


EVERYTHING = Scenario(
    "batched",
    requests=(
        Request(9, 2, cycle=4),
        Request(12, 3, arrives=2, aborts=5, same_as="a", same_tokens=8),
        Request(5, 3, "again", grows=(Growth(6, 4, 3), Growth(1, 8, 3))),
        Request(2, 1, embeds=True, seed=7),
    ),
    limits=Limits(5, 2, 33, 2, False, True, 3, True, 2, True),
    planted=(Plant("a", 1, 3, 4, True), Plant("again", 2)),
)


def test_a_scenario_comes_back_from_its_command(session):
    asked = []

    class Asked:
        def run(self, scenario, target):
            asked.append((scenario, target))
            return Trace()

    command = command_of(EVERYTHING, "0.22.0", "generation")
    assert main(shlex.split(command)[1:], context=Context(Asked(), Target())) == 0
    assert asked == [(EVERYTHING, Target("0.22.0", "generation"))]


@settings(max_examples=100, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(scenarios())
def test_whatever_is_drawn_survives_json_and_has_a_command(scenario):
    assert Scenario.from_json(scenario.to_json()) == scenario
    words = shlex.split(command_of(scenario))
    requests = [request_of(words[i + 1]) for i, word in enumerate(words) if word == "--request"]
    plants = [plant_of(words[i + 1]) for i, word in enumerate(words) if word == "--plant"]
    assert Scenario(requests=tuple(requests)).requests == scenario.requests
    assert tuple(plants) == scenario.planted


def test_what_a_row_is_counted_under():
    def step(*rows, **more):
        return Step(rows=tuple(ScheduledRow(*row, start=0) for row in rows), **more)

    reached = Reached()
    steps = (
        step(("a", 5, 0, 4)),
        step(("a", 5, 4, 1), ("b", 1, 0, 1)),
        step(("a", 5, 5, 1), sampled={"a": (1,)}),
        step(("b", 1, 1, 1), preempted=("a",), sampled={"b": (1,)}),
        step(("a", 5, 0, 5), resumed=("a",)),
        step(("a", 5, 5, 1)),
    )
    reached.add(Trace(steps=steps, scheduler={"long_prefill_token_threshold": 1}), ())
    assert reached.kinds == {
        "one-token tail": 1,
        "one-token prompt": 1,
        "whole prompt": 2,
        "decode": 2,
        "resumed from 0": 1,
        "replayed decode of one token, nothing sampled": 1,
    }
    assert reached.shapes == {"p": 2, "tt": 1, "d": 3}
    assert (reached.steps, reached.rows, reached.preempted) == (6, 7, 1)


def test_the_longer_search_on_model_runner_v2_finds_what_it_is_known_for_and_nothing_else(capsys):
    """At least one seed, however little time there is."""
    assert main_of_search(["--runner", "v2", "--minutes", "0"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["vllm_omni"], report["runner"]) == ("0.30.0", "OmniModelState.run_preprocess")
    assert report["kinds"]["one-token tail"] > 0
    assert report["traces"] >= EXAMPLES
