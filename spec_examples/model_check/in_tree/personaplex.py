"""The talker of PersonaPlex, with its frame embeddings and its depformer. The prompt is a text that is forced."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from vllm_omni.model_executor.models.personaplex.configuration_personaplex import PersonaPlexConfig
from vllm_omni.model_executor.models.personaplex.personaplex_depformer import PersonaPlexDepformer
from vllm_omni.model_executor.models.personaplex.personaplex_embeddings import PersonaPlexInputEmbeddings
from vllm_omni.model_executor.models.personaplex.personaplex_talker import PersonaPlexTalkerForConditionalGeneration

from spec_examples.model_check.in_tree.parts import VOCABULARY, without_backbone
from spec_examples.scenario import MAX_LEN
from spec_examples.talker import HIDDEN

CODES = 16


def build(vllm_config: Any) -> Any:
    """Sixteen codebooks of sixteen codes, as wide as the stub."""
    depformer = {
        "hidden_size": HIDDEN,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "head_dim": HIDDEN // 2,
        "num_key_value_heads": 2,
        "intermediate_size": 16,
        "card": CODES,
    }
    config = PersonaPlexConfig(
        temporal_config={"hidden_size": HIDDEN},
        depformer_config=depformer,
        text_vocab_size=VOCABULARY,
        text_embedding_rows=VOCABULARY + 1,
        audio_vocab_size=CODES,
    )
    model = without_backbone(
        PersonaPlexTalkerForConditionalGeneration,
        config=config,
        _dtype=torch.float32,
        input_embeddings=PersonaPlexInputEmbeddings(config),
        depformer=PersonaPlexDepformer(config.depformer_config, temporal_hidden_size=HIDDEN, text_card=VOCABULARY),
        has_preprocess=True,
        has_postprocess=True,
        gpu_resident_buffer_keys={("hidden_states", "last")},
        mtp_hidden_size=HIDDEN,
        talker_mtp_output_key=("codes", "audio"),
        dep_q=config.depformer_config.dep_q,
        num_active_codebooks=config.depformer_config.num_active_codebooks,
    )
    for parameter in model.parameters():  # some are allocated and never written by the constructor
        nn.init.uniform_(parameter, -0.5, 0.5)
    return model


def _information(request: str, prompt_len: int) -> dict[str, Any]:
    """A forced text, and the user's codes of every frame."""
    text = 4 + torch.arange(prompt_len) * 7 % (VOCABULARY - 4)
    user = torch.arange(MAX_LEN * 8).reshape(MAX_LEN, 8) * 5 % CODES
    return {"pplex_prefill_text": text, "pplex_user_codes": user}


build.check_vocab_size = VOCABULARY  # type: ignore[attr-defined]
build.check_information = _information  # type: ignore[attr-defined]
