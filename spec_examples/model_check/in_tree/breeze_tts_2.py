"""The talker of Breeze TTS 2 as its own constructor builds it. The prompt is text that the first batch hook encodes.

Its frames are made in ``make_omni_output``, so ``forward`` and that are called, with a stand-in for the paged backbone.
What it captures as CUDA graphs runs without them: the text encoder is a table here, the depth decoder is its own. The
constructor refuses chunked prefill, so it is told that there is none; the check cuts prompts all the same.
"""

from __future__ import annotations

import copy
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import torch
from torch import nn
from vllm_omni.model_executor.models.breeze_tts_2 import modeling_breeze as breeze
from vllm_omni.model_executor.models.breeze_tts_2.configuration_breeze import BreezeConfig

from spec_examples.model_check.in_tree.parts import VOCABULARY, RowByRow, constructed
from spec_examples.talker import HIDDEN

LAYER = {"num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": HIDDEN}
TINY = {"hidden_size": HIDDEN, "intermediate_size": 8, **LAYER}
ROPE: dict[str, Any] = {
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
    "factor": 8.0,
}
BUCKET, BATCHES = 32, range(1, 9)
"""How long the texts are that one graph of the text encoder takes, and how many it takes together."""


class _Backbone(nn.Module):
    """What the constructor takes for Qwen3."""

    def __init__(self, **_: Any) -> None:
        super().__init__()
        self.row_by_row, self.norm = RowByRow(), nn.LayerNorm(HIDDEN)

    def forward(self, input_ids: Any, positions: Any, intermediate: Any, inputs_embeds: torch.Tensor) -> torch.Tensor:
        return self.row_by_row(inputs_embeds)


class _TextEncoder(nn.Module):
    """A table for T5Gemma2."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.embedded = nn.Embedding(VOCABULARY, HIDDEN)

    def run_batch(self, prompts: list[torch.Tensor]) -> list[torch.Tensor]:
        """``[tokens, HIDDEN]`` for each prompt, as a captured graph gives them."""
        return [self.embedded(prompt) for prompt in prompts]


class _DepthDecoder(breeze.BreezeDepthDecoder):
    """The one that is published; frame by frame, where it would replay a graph."""

    def generate_frames(self, hidden: torch.Tensor, first: torch.Tensor, **options: Any) -> torch.Tensor:
        """``[requests, codebooks]``."""
        generators, _ = options.pop("generators"), options.pop("guidance_scale")
        rows = zip(hidden.split(1), first.split(1), generators, strict=True)
        return torch.cat([self.generate_frame(*row, generator=generator, **options) for *row, generator in rows])


def build(vllm_config: Any) -> Any:
    """With the numbers of codebooks and codes that the constructor insists on."""
    depth: dict[str, Any] = {
        **TINY,
        "vocab_size": 2051,
        "audio_embed_size": HIDDEN,
        "num_codebooks": 16,
        "rms_norm_eps": 1e-6,
    }
    depth |= {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, **ROPE}}
    config = BreezeConfig(
        backbone_config=TINY,
        depth_decoder_config=depth,
        text_encoder_config={**TINY, "vocab_size": VOCABULARY},
        audio_embed_size=HIDDEN,
        backbone_model_type="qwen3",
        text_encoder_proj_type="linear",
    )
    own = copy.copy(vllm_config)
    own.scheduler_config = copy.copy(vllm_config.scheduler_config)
    own.scheduler_config.enable_chunked_prefill = False
    own.cache_config = copy.copy(vllm_config.cache_config)
    own.cache_config.enable_prefix_caching = False
    own.model_config = copy.copy(vllm_config.model_config)
    own.model_config.async_chunk, own.model_config.quantization = True, None
    stand_ins = {
        "Qwen3Model": _Backbone,
        "T5Gemma2TextEncoder": _TextEncoder,
        "BreezeReferenceEncoder": lambda config: nn.Identity(),
        "BreezeDepthDecoder": _DepthDecoder,
    }
    with ExitStack() as stack:
        for name, stand_in in stand_ins.items():
            stack.enter_context(patch.object(breeze, name, stand_in))
        stack.enter_context(patch.object(type(own), "with_hf_config", lambda self, *_, **__: copy.deepcopy(self)))
        model = constructed(breeze.BreezeForConditionalGeneration, own, config)
    model._text_graphs = {(batch, BUCKET): model.text_encoder for batch in BATCHES}
    return model


def _information(request: str, prompt_len: int) -> dict[str, Any]:
    """As many ids of text as the prompt has tokens, and the most likely codes."""
    text = [(7 * i + len(request)) % VOCABULARY for i in range(prompt_len)]
    return {
        "breeze_prompt": {"target_ids": text, "role": "cond", "guidance_scale": 1.0},
        "breeze_sampling": {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "repetition_penalty": 1.0},
        "global_request_id": [request],
    }


build.check_vocab_size = VOCABULARY  # type: ignore[attr-defined]
build.check_information = _information  # type: ignore[attr-defined]
build.check_forward = True  # type: ignore[attr-defined]
