"""Random weights under the names of the published checkpoint, the same on every machine: one seed, drawn on the CPU.

Embeddings have a standard deviation of 1 and matrices 0.25, so that every row differs from every other and a greedy
choice is never near a tie. The talker's and the code predictor's names are written out; the speech tokenizer's are
those of vLLM-Omni's own modules.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from vllm_omni.model_executor.models.qwen3_tts.tokenizer_12hz.configuration_qwen3_tts_tokenizer_v2 import (
    Qwen3TTSTokenizerV2Config,
)
from vllm_omni.model_executor.models.qwen3_tts.tokenizer_12hz.modeling_qwen3_tts_tokenizer_v2 import (
    Qwen3TTSTokenizerV2Decoder,
    Qwen3TTSTokenizerV2Encoder,
)

from spec_examples.real_model.tiny.checkpoint import EOS, SPEECH_TOKENIZER, TALKER

SEED = 0
EMBEDDING_STD, MATRIX_STD, BIAS_STD = 1.0, 0.25, 0.1
GAIN = 0.8
"""Of each layer of the speech decoder: as loud as possible without clipping, so that a wrong code is heard."""

Shape = tuple[int, ...]


def write(root: Path) -> None:
    """``model.safetensors`` and ``speech_tokenizer/model.safetensors`` below ``root``."""
    generator = torch.Generator().manual_seed(SEED)
    talker = {name: _drawn(name, shape, generator) for name, shape in talker_shapes()}
    talker["talker.codec_head.weight"][EOS] = 0
    save_file(talker, str(root / "model.safetensors"))
    save_file(_speech_tokenizer(generator), str(root / "speech_tokenizer" / "model.safetensors"))


def talker_shapes() -> Iterator[tuple[str, Shape]]:
    """Name and shape of every tensor of the talker and its code predictor."""
    hidden, text = TALKER["hidden_size"], TALKER["text_hidden_size"]
    predictor = TALKER["code_predictor_config"]
    yield "talker.model.codec_embedding.weight", (TALKER["vocab_size"], hidden)
    yield "talker.model.text_embedding.weight", (TALKER["text_vocab_size"], text)
    for name, size in (("linear_fc1", text), ("linear_fc2", hidden)):
        yield f"talker.text_projection.{name}.weight", (size, text)
        yield f"talker.text_projection.{name}.bias", (size,)
    yield from _transformer("talker.model", TALKER)
    yield "talker.codec_head.weight", (TALKER["vocab_size"], hidden)
    yield from _transformer("talker.code_predictor.model", predictor)
    for group in range(TALKER["num_code_groups"] - 1):
        yield f"talker.code_predictor.model.codec_embedding.{group}.weight", (predictor["vocab_size"], hidden)
        yield f"talker.code_predictor.lm_head.{group}.weight", (predictor["vocab_size"], hidden)


def _transformer(prefix: str, config: dict[str, Any]) -> Iterator[tuple[str, Shape]]:
    hidden, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    for number in range(config["num_hidden_layers"]):
        layer = f"{prefix}.layers.{number}"
        yield f"{layer}.self_attn.q_proj.weight", (queries, hidden)
        yield f"{layer}.self_attn.k_proj.weight", (keys, hidden)
        yield f"{layer}.self_attn.v_proj.weight", (keys, hidden)
        yield f"{layer}.self_attn.o_proj.weight", (hidden, queries)
        yield f"{layer}.self_attn.q_norm.weight", (head,)
        yield f"{layer}.self_attn.k_norm.weight", (head,)
        yield f"{layer}.mlp.gate_proj.weight", (inner, hidden)
        yield f"{layer}.mlp.up_proj.weight", (inner, hidden)
        yield f"{layer}.mlp.down_proj.weight", (hidden, inner)
        yield f"{layer}.input_layernorm.weight", (hidden,)
        yield f"{layer}.post_attention_layernorm.weight", (hidden,)
    yield f"{prefix}.norm.weight", (hidden,)


def _drawn(name: str, shape: Shape, generator: torch.Generator) -> torch.Tensor:
    if "norm" in name:
        return torch.ones(shape)
    std = EMBEDDING_STD if "embedding" in name else BIAS_STD if name.endswith("bias") else MATRIX_STD
    return torch.randn(shape, generator=generator) * std


def _speech_tokenizer(generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Encoder and decoder as their modules are initialised, with what would make silence drawn anew.

    As initialised, codebooks are zero and matrices a fiftieth; the audio would be silent.
    """
    torch.manual_seed(SEED)
    kept = {name: value for name, value in SPEECH_TOKENIZER.items() if name != "model_type"}
    config = Qwen3TTSTokenizerV2Config(**kept)
    modules = {
        "encoder": Qwen3TTSTokenizerV2Encoder._from_config(config.encoder_config),
        "decoder": Qwen3TTSTokenizerV2Decoder._from_config(config.decoder_config),
    }
    tensors = {}
    for part, module in modules.items():
        for name, value in module.state_dict().items():
            value = value.float().contiguous().clone()
            if name.endswith("embedding_sum"):
                value = torch.randn(value.shape, generator=generator)
            elif part == "decoder" and value.ndim > 1:
                value = torch.randn(value.shape, generator=generator) / value[0].numel() ** 0.5 * GAIN
            elif part == "decoder" and name.startswith("upsample") and name.endswith("norm.weight"):
                value = torch.ones_like(value)
            tensors[f"{part}.{name}"] = value
    return tensors
