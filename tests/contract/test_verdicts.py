"""What a verdict says, what it needs before it passes, and what a trace shows besides."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from conforming_runner import STORY, Runner

from spec_examples.contract import (
    CLAUSES,
    JUDGES,
    PROMISES,
    Origin,
    describe,
    excluded,
    judge,
    route_form,
    stopped,
    took_mtp,
)
from spec_examples.trace import PROMPT_LEN, HookCall, MtpRow, ScheduledRow, Step, Trace, Value

SPLIT = STORY[:3]


def verdict(trace: Trace, clause: str):
    return next(each for each in judge(trace) if each.clause == clause)


# The registry


def test_every_promise_has_a_judge_and_nothing_else_has_one():
    assert set(PROMISES) == {*JUDGES, "ROUTE-6"}
    assert [clause for clause, each in CLAUSES.items() if each.kind == "non-promise"] == [
        "HOOK-3",
        "SCOPE-1",
        "SCOPE-2",
    ]
    assert [each.id for each in CLAUSES.values()] == list(CLAUSES)


@pytest.mark.parametrize(
    ("clause", "anchor"),
    [
        ("FIELD-4", "docs/contract/fields.md#FIELD-4"),
        ("HOOK-3", "docs/contract/hooks.md#HOOK-3"),
        ("ROUTE-3", "docs/contract/routing.md#ROUTE-3"),
        ("OWN-1", "docs/contract/scope.md#OWN-1"),
        ("COMPAT-2", "docs/contract/compatibility.md#COMPAT-2"),
        ("EVOL-1", "docs/contract/evolution.md#EVOL-1"),
    ],
)
def test_a_clause_knows_its_page(clause, anchor):
    assert CLAUSES[clause].anchor == anchor


def test_judging_imports_no_runner():
    code = "import sys, spec_examples.contract as _; sys.exit(bool({'torch', 'vllm', 'vllm_omni'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Hollow runs never pass


def test_a_trace_without_steps_shows_nothing():
    for error in (None, "RuntimeError: no step was made"):
        assert {each.outcome for each in judge(Trace(mtp=True, error=error))} == {"not-applicable"}


def test_steps_without_hooks_or_embeddings_show_nothing():
    rows = (ScheduledRow("a", 5, 0, 4, 0),)
    assert {each.outcome for each in judge(Trace((Step(rows),)))} == {"not-applicable"}


@pytest.mark.clause("ROUTE-1")
def test_a_runner_that_calls_no_hook_is_red():
    trace = Trace((Step((ScheduledRow("a", 1, 0, 1, 0),), forward=((0.0, 0.0),)),))
    assert verdict(trace, "ROUTE-1").outcome == "failed"


@pytest.mark.clause("ROUTE-3", "ROUTE-4")
def test_a_prefill_only_run_passes_its_exclusions_and_shows_that_nothing_took_mtp():
    trace = Runner().run(STORY[:2])
    assert verdict(trace, "ROUTE-3").outcome == "passed"
    assert verdict(trace, "ROUTE-4").outcome == "not-applicable"
    assert [(place.step, place.row.request) for place in excluded(trace)] == [(1, "a"), (2, "a"), (2, "b")]
    assert took_mtp(trace) == ()


def test_the_rows_that_took_mtp():
    assert [(place.step, place.row.request) for place in took_mtp(Runner().run(SPLIT))] == [(3, "a"), (3, "b")]


# Messages


class TailOverwritten(Runner):
    def takes_mtp(self, row):
        return row.span == 1


class Swapped(Runner):
    def computed(self, row):
        return self.step[-1 - self.step.index(row)].computed


class SpanAsPrompt(Runner):
    def prompt_len(self, row):
        return row.span


class HiddenReversed(Runner):
    def mtp_call(self, given):
        hidden = [values[2] for _, values in reversed(given)]
        return [(row, (*v[:2], other, v[3])) for (row, v), other in zip(given, hidden, strict=True)]


@pytest.mark.parametrize(
    ("runner", "clause", "message"),
    [
        (
            TailOverwritten,
            "ROUTE-3",
            "row a (prompt 5, computed 4, span 1), step 2: prefill, but the MTP embedding reached forward (and 5 more)",
        ),
        (
            TailOverwritten,
            "ROUTE-2",
            "row a (prompt 5, computed 4, span 1), step 2: MTP takes single-token decode rows only, "
            "but took this one (prefill) (and 1 more)",
        ),
        (
            SpanAsPrompt,
            "FIELD-1",
            "row a (prompt 5, computed 0, span 4), step 1: _omni_prompt_len is the prompt length, 5, "
            "but 4 arrived (the span) (and 2 more)",
        ),
        (
            Swapped,
            "FIELD-2",
            "row a (prompt 5, computed 4, span 1), step 2: "
            "_omni_num_computed_tokens is the progress before the step, 4, but 0 arrived (row b's) (and 3 more)",
        ),
        (
            HiddenReversed,
            "ROUTE-4",
            "row a (prompt 5, computed 5, span 1), step 3: MTP was given mixed inputs for it: "
            "the embedding of a, the hidden state of b, the text step of a (and 1 more)",
        ),
    ],
)
def test_a_message_says_what_the_contract_has_and_what_crossed(runner, clause, message):
    assert verdict(runner().run(SPLIT), clause).message == message


def test_a_verdict_lists_every_violation_and_points_at_the_first():
    found = verdict(TailOverwritten().run(SPLIT), "ROUTE-2")
    assert (found.outcome, found.step, found.request) == ("failed", 2, "a")
    assert [(each.step, each.request) for each in found.violations] == [(2, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "it did not arrive"),
        (Value("numpy.int32", 5), "a numpy.int32 arrived (5), not exactly int"),
        (Value("bool", True), "a bool arrived (True), not exactly int"),
        (Value("torch.Tensor", "tensor(5)"), "a torch.Tensor arrived ('tensor(5)'), not exactly int"),
        (Value("int", 9), "9 arrived"),
    ],
)
@pytest.mark.clause("FIELD-1")
def test_a_value_is_told_apart_from_its_look_alikes(value, problem):
    trace = Runner().run(SPLIT[:1])
    (call,) = trace.steps[0].hooks
    fields = {k: v for k, v in call.rows[0].fields.items() if k != "_omni_prompt_len"}
    fields |= {"_omni_prompt_len": value} if value else {}
    hooks = (HookCall("preprocess", (replace(call.rows[0], fields=fields),)),)
    broken = replace(trace, steps=(replace(trace.steps[0], hooks=hooks),))
    assert verdict(broken, "FIELD-1").message.endswith(f"the prompt length, 5, but {problem}")


# A run that raised


def test_what_is_absent_from_the_step_that_raised_is_no_violation():
    trace = Runner().run(SPLIT)
    last = trace.steps[-1]
    partial = replace(last, hooks=last.hooks[:1], mtp=(), forward=(), codes={})
    ended = replace(trace, steps=(*trace.steps[:-1], partial), error="RuntimeError: shape '[3, -1]' is invalid")
    assert not [each for each in judge(ended) if each.outcome == "failed"]
    assert [each.clause for each in judge(replace(ended, error=None)) if each.outcome == "failed"] == [
        "ROUTE-1", "ROUTE-2", "ROUTE-4"]  # fmt: skip


def test_what_did_cross_in_the_step_that_raised_is_judged():
    trace = replace(TailOverwritten().run(STORY[:2]), error="KeyError: 'mtp_inputs'")
    assert {each.clause for each in judge(trace) if each.outcome == "failed"} == {"ROUTE-2", "ROUTE-3"}


# A run that stopped for want of MTP inputs


class TellsEveryRowThatItIsPrefill(Runner):
    def flag(self, row):
        return True


def without_mtp_inputs(runner, steps, **error):
    """The run of ``steps``, ended behind the first hook call of the last of them."""
    trace = runner.run(steps)
    last = trace.steps[-1]
    partial = replace(last, hooks=last.hooks[:1], mtp=(), forward=(), codes={})
    says = {"error": "KeyError: 'mtp_inputs' (worker/gpu_model_runner.py:1899)", **error}
    return replace(trace, steps=(*trace.steps[:-1], partial), **says)


ASKS = {
    "a prefill row, which owes none": (Runner, STORY[:2], {"ROUTE-2", "ROUTE-3"}),
    "a longer decode row, which owes none": (
        Runner,
        (*STORY[:4], (("a", 5, 7, 2), ("c", 4, 2, 1))),
        {"ROUTE-2", "ROUTE-5"},
    ),
    "a decode row that was told that it is prefill": (TellsEveryRowThatItIsPrefill, STORY[:3], {"FIELD-3"}),
}


@pytest.mark.clause("ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-5")
@pytest.mark.parametrize(("runner", "steps", "red"), ASKS.values(), ids=ASKS)
def test_a_stop_is_named_by_the_clause_that_explains_it(runner, steps, red):
    trace = without_mtp_inputs(runner(), steps)
    assert red <= {each.clause for each in judge(trace) if each.outcome == "failed"} <= {*red, "FIELD-4", "FIELD-6"}
    assert stopped(trace) is None


@pytest.mark.clause("ROUTE-1")
def test_a_stop_at_a_row_that_owes_mtp_inputs_explains_nothing():
    trace = without_mtp_inputs(Runner(), STORY[:3])
    assert not [each for each in judge(trace) if each.outcome == "failed"]
    assert stopped(trace) == trace.error


@pytest.mark.parametrize("error", ["RuntimeError: no memory", "KeyError: 'request_id'"])
def test_any_other_error_explains_nothing(error):
    assert stopped(without_mtp_inputs(Runner(), STORY[:2], error=error)) == error


def test_a_talker_that_raises_is_no_stop_of_the_runner():
    assert stopped(without_mtp_inputs(Runner(), STORY[:2], error_in="preprocess")) is None
    assert stopped(Runner().run(STORY[:2])) is None


# Seeds for MTP


def seeded(**given):
    """The first three steps, in which a and b have seeds and MTP was given those in ``given``."""
    trace = Runner().run(SPLIT)
    seeds = {"a": 5, "b": 6}
    steps = []
    for step in trace.steps:
        rows = tuple(replace(row, seed=seeds[row.request]) for row in step.rows)
        mtp = tuple(
            tuple(
                replace(row, seed=given.get(scheduled.request)) for row, scheduled in zip(call, step.rows, strict=True)
            )
            for call in step.mtp
        )
        steps.append(replace(step, rows=rows, mtp=mtp))
    return replace(trace, steps=tuple(steps))


SEEDS = {
    "each its own": ({"a": 5, "b": 6}, "passed"),
    "none at all, as on releases that have none": ({}, "passed"),
    "one row alone": ({"a": 5}, "failed"),
    "the other's": ({"a": 6, "b": 5}, "failed"),
}


@pytest.mark.clause("ROUTE-4")
@pytest.mark.parametrize(("given", "outcome"), SEEDS.values(), ids=SEEDS)
def test_the_seeds_that_mtp_was_given(given, outcome):
    assert verdict(seeded(**given), "ROUTE-4").outcome == outcome


# What a scenario puts into intermediate state is planted, whoever reads it there


class ScenarioPlants(Runner):
    """Before its third step somebody wrote a prompt length of 99 into the state of a; a runner may believe it."""

    believes = False

    def fields(self, row):
        found = super().fields(row)
        return {**found, PROMPT_LEN: 99} if self.believes and row.request == "a" and len(self.steps) == 2 else found

    def run_step(self):
        step = super().run_step()
        planted = {"a": {PROMPT_LEN: Value.of(99)}} if len(self.steps) == 2 else {}
        return replace(step, planted=planted)


class PlantedByTheScenarioWins(ScenarioPlants):
    believes = True


def test_what_a_scenario_planted_may_not_arrive():
    assert verdict(ScenarioPlants().run(), "FIELD-4").outcome == "passed"
    believed = verdict(PlantedByTheScenarioWins().run(), "FIELD-4")
    assert (believed.outcome, believed.step, believed.request) == ("failed", 3, "a")
    assert "99 arrived, which was planted before step 3" in believed.message


# A model whose rows are equal proves nothing against the runner


def test_equal_rows_are_innocent():
    ones = (1.0, 1.0)
    trace = Runner().run(STORY)
    steps = []
    for step in trace.steps:
        hooks = tuple(
            replace(
                call,
                rows=tuple(replace(r, embeds=(ones,) * len(r.embeds), hidden=ones, text=ones) for r in call.rows),
            )
            for call in step.hooks
        )
        mtp = tuple(
            tuple(MtpRow(row.input_id, ones, ones, ones, (-7.0, -7.0), row.codes) for row in reversed(call))
            for call in step.mtp
        )
        returned = {row.returned for call in step.mtp for row in call}
        forward = tuple((-7.0, -7.0) if value in returned else ones for value in step.forward)
        steps.append(replace(step, hooks=hooks, mtp=mtp, forward=forward))
    assert not [each for each in judge(replace(trace, steps=tuple(steps))) if each.outcome == "failed"]


def test_a_hook_row_that_names_no_request_is_found_by_its_tokens_then_by_order():
    trace = Runner(batched=True).run()
    for forget in (lambda row: row.tokens, lambda _: ()):
        steps = [
            replace(
                step,
                rows=tuple(replace(row, tokens=forget(row)) for row in step.rows),
                hooks=tuple(replace(c, rows=tuple(replace(r, request=None) for r in c.rows)) for c in step.hooks),
            )
            for step in trace.steps
        ]
        assert not [each for each in judge(replace(trace, steps=tuple(steps))) if each.outcome == "failed"]


# Origins


def test_origins_name_what_reached_forward():
    steps = Runner().run(STORY).steps
    assert [str(origin) for origin in describe(steps[1])] == ["preprocess a[4]", "preprocess b[0]"]
    assert [str(origin) for origin in describe(steps[3])] == ["MTP b", "MTP a", "preprocess c[0]", "preprocess c[1]"]


def test_origins_of_what_should_not_have_been_there():
    step = Runner().run(STORY).steps[1]
    one, other = step.forward
    assert [str(each) for each in describe(replace(step, forward=(other, (0.0, 0.0))))] == ["preprocess of b", "buffer"]
    padded = replace(step, forward=(one, other, one, (9.0, 9.0)))
    assert describe(padded)[2:] == (Origin("preprocess", "a"), Origin("none"))


def test_padding_of_an_mtp_call_is_no_violation_until_its_result_is_used():
    trace = Runner().run(SPLIT)
    step = trace.steps[-1]
    padding = MtpRow(0, (8.0, 0.0), (8.0, 1.0), (8.0, 2.0), (8.0, 3.0), (0, 0))
    padded = replace(step, mtp=((*step.mtp[0], padding),))
    assert not [e for e in judge(replace(trace, steps=(*trace.steps[:-1], padded))) if e.outcome == "failed"]
    used = replace(padded, forward=((8.0, 3.0), step.forward[1]))
    assert verdict(replace(trace, steps=(*trace.steps[:-1], used)), "ROUTE-2").outcome == "failed"


# The two forms of ROUTE-1 without MTP


class Needs(Runner):
    def hooks(self, row):
        return ("preprocess",)


class Undecided(Runner):
    def hooks(self, row):
        return ("preprocess",) if row.request == "b" else super().hooks(row)


@pytest.mark.parametrize(
    ("runner", "form", "outcome"),
    [
        (Runner(batched=True, mtp=False), "without talker_mtp", "passed"),
        (Needs(batched=True, mtp=False), "needs talker_mtp", "passed"),
        (Undecided(batched=True, mtp=False), None, "failed"),
        (Runner(batched=False, mtp=False), None, "passed"),
        (Runner(batched=True, mtp=True), None, "passed"),
    ],
)
@pytest.mark.clause("ROUTE-1")
def test_the_form_that_a_trace_shows(runner, form, outcome):
    trace = runner.run()
    assert route_form(trace) == form
    assert verdict(trace, "ROUTE-1").outcome == outcome
