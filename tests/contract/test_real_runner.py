"""The installed runner, judged: green on everything, and each promise is judged in at least one run."""

from __future__ import annotations

import textwrap

import pytest

from spec_examples.contract import JUDGES, judge, judge_pair, took_mtp
from spec_examples.scenario import STUB_TALKERS, Limits, Request, Row, Scenario, Source

MIXED = (
    (Row(5, 0, 4, "a"), Row(9, 8, 1, "d")),  # d's prompt was found in the prefix cache
    (Row(5, 4, 1, "a"), Row(1, 0, 1, "b")),
    (Row(5, 5, 1, "a"), Row(1, 1, 1, "b")),
    (Row(1, 2, 1, "b"), Row(5, 6, 1, "a"), Row(4, 0, 2, "c")),
    (Row(5, 7, 2, "a"), Row(1, 3, 1, "b"), Row(4, 2, 2, "c")),
)
PREFILL_FIRST = (
    (Row(9, 0, 2, "p"), Row(1, 0, 1, "a"), Row(1, 0, 1, "b")),
    (Row(9, 2, 3, "p"), Row(1, 1, 1, "a"), Row(1, 1, 1, "b")),  # the MTP rows are not where the step begins
    (Row(9, 5, 1, "p"), Row(1, 2, 2, "a"), Row(1, 2, 1, "b")),
)
PREEMPTED = {
    "requests": (Request(3, 14), Request(4, 12), Request(2, 12)),
    "limits": Limits(budget=3, sequences=3, blocks=7),
}
ASKED = {"mixed": {"steps": MIXED}, "prefill first": {"steps": PREFILL_FIRST}, "preempted": PREEMPTED}

PLANTING = Source(
    textwrap.dedent(
        """
        from spec_examples.talker import BatchedTalker

        PLANTED = {"_omni_prompt_len": 999, "_omni_num_computed_tokens": 777, "_omni_is_prefill": "planted"}

        class Planting(BatchedTalker):
            def preprocess(self, input_ids, input_embeds, **info):
                ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
                return ids, rows, update | PLANTED

            def preprocess_decode_batch(self, input_ids, req_infos):
                *rows, updates = super().preprocess_decode_batch(input_ids, req_infos)
                for info in req_infos:
                    info.update(PLANTED)
                return *rows, [update | PLANTED for update in updates]
        """
    ),
    "Planting",
)


@pytest.fixture(scope="module")
def traces(session):
    traces = {
        (talker, name): session.run(Scenario(talker, **asked))
        for talker in STUB_TALKERS
        for name, asked in ASKED.items()
    }
    traces["planting", "mixed"] = session.run(Scenario(PLANTING, steps=MIXED))
    return traces


def test_every_run_is_green(traces):
    assert not [(run, each) for run, t in traces.items() for each in judge(t) if each.outcome == "failed"]
    assert not [run for run, trace in traces.items() if trace.error]


@pytest.mark.clause("FIELD-*", "HOOK-[12]", "STATE-*", "ROUTE-[1-58]")
def test_every_promise_is_judged_in_some_run_in_which_mtp_ran(traces):
    runs = [trace for trace in traces.values() if took_mtp(trace)]
    assert {each.clause for trace in runs for each in judge(trace) if each.outcome == "passed"} == set(JUDGES)


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("mtp", ["", "-no-mtp"])
@pytest.mark.clause("ROUTE-6")
def test_the_scalar_and_the_batched_hook_agree(traces, name, mtp):
    verdict = judge_pair(traces["scalar" + mtp, name], traces["batched" + mtp, name])
    # Through 0.30.0rc1 a model without MTP has only one of the two forms to compare.
    assert verdict.outcome == "passed" or (mtp and verdict.outcome == "not-applicable"), verdict.message
