"""A hook that raises: whose error it is, and what had crossed the boundary until then."""

from __future__ import annotations

from spec_examples.contract import judge
from spec_examples.running import forced
from spec_examples.scenario import Row, Source
from spec_examples.targets import Target

READING = """
from spec_examples.talker import BatchedTalker


class Reading(BatchedTalker):
    def preprocess(self, input_ids, input_embeds, **info):
        info["_omni_is_prefill"]
        return super().preprocess(input_ids, input_embeds, **info)

    def preprocess_decode_batch(self, input_ids, req_infos):
        [info["_omni_is_prefill"] for info in req_infos]
        return super().preprocess_decode_batch(input_ids, req_infos)
"""


def test_a_hook_that_stumbles_over_a_missing_field_shows_the_clause_that_has_it(session):
    for row, mutant, hook, clause in (
        (Row(5, 4, 1), "keywords-left-out", "preprocess", "HOOK-1"),
        (Row(5, 5, 1), "infos-without-fields", "preprocess_decode_batch", "HOOK-2"),
    ):
        scenario = forced([[row]], Source(READING, "Reading"))
        trace = session.run(scenario, Target(), mutant)
        assert trace.error_in == hook
        assert trace.steps[0].hooks[0].rows[0].raised
        assert clause in {verdict.clause for verdict in judge(trace) if verdict.outcome == "failed"}
        assert session.run(scenario, Target()).error is None


def test_what_the_runner_raises_is_its_own(session):
    trace = session.run(forced([[Row(5, 5, 1)]], "spec_examples.stories.talkers:NoRows"), Target())
    assert trace.error
    assert trace.error_in == ""
