"""What the newest release does today with a preempted Qwen3-TTS request. Red means: the divergence is gone, or another.

When one of these fails because upstream mended it: take the divergence off the pages, and its test out of here.
"""

import pytest

from spec_examples.contract import judge
from spec_examples.real_model.comparison import differences
from spec_examples.real_model.divergences import (
    NOT_PREEMPTED,
    NOT_RESUMED,
    PREEMPTED,
    RESUMED_IN_CHUNKS,
    leaked_frames,
    lost_prompts,
)
from spec_examples.real_model.run import frames, requests

pytestmark = pytest.mark.usefixtures("real_models")


def test_a_preemption_destroys_the_prompt_of_the_resumed_request(laboratory):
    without, preempted = laboratory.run(NOT_PREEMPTED), laboratory.run(PREEMPTED)
    (lost,) = lost_prompts(without, preempted)
    assert (lost.request, lost.prompt_len, lost.computed, lost.span) == ("b", 15, 0, 33)
    assert lost.padding, "the divergence is gone: a resumed prefill row is no longer made of padding"
    assert lost.padding == lost.wrong == lost.span
    assert lost.first_wrong_token == 18
    assert lost.frames_lost == 1, "the divergence is gone: the last sampled token's MTP now runs after a preemption"
    assert preempted.audio["a"] == without.audio["a"]
    assert preempted.audio["b"] != without.audio["b"]


def test_a_resumed_chunk_puts_one_requests_frame_into_anothers_output(laboratory):
    resumed = laboratory.run(RESUMED_IN_CHUNKS)
    leaks = leaked_frames(resumed)
    assert leaks, "the divergence is gone: every frame stays in its own request's output"
    (leak,) = leaks
    assert (leak.owner, leak.receiver, leak.span, leak.rows) == ("a", "b", 12, 20)
    step = resumed.delivered[leak.step - 1]
    assert step["a"] == step["b"], "both requests get all the rows"
    others = [frame for delivered in frames(laboratory.run(NOT_RESUMED), "b") for frame in delivered]
    assert leak.frame not in others, "b never says this frame itself"


@pytest.mark.parametrize("experiment", [PREEMPTED, RESUMED_IN_CHUNKS], ids=["preempted", "resumed in chunks"])
def test_the_contract_itself_is_kept_there(laboratory, experiment):
    assert [verdict for verdict in judge(laboratory.run(experiment).trace) if verdict.outcome == "failed"] == []


@pytest.mark.parametrize("experiment", [NOT_PREEMPTED, NOT_RESUMED], ids=["two", "three"])
def test_without_a_preemption_neither_happens(laboratory, experiment):
    run = laboratory.run(experiment)
    assert not any(step.preempted for step in run.trace.steps)
    assert leaked_frames(run) == ()
    assert differences(run, run) == ()
    assert all(len(delivered) == 1 for request in requests(run) for delivered in frames(run, request)[1:])
