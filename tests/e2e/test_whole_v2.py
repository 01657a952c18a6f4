"""The whole Model Runner V2 under its real scheduler: it breaks what its divergences say, and a broken one is seen."""

from dataclasses import replace

import pytest

from spec_examples.conformance.suite import case
from spec_examples.contract import judge
from spec_examples.mutants.catalogue import MUTANTS
from spec_examples.running import forced
from spec_examples.scenario import Limits, Request, Row, Scenario, Source
from spec_examples.targets import Session, Target
from spec_examples.trace import Environment

pytestmark = pytest.mark.usefixtures("triton")

STEP, WHOLE = Target(runner="v2"), Target(runner="v2-whole")

OFFERS_ON_DECODE = """
from spec_examples.talker import BatchedTalker, ScalarTalker

class Scalar(ScalarTalker):
    def preprocess(self, input_ids, input_embeds, **info):
        input_ids, embeds, update = super().preprocess(input_ids, input_embeds, **info)
        if info["_omni_num_computed_tokens"] < info["_omni_prompt_len"]:
            del update["mtp_inputs"]
        return input_ids, embeds, update

class Batched(Scalar, BatchedTalker):
    pass
"""
TALKERS = {name: Source(OFFERS_ON_DECODE, name, "offers_on_decode.py") for name in ("Scalar", "Batched")}
"""Talkers that V2 keeps the contract with: they offer no MTP inputs on prefill."""

REQUESTS = (Request(5, id="split"), Request(1, id="single"), Request(6, 3, "other"))


@pytest.fixture(scope="module")
def session():
    with Session(live=True) as session:
        yield session


def broken(trace):
    return {verdict.clause for verdict in judge(trace) if verdict.outcome == "failed"}


def split_prompt(talker, **limits):
    return Scenario(talker, requests=REQUESTS, limits=Limits(budget=4, **limits))


def test_tails_and_one_token_prompts_lose_their_embedding(session):
    trace = session.run(split_prompt("scalar"), WHOLE)
    assert trace.error is None
    assert broken(trace) == {"ROUTE-2", "ROUTE-3"}
    (wrong,) = (verdict for verdict in judge(trace) if verdict.clause == "ROUTE-3")
    assert "prompt 5, computed 4, span 1), step 2: prefill, but the MTP embedding reached forward" in wrong.message


@pytest.mark.parametrize("talker", TALKERS)
@pytest.mark.parametrize("limits", [{}, {"async_scheduling": True}], ids=["step by step", "steps in flight"])
def test_a_talker_that_offers_nothing_on_prefill_gets_what_is_promised(session, talker, limits):
    trace = session.run(split_prompt(TALKERS[talker], **limits), WHOLE)
    assert trace.error is None
    assert broken(trace) == set()
    assert any(step.mtp for step in trace.steps)


@pytest.mark.parametrize(
    "name",
    [
        "v2-batched-guard-dropped",
        "v2-flag-int",
        "v2-flag-left-out",
        "v2-prompt-len-of-row",
        "v2-progress-after-span",
        "v2-tail-not-written",
        "v2-codes-of-first-row",
    ],
)
def test_a_defect_of_the_step_is_seen_under_the_whole_runner(session, name):
    traces = [session.run(split_prompt(TALKERS[talker]), WHOLE, mutant=name) for talker in TALKERS]
    assert set().union(*map(broken, traces)) & set(MUTANTS[name].clauses)


@pytest.mark.parametrize("name", ["split prompt", "preempted and resumed", "a prompt that grows"])
def test_step_and_whole_runner_show_the_same(session, name):
    for scenario in case(name).scenarios:
        step, whole = (session.run(scenario, target) for target in (STEP, WHOLE))
        assert replace(step, environment=Environment()) == replace(whole, environment=Environment())


def test_forced_rows_are_routed_as_they_were_asked_for(session):
    (step,) = session.run(forced([[Row(5, 0, 3, "chunk"), Row(5, 5, 1, "decode")]], TALKERS["Batched"]), WHOLE).steps
    assert {(row.request, row.prompt_len, row.computed, row.span) for row in step.rows} == {
        ("chunk", 5, 0, 3),
        ("decode", 5, 5, 1),
    }
    assert [(call.hook, [row.request for row in call.rows]) for call in step.hooks] == [
        ("preprocess_decode_batch", ["decode"]),
        ("preprocess", ["chunk"]),
    ]
