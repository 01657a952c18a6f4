"""ROUTE-6: the same steps through the scalar and through the batched hook."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conforming_runner import STORY, Runner

from spec_examples.contract import judge_pair


def run(runner: type[Runner] = Runner, *, batched: bool = False, mtp: bool = True, steps=STORY):
    conforming = runner(batched=batched, mtp=mtp)
    conforming.serial = 1000 * batched  # the stub counts its calls, so equal results differ in number
    return conforming.run(steps)


@pytest.mark.parametrize("mtp", [True, False])
@pytest.mark.clause("ROUTE-6")
def test_runs_that_agree(mtp):
    verdict = judge_pair(run(mtp=mtp), run(batched=True, mtp=mtp))
    assert (verdict.clause, verdict.outcome) == ("ROUTE-6", "passed")
    assert verdict.judged == sum(
        row.span == 1 and row.computed >= row.prompt_len for s in run().steps for row in s.rows
    )


class CodesDropped(Runner):
    def store(self, row, codes):
        if not self.batched:
            super().store(row, codes)


class CodesReversed(Runner):
    def store(self, row, codes):
        taking = [r for r in self.step if self.takes_mtp(r)]
        super().store(taking[-1 - taking.index(row)] if self.batched else row, codes)


class EmbeddingsReversed(Runner):
    def place(self, forward, row, returned):
        taking = [r for r in self.step if self.takes_mtp(r)]
        super().place(forward, taking[-1 - taking.index(row)] if self.batched else row, returned)


class HookEmbeddingKept(Runner):
    def place(self, forward, row, returned):
        if not self.batched:
            super().place(forward, row, returned)


class TextReversed(Runner):
    def mtp_call(self, given):
        texts = [values[3] for _, values in (reversed(given) if self.batched else given)]
        return [(row, (*values[:3], text)) for (row, values), text in zip(given, texts, strict=True)]


class Rounded(Runner):
    """The batched result passes through another precision on its way."""

    def finish(self, forward, hooked):
        if self.batched:
            forward[0] = (forward[0][0], forward[0][1] + 0.5)


class UpdatesDropped(Runner):
    def keywords(self, row, fields):
        kept = any(r.request == row.request for step in self.steps for r in step.rows) and not self.batched
        return (*super().keywords(row, fields), *(["my_counter"] if kept else []))


@pytest.mark.parametrize(
    "defect",
    [CodesDropped, CodesReversed, EmbeddingsReversed, HookEmbeddingKept, TextReversed, Rounded, UpdatesDropped],
)
@pytest.mark.clause("ROUTE-6")
def test_a_batched_path_that_leads_elsewhere_is_red(defect):
    assert judge_pair(run(defect), run(defect, batched=True)).outcome == "failed"


def test_the_message_shows_both_runs():
    verdict = judge_pair(run(HookEmbeddingKept), run(HookEmbeddingKept, batched=True))
    assert verdict.message.startswith(
        "row a (prompt 5, computed 5, span 1), step 3: "
        "forward got MTP a in the scalar run and preprocess a[5] in the batched run"
    )


@pytest.mark.clause("ROUTE-6")
def test_only_one_run_that_raised_is_red_and_both_are_compared_as_far_as_they_got():
    batched = replace(run(batched=True), error="RuntimeError: shape '[3, -1]' is invalid")
    assert "only the batched run raised" in judge_pair(run(), batched).message
    assert judge_pair(replace(run(), error="KeyError: 'x'"), batched).outcome == "passed"


@pytest.mark.parametrize(
    ("scalar", "batched", "missing"),
    [
        (run(steps=STORY[:2]), run(batched=True, steps=STORY[:2]), "no row reached preprocess in one run"),
        (run(), run(), "no row reached preprocess in one run"),
        (run(), run(batched=True, steps=STORY[:-1]), "not of the same steps: 10 and 9"),
        (run(steps=STORY[:1]), run(batched=True, steps=STORY[1:2]), "step 1 has other rows"),
        (replace(run(), steps=()), run(batched=True), "a trace has no steps"),
    ],
)
def test_runs_that_cannot_be_compared_do_not_pass(scalar, batched, missing):
    verdict = judge_pair(scalar, batched)
    assert verdict.outcome == "not-applicable"
    assert missing in verdict.message
