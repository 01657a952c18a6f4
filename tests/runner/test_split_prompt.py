"""A prompt that the scheduler cuts so that one token is left over, then decode, on the production runner."""

import pytest

from spec_examples import Limits, Request, rows, run
from spec_examples.contract.judge import judge, took_mtp
from spec_examples.trace import IS_PREFILL, NUM_COMPUTED, PROMPT_LEN

pytestmark = pytest.mark.usefixtures("installed")

HOOKS = ["scalar", "batched"]


def shape(trace):
    return [(row.request, row.prompt_len, row.computed, row.span) for row in rows(trace)]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.clause("FIELD-3", "ROUTE-2", "ROUTE-3")
def test_a_one_token_tail_is_prefill_and_the_decode_after_it_takes_mtp(hook):
    trace = run(Request(5), talker=hook, limits=Limits(budget=4))

    assert shape(trace) == [("a", 5, 0, 4), ("a", 5, 4, 1), ("a", 5, 5, 1), ("a", 5, 6, 1)]
    assert [row.phase for row in rows(trace)] == ["prefill", "prefill", "decode", "decode"]
    assert [row.mtp for row in rows(trace)] == [False, False, True, True]
    assert [row.embedding for row in rows(trace)] == ["preprocess", "preprocess", "mtp", "mtp"]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.clause("FIELD-1", "FIELD-2", "FIELD-3", "FIELD-4", "HOOK-1")
def test_what_arrives_at_the_hook_on_each_step(hook):
    arrived = [row.fields for row in rows(run(Request(5), talker=hook, limits=Limits(budget=4)))]

    assert arrived == [
        {PROMPT_LEN: 5, NUM_COMPUTED: 0, IS_PREFILL: True},
        {PROMPT_LEN: 5, NUM_COMPUTED: 4, IS_PREFILL: True},
        {PROMPT_LEN: 5, NUM_COMPUTED: 5, IS_PREFILL: False},
        {PROMPT_LEN: 5, NUM_COMPUTED: 6, IS_PREFILL: False},
    ]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.clause("ROUTE-3")
def test_the_tail_keeps_the_embedding_of_its_hook_and_gets_no_codes(hook):
    trace = run(Request(5), talker=hook, limits=Limits(budget=4))
    tail, decode = trace.steps[1], trace.steps[2]

    (call,) = tail.hooks
    assert tail.forward == call.rows[0].embeds
    assert call.rows[0].hidden is not None, "the model offered MTP inputs, so it was the runner that left them alone"
    assert tail.mtp == ()
    assert tail.codes == {}
    assert decode.forward == (decode.mtp[0][0].returned,)
    assert decode.codes == {"a": decode.mtp[0][0].codes}


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize(
    ("prompt_len", "budget", "tail"),
    [(5, 4, 1), (6, 4, 2), (8, 4, 4), (9, 4, 1), (13, 4, 1)],
)
@pytest.mark.clause("FIELD-3", "ROUTE-3")
def test_tails_of_every_length(hook, prompt_len, budget, tail):
    trace = run(Request(prompt_len), talker=hook, limits=Limits(budget=budget))

    prefill = [row for row in rows(trace) if row.computed < prompt_len]
    assert prefill[-1].span == tail
    assert {(row.phase, row.mtp) for row in prefill} == {("prefill", False)}
    assert [v for v in judge(trace) if v.outcome == "failed"] == []
    assert took_mtp(trace)


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.clause("FIELD-3", "ROUTE-3")
def test_a_one_token_prompt_is_prefill(hook):
    trace = run(Request(1), talker=hook)

    assert [(row.computed, row.span, row.phase, row.mtp) for row in rows(trace)] == [
        (0, 1, "prefill", False),
        (1, 1, "decode", True),
        (2, 1, "decode", True),
    ]
