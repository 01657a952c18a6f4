"""A schedule that vLLM's own runner cannot be driven through says nothing of another runner."""

import pytest

from spec_examples.conformance.control import asked_first, undriven
from spec_examples.conformance.suite import SUITE
from spec_examples.contract import judge, stopped
from spec_examples.running import forced
from spec_examples.scenario import Growth, Limits, Request, Row, Scenario
from spec_examples.targets import Target

REPEATING = "spec_examples.variants:RepeatingScalarTalker"
GROWS_TWICE = Scenario(
    REPEATING,
    requests=(Request(2, 2, cycle=4, grows=(Growth(1, 1, 2), Growth(1, 2, 2))),),
    limits=Limits(budget=4, blocks=4, speculative_tokens=2),
)
"""On vLLM 0.30.0 the scheduler stops at an assertion of its own in it."""

FIRST = {
    f"{case.name} {number}": scenario
    for case in SUITE
    for number, scenario in enumerate(case.scenarios)
    if asked_first(scenario)
}


@pytest.mark.parametrize("scenario", FIRST.values(), ids=FIRST)
def test_plain_vllm_gets_through_every_schedule_of_the_suite_that_it_is_asked_first(session, scenario):
    assert undriven(session, Target(), scenario) == ""


def test_a_stop_of_vllm_s_scheduler_is_no_fault_of_the_runner(session):
    trace = session.run(GROWS_TWICE, Target())
    assert trace.error_at == "scheduler"
    assert stopped(trace) is None
    assert [verdict.clause for verdict in judge(trace) if verdict.outcome == "failed"] == []
    assert "own runner stops in it too: AssertionError" in undriven(session, Target(), GROWS_TWICE)


def test_what_the_runner_raises_is_the_runner_s(session):
    careful = forced([[Row(5, 5, 2, "long"), Row(5, 5, 1, "short")]], "spec_examples.variants:CarefulScalarTalker")
    trace = session.run(careful, mutant="mtp-on-longer-spans")
    assert trace.error_at == "runner", trace.error
