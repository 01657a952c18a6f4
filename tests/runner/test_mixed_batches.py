"""Prefill and decode rows in one step, in every order, through either hook, on the production runner."""

from itertools import permutations

import pytest

from spec_examples import Row, rows, run
from spec_examples.contract.judge import judge
from spec_examples.contract.pair import judge_pair

pytestmark = pytest.mark.usefixtures("installed")

TAIL, DECODE, LATER, SINGLE, LONG = (
    Row(5, 4, 1, "tail"),
    Row(5, 5, 1, "decode"),
    Row(5, 6, 1, "later"),
    Row(1, 0, 1, "single"),
    Row(5, 5, 2, "long"),
)
MTP_ROWS = {"decode", "later"}


def violated(trace):
    return {verdict.clause: verdict.message for verdict in judge(trace) if verdict.outcome == "failed"}


@pytest.mark.parametrize("hook", ["scalar", "batched"])
@pytest.mark.parametrize(
    "order", list(permutations((TAIL, DECODE, LATER, SINGLE))), ids=lambda o: "-".join(r.request for r in o)
)
@pytest.mark.clause("ROUTE-2", "ROUTE-3", "ROUTE-4", "FIELD-5")
def test_in_every_order_mtp_is_for_the_decode_rows_alone(hook, order):
    trace = run(*order, talker=hook)
    (step,) = trace.steps

    assert [row.request for row in step.rows] == [row.request for row in order]
    assert {row.request for row in rows(trace) if row.mtp} == MTP_ROWS
    assert {row.request for row in rows(trace) if row.embedding == "preprocess"} == {"tail", "single"}
    assert set(step.codes) == MTP_ROWS
    assert violated(trace) == {}


@pytest.mark.parametrize("hook", ["scalar", "batched"])
@pytest.mark.clause("ROUTE-4")
def test_each_decode_row_gets_its_own_embedding_at_its_own_offset_and_its_own_codes(hook):
    order = (Row(4, 0, 3, "chunk"), DECODE, TAIL, LATER, LONG)
    (step,) = run(*order, talker=hook).steps
    mtp = {row.embeds: row for call in step.mtp for row in call}

    for name, offset in (("decode", 3), ("later", 5)):
        own = mtp[step.hook_of(name)[1].embeds[0]]
        assert step.forward[offset] == own.returned
        assert step.codes[name] == own.codes
    assert step.codes["decode"] != step.codes["later"]


@pytest.mark.clause("ROUTE-4", "HOOK-2")
def test_adjacent_decode_requests_share_one_hook_call_with_exact_codes_for_each():
    names = ["a", "b", "c", "d"]
    (step,) = run(*(Row(5, 5 + i, 1, name) for i, name in enumerate(names)), talker="batched").steps

    (call,) = step.hooks
    assert call.hook == "preprocess_decode_batch"
    assert [row.request for row in call.rows] == names
    (batch,) = step.mtp
    assert [row.codes for row in batch] == [step.codes[name] for name in names]
    assert len(set(step.codes.values())) == len(names)


@pytest.mark.clause("ROUTE-1", "HOOK-2")
def test_a_prefill_row_between_decode_rows_ends_a_call_of_the_batched_hook():
    trace = run(Row(5, 5, 1, "a"), Row(5, 6, 1, "b"), TAIL, Row(5, 7, 1, "c"), talker="batched")
    (step,) = trace.steps

    assert [(call.hook, [row.request for row in call.rows]) for call in step.hooks] == [
        ("preprocess_decode_batch", ["a", "b"]),
        ("preprocess", ["tail"]),
        ("preprocess_decode_batch", ["c"]),
    ]
    assert violated(trace) == {}


@pytest.mark.parametrize(
    "order", list(permutations((TAIL, DECODE, LATER, LONG))), ids=lambda o: "-".join(r.request for r in o)
)
@pytest.mark.clause("ROUTE-6")
def test_the_scalar_and_the_batched_hook_lead_to_the_same(order):
    verdict = judge_pair(run(*order, talker="scalar"), run(*order, talker="batched"))
    assert (verdict.outcome, verdict.clause) == ("passed", "ROUTE-6"), verdict.message


@pytest.mark.parametrize("hook", ["scalar", "batched"])
@pytest.mark.parametrize("span", [2, 3, 7])
@pytest.mark.clause("ROUTE-5")
def test_a_decode_span_of_several_tokens_is_not_mtp_eligible(hook, span):
    trace = run(DECODE, Row(5, 5, span, "long"), LATER, talker=hook)
    (step,) = trace.steps

    call, row = step.hook_of("long")
    assert call.hook == "preprocess"
    assert step.forward[1 : 1 + span] == row.embeds
    assert "long" not in step.codes
    assert {row.request for row in rows(trace) if row.mtp} == MTP_ROWS


@pytest.mark.parametrize("hook", ["scalar", "batched"])
@pytest.mark.parametrize(("computed", "span"), [(8, 1), (4, 5), (8, 3)])
@pytest.mark.clause("FIELD-2", "FIELD-3", "ROUTE-3")
def test_a_request_that_starts_at_cached_progress_is_prefill_from_there(hook, computed, span):
    trace = run(Row(9, computed, min(span, 9 - computed), "cached"), DECODE, talker=hook)
    cached = rows(trace)[0]

    assert (cached.phase, cached.fields["_omni_num_computed_tokens"], cached.mtp) == ("prefill", computed, False)
    assert violated(trace) == {}


@pytest.mark.clause("FIELD-3", "ROUTE-3")
def test_a_prefill_span_may_reach_past_the_prompt():
    """A request that was preempted comes back with its prompt and what it had generated, in one prefill row."""
    trace = run(Row(5, 0, 8, "resumed"), DECODE)
    assert [(row.phase, row.mtp) for row in rows(trace)] == [("prefill", False), ("decode", True)]
    assert violated(trace) == {}
