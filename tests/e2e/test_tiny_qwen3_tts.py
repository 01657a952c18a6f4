"""The whole pipeline of a tiny Qwen3-TTS on a CPU: however its prompts are cut, it says the same to the bit."""

import json

import pytest

from spec_examples.real_model import record
from spec_examples.real_model.comparison import RunsDiffer, differences, largest_difference, require_same
from spec_examples.real_model.experiments import (
    WHOLE_V2,
    WITHOUT_BATCHED_GUARD,
    WITHOUT_SCALAR_GUARD,
    TinyExperiment,
    Utterance,
)
from spec_examples.real_model.run import codes, one_token_tails, passes, tokens
from spec_examples.trace import IS_PREFILL, NUM_COMPUTED, PROMPT_LEN, Value

pytestmark = pytest.mark.usefixtures("real_models")

ONE = (Utterance("a", "hi you", 8),)  # 16 tokens of prompt
TWO = (Utterance("a", "hi you", 8), Utterance("b", "hello", 10))  # 16 and 15
UNCUT = 64


@pytest.fixture
def tiny(laboratory):
    return lambda budget, utterances=ONE, **runner: laboratory.run(TinyExperiment(utterances, budget, **runner))


@pytest.mark.parametrize("utterances", [ONE, TWO], ids=["one request", "two requests"])
@pytest.mark.parametrize("budget", [15, 5, 3])
def test_a_cut_prompt_changes_nothing(tiny, utterances, budget):
    whole, chunked = tiny(UNCUT, utterances), tiny(budget, utterances)
    require_same(whole, chunked)
    assert chunked.audio == whole.audio
    assert {utterance.request for utterance in utterances} == set(whole.audio)
    for tail in one_token_tails(chunked):
        (found,) = [row for call in tail.step.hooks for row in call.rows if row.request == tail.row.request]
        assert found.fields == {
            PROMPT_LEN: Value("int", tail.row.prompt_len),
            NUM_COMPUTED: Value("int", tail.row.prompt_len - 1),
            IS_PREFILL: Value("bool", True),
        }
        assert found.embeds == tail.embeddings
        assert not any(row.returned in tail.embeddings for call in tail.step.mtp for row in call)


def test_the_budgets_cut_as_they_are_meant_to(tiny):
    def cut(budget, utterances):
        rows = [at.row for at in passes(tiny(budget, utterances)) if at.row.computed < at.row.prompt_len]
        return [(row.request, row.computed, row.span) for row in rows]

    assert cut(UNCUT, ONE) == [("a", 0, 16)]
    assert cut(15, ONE) == [("a", 0, 15), ("a", 15, 1)]
    assert cut(5, ONE) == [("a", 0, 5), ("a", 5, 5), ("a", 10, 5), ("a", 15, 1)]
    assert cut(15, TWO) == [("a", 0, 15), ("a", 15, 1), ("b", 0, 14), ("b", 14, 1)]


def test_the_model_says_something(tiny):
    """Tokens, codes and samples vary, nothing is clipped: a wrong row would be heard."""
    whole = tiny(UNCUT)
    samples = whole.audio["a"].samples
    assert len(set(tokens(whole, "a"))) > 3
    assert len(codes(whole, "a")) == 7
    assert len(samples) == 7 * 1920
    assert len(set(samples)) > 1000  # of 13,440, in bfloat16
    assert 0.1 < max(samples) < 1


def test_what_pages_show_is_what_is_observed(laboratory):
    written = json.loads(record.FILE.read_text(encoding="utf-8"))
    assert record.comparable(record.observe(laboratory)) == record.comparable(written), (
        "write it anew, and read the difference: .venv-e2e/bin/python -m spec_examples.real_model.record"
    )


def test_without_the_batched_guard_the_tail_is_overwritten(tiny):
    whole, chunked = tiny(UNCUT), tiny(15, runner=WITHOUT_BATCHED_GUARD)
    with pytest.raises(RunsDiffer, match=r"ROUTE-3 is broken in the chunked run.*the MTP embedding reached forward"):
        require_same(whole, chunked)
    assert min(largest_difference(whole, chunked, "a")) == 15
    assert tokens(chunked, "a") != tokens(whole, "a")
    assert codes(chunked, "a") != codes(whole, "a")
    assert chunked.audio != whole.audio


def test_without_the_scalar_guard_the_runner_asks_for_what_a_tail_does_not_offer(tiny):
    """This talker offers MTP inputs on decode rows only."""
    with pytest.raises(RunsDiffer, match="the chunked run ended early: KeyError: 'mtp_inputs'"):
        require_same(tiny(UNCUT), tiny(15, runner=WITHOUT_SCALAR_GUARD))


@pytest.mark.parametrize("budget", [15, 3])
def test_a_cut_prompt_changes_nothing_on_model_runner_v2(tiny, budget):
    whole, chunked = tiny(UNCUT, TWO, runner=WHOLE_V2), tiny(budget, TWO, runner=WHOLE_V2)
    require_same(whole, chunked)
    assert chunked.audio == whole.audio


def test_both_runners_say_the_same(tiny):
    shared, v2 = tiny(UNCUT, TWO), tiny(UNCUT, TWO, runner=WHOLE_V2)
    assert differences(shared, v2) == ()
    assert shared.audio == v2.audio


def test_without_the_batched_guard_of_model_runner_v2_the_tail_is_overwritten(tiny):
    whole, chunked = tiny(UNCUT, runner=WHOLE_V2), tiny(15, runner=WHOLE_V2, defect="v2-batched-guard-dropped")
    with pytest.raises(RunsDiffer, match=r"ROUTE-3 is broken in the chunked run.*the MTP embedding reached forward"):
        require_same(whole, chunked)
    assert min(largest_difference(whole, chunked, "a")) == 15
    assert chunked.audio != whole.audio
