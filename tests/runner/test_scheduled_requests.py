"""The real scheduler at work: several requests, preemption, ids that come back."""

import pytest

from spec_examples import Limits, Request, rows, run
from spec_examples.contract.judge import judge, took_mtp

pytestmark = pytest.mark.usefixtures("installed")


def violated(trace):
    return {verdict.clause: verdict.message for verdict in judge(trace) if verdict.outcome == "failed"}


@pytest.mark.parametrize("hook", ["scalar", "batched"])
@pytest.mark.clause("FIELD-3", "ROUTE-2", "ROUTE-3", "ROUTE-4")
def test_a_tail_beside_a_one_token_prompt_then_both_decode(hook):
    trace = run(Request(5), Request(1), talker=hook, limits=Limits(budget=4))

    assert [[(r.request, r.computed, r.span) for r in step.rows] for step in trace.steps] == [
        [("a", 0, 4)],
        [("a", 4, 1), ("b", 0, 1)],
        [("a", 5, 1), ("b", 1, 1)],
        [("a", 6, 1), ("b", 2, 1)],
    ]
    assert [row.mtp for row in rows(trace)] == [False, False, False, True, True, True, True]
    assert violated(trace) == {}


@pytest.mark.parametrize("hook", ["scalar", "batched"])
@pytest.mark.clause("FIELD-2", "FIELD-6")
def test_a_preempted_request_comes_back_as_prefill(hook):
    trace = run(Request(5, 8), Request(5, 8), talker=hook, limits=Limits(budget=8, blocks=6))

    resumed = [row for row in rows(trace) if row.request == "b" and row.computed == 0][1:]
    assert [(row.prompt_len, row.computed, row.span, row.phase, row.mtp) for row in resumed] == [
        (5, 0, 8, "prefill", False)
    ]
    assert any(step.preempted == ("b",) for step in trace.steps)
    assert violated(trace) == {}
    assert {v.clause: v.outcome for v in judge(trace)}["FIELD-6"] == "passed"


@pytest.mark.parametrize("hook", ["scalar", "batched"])
@pytest.mark.clause("FIELD-2", "FIELD-4", "FIELD-6")
def test_an_id_that_comes_back_after_an_abort_is_a_new_request(hook):
    trace = run(
        Request(11, 3, "long"),
        Request(3, 9, "x", aborts=4),
        Request(2, 3, "x", arrives=4),
        talker=hook,
        limits=Limits(budget=4),
    )

    again = [row for row in rows(trace) if row.request == "x" and row.prompt_len == 2]
    assert (again[0].computed, again[0].phase) == (0, "prefill")
    assert violated(trace) == {}
    assert took_mtp(trace)


@pytest.mark.clause("FIELD-2", "FIELD-5")
def test_a_request_that_waits_for_blocks_keeps_its_own_values():
    trace = run(Request(7, 4), Request(6, 4), Request(5, 4), limits=Limits(budget=5, blocks=7))
    assert {row.request for row in rows(trace)} == {"a", "b", "c"}
    assert violated(trace) == {}
