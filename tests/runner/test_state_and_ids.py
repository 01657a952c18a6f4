"""What a model stores comes back to its request and to no other; the ids that it returns reach ``forward``."""

from __future__ import annotations

from itertools import pairwise

import pytest

from spec_examples.contract import judge
from spec_examples.running import forced, put
from spec_examples.scenario import Limits, Request, Row, Scenario

pytestmark = pytest.mark.usefixtures("installed")

BOTH = ("scalar", "batched")
RENAMING = ("spec_examples.variants:RenamingScalarTalker", "spec_examples.variants:RenamingBatchedTalker")
PAUSE = [
    [Row(5, 2, 3, "pauses"), Row(2, 0, 2, "goes on")],
    [Row(5, 5, 1, "pauses"), Row(2, 2, 1, "goes on")],
    [Row(2, 3, 1, "goes on")],
    [Row(5, 6, 1, "pauses"), Row(2, 4, 1, "goes on")],
]


def calls_of(trace, request):
    return [row for step in trace.steps for call in step.hooks for row in call.rows if row.request == request]


def passed(trace):
    return {verdict.clause for verdict in judge(trace) if verdict.outcome == "passed"}


@pytest.mark.clause("STATE-1")
@pytest.mark.parametrize("talker", [*BOTH, "scalar-no-mtp", "batched-no-mtp"])
def test_what_an_update_stored_comes_back_with_the_next_call_a_pause_between_them_or_not(talker):
    trace = put(forced(PAUSE, talker))
    for request in ("pauses", "goes on"):
        calls = calls_of(trace, request)
        assert calls[0].given == {}
        for before, after in pairwise(calls):
            assert before.update
            assert before.update.items() <= after.given.items()
    assert "STATE-1" in passed(trace)


@pytest.mark.clause("STATE-2")
@pytest.mark.parametrize("talker", BOTH)
def test_a_request_that_has_the_id_of_an_ended_one_begins_with_nothing(talker):
    requests = Request(3, 9, "again", aborts=4), Request(2, 3, "again", arrives=4), Request(2, 9, "other")
    trace = put(Scenario(talker, requests=requests))
    assert any("again" in step.finished for step in trace.steps)
    begins = [row for row in calls_of(trace, "again") if row.fields["_omni_num_computed_tokens"].value == 0]
    assert [row.given for row in begins] == [{}, {}]
    assert "STATE-2" in passed(trace)


@pytest.mark.clause("ROUTE-8")
@pytest.mark.parametrize("talker", RENAMING)
def test_ids_that_a_hook_returns_reach_forward_and_mtp(talker):
    trace = put(Scenario(talker, requests=(Request(5), Request(2)), limits=Limits(budget=4)))
    for step in trace.steps:
        for row in step.rows:
            _, hook = step.hook_of(row.request)
            assert hook.returned_ids != hook.input_ids
            assert step.input_ids[row.start : row.start + row.span] == hook.returned_ids
        ids = {row.input_id for call in step.mtp for row in call}
        assert ids <= set(step.input_ids)
    assert "ROUTE-8" in passed(trace)


@pytest.mark.clause("ROUTE-4")
@pytest.mark.parametrize("hook", ["Scalar", "Batched"])
def test_mtp_is_told_whose_rows_it_takes_and_given_their_seeds(hook):
    requests = Request(5, 5, seed=5), Request(9, 3), Request(2, 5, seed=6)
    trace = put(Scenario(f"spec_examples.variants:Declaring{hook}Talker", requests=requests, limits=Limits(budget=6)))
    seeds = {"a": 5, "b": None, "c": 6}
    taken = [row for step in trace.steps for call in step.mtp for row in call]
    assert {row.names[0] for row in taken} == set(seeds)
    assert all(row.seed == seeds[row.names[0]] for row in taken)
    assert trace.codes_at == "frames.latest"
    assert "ROUTE-4" in passed(trace)
