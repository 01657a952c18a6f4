"""What the comparison says of a pair of runs that differ in one thing. Plain data; no runner."""

from dataclasses import replace

import pytest

from spec_examples.real_model.comparison import RunsDiffer, findings, require_same
from spec_examples.real_model.experiments import StubExperiment
from spec_examples.real_model.run import Audio, Run
from spec_examples.scenario import Limits, Request, Scenario

PROMPT = 9


def stub(budget, hook="scalar"):
    return StubExperiment(Scenario(talker=hook, requests=(Request(PROMPT, 4),), limits=Limits(budget=budget)))


@pytest.fixture(scope="module")
def pair(laboratory):
    audio = {"a": Audio((0.0, 0.5, -0.5), 24_000)}
    return tuple(replace(laboratory.run(stub(budget)), audio=audio) for budget in (64, PROMPT - 1))


def with_step(run: Run, number: int, **changed) -> Run:
    steps = list(run.trace.steps)
    steps[number] = replace(steps[number], **changed)
    return replace(run, trace=replace(run.trace, steps=tuple(steps)))


def with_audio(run: Run, *samples: float) -> Run:
    return replace(run, audio={"a": Audio(samples, 24_000)})


def test_nothing_is_said_of_a_pair_that_keeps_the_contract(pair):
    assert findings(*pair) == ()


def test_a_run_crosses_a_process_boundary_as_json(pair):
    assert Run.from_json(pair[1].to_json()) == pair[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: with_audio(run), "a has no audio in the chunked run"),
        (lambda run: replace(run, audio=None), "a has no audio in the chunked run"),
        (lambda run: with_audio(run, 0.0, float("nan"), 0.0), "a has audio that is not finite in the chunked run"),
        (lambda run: with_audio(run, 0.0), "a has 1 samples of audio, and 3 in the unchunked run"),
        (
            lambda run: with_step(run, 2, sampled={"a": (1,)}),
            "token 1 of a is 1, and 11 in the unchunked run",
        ),
        (lambda run: with_step(run, 2, codes={"a": (7, 7)}), "codec frame 0 of a is (7, 7)"),
        (lambda run: replace(run, trace=replace(run.trace, error="KeyError: 'x'")), "ended early: KeyError: 'x'"),
    ],
    ids=["empty", "missing", "nan", "length", "token", "codes", "error"],
)
def test_each_difference_is_named(pair, change, said):
    whole, chunked = pair
    with pytest.raises(RunsDiffer) as told:
        require_same(whole, change(chunked))
    assert any(said in finding for finding in told.value.findings), told.value


def test_a_row_that_differs_is_named_with_its_place(pair):
    whole, chunked = pair
    row = (*chunked.trace.steps[1].forward[0][:-1], 0.25)
    (finding,) = [f for f in findings(whole, with_step(chunked, 1, forward=(row,))) if f.startswith("1 embedding")]
    assert "at position 8, in step 2, row (prompt 9, computed 8, span 1), prefill, one-token tail" in finding


def test_a_pair_without_a_tail_shows_nothing(laboratory, pair):
    found = findings(pair[0], replace(laboratory.run(stub(6)), audio=pair[0].audio))
    assert found == (
        "no one-token tail of a prompt was scheduled in the chunked run; its spans are {'a': [6, 3, 1, 1, 1]}",
    )


def test_a_pair_of_chunked_runs_shows_nothing(pair):
    assert any("the unchunked run is chunked as well" in finding for finding in findings(pair[1], pair[1]))


def test_a_pair_in_which_mtp_was_off_shows_nothing(pair):
    whole, chunked = (
        replace(run, trace=replace(run.trace, steps=tuple(replace(step, mtp=()) for step in run.trace.steps)))
        for run in pair
    )
    assert any("no row of the chunked run took MTP" in finding for finding in findings(whole, chunked))
