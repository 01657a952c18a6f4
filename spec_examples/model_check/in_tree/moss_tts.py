"""The three talkers of MOSS-TTS. Each request has reference codes for every token of its prompt."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from vllm_omni.model_executor.models.moss_tts import modeling_moss_tts_talker as moss
from vllm_omni.model_executor.models.moss_tts.modeling_moss_tts_local_depth import MossTTSLocalDepthTransformer

from spec_examples.model_check.in_tree.parts import VOCABULARY, Backbone, tables, without_backbone
from spec_examples.talker import HIDDEN

CODEBOOKS, CODES = 2, 16
IDS = {
    "audio_start_token_id": 1,
    "audio_end_token_id": 2,
    "audio_assistant_gen_slot_token_id": 3,
    "audio_assistant_delay_slot_token_id": 4,
}


def _information(request: str, prompt_len: int) -> dict[str, Any]:
    """Reference codes ``[prompt_len, CODEBOOKS]``, each row different from its neighbours."""
    codes = torch.arange(prompt_len * CODEBOOKS).reshape(prompt_len, CODEBOOKS) * 5 % CODES
    return {"codes": {"ref": codes}}


def delay(vllm_config: Any) -> Any:
    """``MossTTSDelayTalkerForGeneration``."""
    return without_backbone(
        moss.MossTTSDelayTalkerForGeneration,
        model=Backbone(),
        n_vq=CODEBOOKS,
        audio_vocab_size=CODES,
        audio_pad_code=CODES,
        audio_embeddings=tables(CODEBOOKS, CODES + 1),
        _stacked_audio_emb_w=None,
        gpu_resident_buffer_keys={("audio_codes", "current"), ("hidden_states", "last")},
        **IDS,
    )


def realtime(vllm_config: Any) -> Any:
    """``MossTTSRealtimeTalkerForGeneration``."""
    return without_backbone(
        moss.MossTTSRealtimeTalkerForGeneration,
        n_vq=CODEBOOKS,
        audio_vocab_size=CODES,
        audio_pad_token=0,
        embed_tokens=tables(1 + CODEBOOKS, VOCABULARY),
        _stacked_audio_emb_w=None,
        gpu_resident_buffer_keys={("audio_codes", "current"), ("hidden_states", "last")},
    )


def local(vllm_config: Any) -> Any:
    """``MossTTSLocalTalkerForGeneration``, with its depth transformer as MTP."""
    depth = SimpleNamespace(n_embd=HIDDEN, n_head=2, n_inner=16, layer_norm_epsilon=1e-5, rope_base=1e6)
    model = without_backbone(
        moss.MossTTSLocalTalkerForGeneration,
        model=Backbone(),
        hidden_size=HIDDEN,
        mtp_hidden_size=HIDDEN,
        n_vq=CODEBOOKS,
        audio_vocab_size=CODES,
        audio_pad_token_id=CODES,
        audio_embeddings=tables(CODEBOOKS, CODES),
        audio_lm_heads=nn.ModuleList([nn.Linear(HIDDEN, CODES, bias=False) for _ in range(CODEBOOKS)]),
        local_text_lm_head=nn.Linear(HIDDEN, 2, bias=False),
        local_transformer=MossTTSLocalDepthTransformer(depth, hidden_size=HIDDEN),
        _stacked_audio_emb_w=None,
        talker_mtp_graph_safe=False,
        talker_mtp_output_key=("audio_codes", "current"),
        gpu_resident_buffer_keys={("audio_codes", "current"), ("hidden_states", "last")},
    )
    model.local_transformer._compiled_forward_prefix = model.local_transformer._forward_prefix
    return model


for factory in (delay, realtime, local):
    factory.check_vocab_size = VOCABULARY  # type: ignore[attr-defined]
    factory.check_information = _information  # type: ignore[attr-defined]
