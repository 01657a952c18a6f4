"""The check of a model finds by itself what a preemption does to the real Qwen3-TTS, with tiny random weights."""

from dataclasses import asdict

import pytest

from spec_examples.model_check.in_tree.found import E2E_TALKERS, digest, found, recorded
from spec_examples.targets import Session, resolve

RECORD = "found-e2e"


@pytest.fixture(scope="module")
def verdicts(real_models):
    with Session() as session:
        return {talker.name: found(session, resolve(), talker) for talker in E2E_TALKERS}


def test_a_preemption_loses_the_prompt_of_qwen3_tts(verdicts):
    (lost,) = [verdict for verdict in verdicts["qwen3_tts"] if verdict.promise == "MODEL-6"]
    assert lost.outcome == "failed"
    assert "the embedding of token 0" in lost.message
    assert "from before the preemption" in lost.message


def test_qwen3_tts_embeds_a_cut_prompt_as_the_uncut_one(verdicts):
    kept = {verdict.promise for verdict in verdicts["qwen3_tts"] if verdict.outcome == "passed"}
    assert {"MODEL-1", "MODEL-2"} <= kept


def test_what_was_recorded_is_found_again(verdicts):
    record = recorded(RECORD)
    assert record["digest"] == digest(), "run .venv-e2e/bin/python -m spec_examples.model_check.in_tree.found e2e"
    assert {name: [asdict(verdict) for verdict in those] for name, those in verdicts.items()} == record["talkers"]
