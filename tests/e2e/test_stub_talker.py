"""The comparison on the installed runner with a stub talker: with the guards it passes, without one it does not."""

import pytest

from spec_examples.real_model.comparison import RunsDiffer, findings, require_same
from spec_examples.real_model.experiments import (
    WHOLE_V2,
    WITHOUT_BATCHED_GUARD,
    WITHOUT_SCALAR_GUARD,
    StubExperiment,
)
from spec_examples.real_model.run import one_token_tails
from spec_examples.scenario import Limits, Request, Scenario
from spec_examples.trace import IS_PREFILL, NUM_COMPUTED, PROMPT_LEN, Value

PROMPTS = (Request(9, 4), Request(5, 6), Request(1, 5))


def stub(hook, budget, **runner):
    return StubExperiment(Scenario(talker=hook, requests=PROMPTS, limits=Limits(budget=budget)), **runner)


@pytest.mark.parametrize("hook", ["scalar", "batched"])
@pytest.mark.parametrize("budget", [4, 8])
def test_a_runner_with_its_guards_passes(laboratory, hook, budget):
    chunked = laboratory.run(stub(hook, budget))
    require_same(laboratory.run(stub(hook, 64)), chunked)
    for tail in one_token_tails(chunked):
        (found,) = [row for call in tail.step.hooks for row in call.rows if row.request == tail.row.request]
        assert found.fields == {
            PROMPT_LEN: Value("int", tail.row.prompt_len),
            NUM_COMPUTED: Value("int", tail.row.prompt_len - 1),
            IS_PREFILL: Value("bool", True),
        }


@pytest.mark.parametrize(
    ("hook", "runner", "broken"),
    [
        ("scalar", WITHOUT_SCALAR_GUARD, {"ROUTE-2", "ROUTE-3"}),
        ("batched", WITHOUT_SCALAR_GUARD, {"ROUTE-2", "ROUTE-3"}),
        ("batched", WITHOUT_BATCHED_GUARD, {"HOOK-2", "ROUTE-1", "ROUTE-2", "ROUTE-3"}),
    ],
)
def test_a_runner_without_a_guard_does_not(laboratory, hook, runner, broken):
    whole, chunked = laboratory.run(stub(hook, 64)), laboratory.run(stub(hook, 8, runner=runner))
    with pytest.raises(RunsDiffer) as told:
        require_same(whole, chunked)
    message = str(told.value)
    assert {line.split()[0] for line in told.value.findings if "is broken in the chunked run" in line} == broken
    assert "a (prompt 9, computed 8, span 1), step 2: prefill, but the MTP embedding reached forward" in message
    assert "first at position 8, in step 2, row (prompt 9, computed 8, span 1), prefill, one-token tail" in message


def test_a_guard_that_no_row_needs_is_not_missed(laboratory):
    """The batched guard is of no use to a talker without a batched hook."""
    runs = laboratory.run(stub("scalar", 64)), laboratory.run(stub("scalar", 8, runner=WITHOUT_BATCHED_GUARD))
    assert findings(*runs) == ()


@pytest.mark.usefixtures("triton")
def test_model_runner_v2_is_told_from_the_shared_runner(laboratory):
    """The stub offers MTP inputs on every row, which V2 takes for tails and one-token prompts as well."""
    whole, chunked = (
        laboratory.run(stub("scalar", 64, runner=WHOLE_V2)),
        laboratory.run(stub("scalar", 8, runner=WHOLE_V2)),
    )
    with pytest.raises(RunsDiffer) as told:
        require_same(whole, chunked)
    broken = {line.split()[0] for line in told.value.findings if "is broken in the chunked run" in line}
    assert broken == {"ROUTE-2", "ROUTE-3"}
    assert "first at position 8, in step 2, row (prompt 9, computed 8, span 1), prefill, one-token tail" in str(
        told.value
    )
