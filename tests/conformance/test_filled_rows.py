"""Rows that a model fills itself: spared by ROUTE-1, out of MTP, and still guarded, on traces of 0.32.0rc1."""

from dataclasses import replace

import pytest

from spec_examples.conformance.record import recorded_trace
from spec_examples.conformance.suite import case
from spec_examples.contract import judge
from spec_examples.contract.judge import route_form
from spec_examples.trace import HookCall, Trace

SCHEDULED, FORCED = case("rows that the model fills").scenarios


@pytest.fixture
def trace():
    return recorded_trace("0.32.0rc1", "ar", FORCED)


def failed(trace):
    return {verdict.clause for verdict in judge(trace) if verdict.outcome == "failed"}


def filled(step):
    return [row.request for call in step.hooks for row in call.rows if row.filled]


def changed(trace, **new) -> Trace:
    return replace(trace, steps=(replace(trace.steps[0], **new), *trace.steps[1:]))


@pytest.mark.parametrize("scenario", [SCHEDULED, FORCED])
@pytest.mark.parametrize("runner", ["ar", "generation"])
def test_rows_were_filled_and_nothing_is_broken(scenario, runner):
    found = recorded_trace("0.32.0rc1", runner, scenario)
    assert any(filled(step) for step in found.steps)
    assert failed(found) == set()
    assert route_form(found) == "rows may be filled by the model"


@pytest.mark.parametrize("release", ["0.22.0", "0.30.0", "0.31.0rc1"])
def test_without_the_construct_the_same_talker_goes_by_the_hooks(release):
    found = recorded_trace(release, "ar", FORCED)
    assert not any(filled(step) for step in found.steps)
    assert failed(found) == set()


@pytest.mark.clause("ROUTE-1")
def test_a_filled_row_that_also_reached_a_hook_breaks_route_1(trace):
    step = trace.steps[0]
    name = filled(step)[0]
    call = next(call for call in step.hooks if call.hook != "preprocess_batch")
    again = HookCall("preprocess", (replace(call.rows[0], request=name, hidden=None, text=None),))
    assert "ROUTE-1" in failed(changed(trace, hooks=(*step.hooks, again)))


@pytest.mark.clause("ROUTE-2")
def test_a_filled_row_in_mtp_breaks_route_2(trace):
    step = trace.steps[0]
    wrote = next(row for call in step.hooks for row in call.rows if row.filled)
    taken = replace(step.mtp[0][0], embeds=wrote.embeds[0], returned=tuple(9.0 for _ in wrote.embeds[0]))
    assert failed(changed(trace, mtp=(*step.mtp, (taken,)))) == {"ROUTE-2"}


@pytest.mark.clause("ROUTE-3")
def test_a_filled_prompt_that_is_written_over_breaks_route_3(trace):
    step = trace.steps[0]
    row = next(row for row in step.rows if row.request in filled(step) and row.computed < row.prompt_len)
    forward = list(step.forward)
    forward[row.start] = tuple(7.0 for _ in forward[row.start])
    assert failed(changed(trace, forward=tuple(forward))) == {"ROUTE-3"}


@pytest.mark.clause("ROUTE-1")
def test_a_row_that_nobody_filled_and_no_hook_saw_is_still_missed(trace):
    step = trace.steps[0]
    hooks = tuple(
        replace(call, rows=tuple(replace(row, filled=False, embeds=()) for row in call.rows))
        if call.hook == "preprocess_batch"
        else call
        for call in step.hooks
    )
    assert "ROUTE-1" in failed(changed(trace, hooks=hooks))
