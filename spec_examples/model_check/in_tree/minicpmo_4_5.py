"""The talker of MiniCPM-o 4.5 as its own constructor builds it. The prompt comes from the thinker.

The stage's outer class, which hands its hook on to this one, does not import without torchvision. Nor does a module
that this constructor imports for the name of a type; there is a stand-in for it.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_omni_tts import MiniCPMO45OmniTTSForConditionalGeneration

from spec_examples.model_check.in_tree.parts import VOCABULARY, constructed
from spec_examples.scenario import MAX_LEN
from spec_examples.talker import HIDDEN

NEEDS_TORCHVISION = "vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_omni_llm"
TEXTS, BOUNDARY = 32, 2
"""Ids of text, and the embeddings that end each condition."""


def build(vllm_config: Any) -> Any:
    """All of it, with a backbone of one layer, which is not asked."""
    talker = SimpleNamespace(
        hidden_size=HIDDEN,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        max_position_embeddings=4 * MAX_LEN,
        num_text_tokens=TEXTS,
        audio_bos_token_id=1,
        text_eos_token_id=2,
        llm_dim=HIDDEN,
        num_audio_tokens=VOCABULARY + 1,
        num_vq=1,
    )
    own = SimpleNamespace(tts_config=talker)
    with patch.dict(sys.modules, {NEEDS_TORCHVISION: SimpleNamespace(MiniCPMOConfig=None)}):
        return constructed(MiniCPMO45OmniTTSForConditionalGeneration, vllm_config, own)


def _information(request: str, prompt_len: int) -> dict[str, Any]:
    """Text and hidden states of the thinker for the whole prompt, apart from the two embeddings that end it."""
    count = max(0, prompt_len - BOUNDARY)
    hidden = torch.arange(MAX_LEN * HIDDEN, dtype=torch.float32).reshape(MAX_LEN, HIDDEN).sin()[:count]
    return {"ids": {"tts": 3 + torch.arange(count) % (TEXTS - 3)}, "hidden_states": {"tts": hidden}}


build.check_vocab_size = VOCABULARY  # type: ignore[attr-defined]
build.check_information = _information  # type: ignore[attr-defined]
