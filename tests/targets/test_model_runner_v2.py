"""Model Runner V2's preprocess step, on the installed release: what it keeps of the contract, and where it departs."""

import pytest

from spec_examples.contract import judge
from spec_examples.outcome import rows
from spec_examples.running import forced
from spec_examples.scenario import Limits, Request, Row, Scenario
from spec_examples.targets import resolve

TAIL, DECODE, SINGLE = Row(5, 4, 1, "tail"), Row(5, 5, 1, "decode"), Row(1, 0, 1, "single")
V2 = resolve(runner="v2")


def failed(trace):
    return {verdict.clause for verdict in judge(trace) if verdict.outcome == "failed"}


def test_it_says_that_it_is_a_part_of_the_runner(session):
    environment = session.environment(V2)
    assert environment.runner == "OmniModelState.run_preprocess"
    assert environment.preprocess_from == environment.mtp_from == "OmniModelState"


@pytest.mark.clause("FIELD-1", "FIELD-2", "FIELD-3", "ROUTE-3")
def test_the_three_keys_are_right_and_the_prefill_rows_go_through_mtp(session):
    trace = session.run(forced([[TAIL, DECODE, SINGLE]]), V2)
    seen = {row.request: (row.phase, row.embedding) for row in rows(trace)}
    assert seen == {"tail": ("prefill", "mtp"), "decode": ("decode", "mtp"), "single": ("prefill", "mtp")}
    assert failed(trace) >= {"ROUTE-2", "ROUTE-3"}
    assert not failed(trace) & {"FIELD-1", "FIELD-2", "FIELD-3", "HOOK-1"}


def test_a_batched_hook_beside_such_a_row_raises(session):
    trace = session.run(forced([[TAIL, DECODE, SINGLE]], "batched"), V2)
    assert trace.error is not None
    assert "shape '[3, -1]' is invalid" in trace.error


def test_a_batched_hook_without_mtp_has_to_return_five_values(session):
    trace = session.run(forced([[DECODE]], "batched-no-mtp"), V2)
    assert trace.error is not None
    assert "expected 5, got 3" in trace.error


@pytest.mark.clause("ROUTE-5")
def test_longer_spans_are_left_alone(session):
    trace = session.run(forced([[Row(5, 0, 4), Row(5, 5, 2), Row(5, 6, 1)]]), V2)
    seen = {row.request: (row.phase, row.embedding) for row in rows(trace)}
    assert seen == {"a": ("prefill", "preprocess"), "b": ("decode", "preprocess"), "c": ("decode", "mtp")}
    assert not failed(trace)


@pytest.mark.parametrize("talker", ["scalar", "batched"])
def test_a_real_schedule_with_a_preemption_ends(session, talker):
    limits = Limits(budget=8, block_size=4, blocks=6)
    trace = session.run(Scenario(talker, requests=(Request(5, 8), Request(5, 8)), limits=limits), V2)
    assert trace.error is None
    assert [step.preempted for step in trace.steps if step.preempted] == [("b",)]
    assert {("b", 5, 0, 8)} <= {(row.request, row.prompt_len, row.computed, row.span) for row in rows(trace)}


def test_without_a_prompt_length_it_goes_by_the_span_and_leaves_the_flag_out(session):
    target = resolve(runner="spec_examples.targets.model_runner_v2:WithoutRequestStates")
    trace = session.run(forced([[TAIL, Row(5, 5, 2, "long")]], "batched"), target)
    seen = {row.request: (row.hook, row.embedding, tuple(row.fields)) for row in rows(trace)}
    assert seen == {
        "tail": ("preprocess_decode_batch", "mtp", ("_omni_num_computed_tokens",)),
        "long": ("preprocess", "preprocess", ("_omni_num_computed_tokens",)),
    }
