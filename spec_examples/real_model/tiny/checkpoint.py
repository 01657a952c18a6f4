"""The checkpoint folder: two configurations, a byte tokenizer, and the weights. Names are those of the published one.

The sizes are the smallest that vLLM-Omni 0.30.0 takes on a CPU: its attention wants heads of at least 32.
"""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

CODEBOOKS = 4
CODES = 64
"""Codes in each codebook, ids from 0."""

HIDDEN = 64
TEXT_HIDDEN = 32
BYTES = 256
"""The tokenizer's ids below this are bytes."""

IM_START, IM_END, ASSISTANT, TTS_PAD, TTS_BOS, TTS_EOS = range(BYTES, BYTES + 6)
EOS = 70
"""The talker's own end of speech; it is made to lose every greedy choice, so that a run has the length asked for."""

SAMPLE_RATE = 24_000
MAX_POSITIONS = 4096

SPEAKER, LANGUAGE = "vivian", "english"

_BLOCK = {
    "hidden_size": HIDDEN,
    "intermediate_size": 2 * HIDDEN,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": MAX_POSITIONS,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1_000_000,
    "num_code_groups": CODEBOOKS,
}

TALKER: dict[str, Any] = _BLOCK | {
    "vocab_size": 96,
    "num_hidden_layers": 2,
    "hidden_act": "silu",
    "rope_scaling": {"interleaved": True, "mrope_section": [6, 5, 5], "rope_type": "default", "type": "default"},
    "text_hidden_size": TEXT_HIDDEN,
    "text_vocab_size": TTS_EOS + 1,
    "position_id_per_seconds": 13,
    "codec_pad_id": 68,
    "codec_bos_id": 69,
    "codec_eos_token_id": EOS,
    "codec_think_id": 74,
    "codec_nothink_id": 75,
    "codec_think_bos_id": 76,
    "codec_think_eos_id": 77,
    "spk_id": {SPEAKER: 80},
    "spk_is_dialect": {SPEAKER: False},
    "codec_language_id": {LANGUAGE: 85},
    "code_predictor_config": _BLOCK | {"vocab_size": CODES, "num_hidden_layers": 1},
}

MODEL: dict[str, Any] = {
    "architectures": ["Qwen3TTSForConditionalGeneration"],
    "model_type": "qwen3_tts",
    "tokenizer_type": "qwen3_tts_tokenizer_12hz",
    "tts_model_size": "tiny",
    "tts_model_type": "custom_voice",
    "torch_dtype": "bfloat16",
    "im_start_token_id": IM_START,
    "im_end_token_id": IM_END,
    "tts_pad_token_id": TTS_PAD,
    "tts_bos_token_id": TTS_BOS,
    "tts_eos_token_id": TTS_EOS,
    "speaker_encoder_config": {
        "mel_dim": 128,
        "enc_dim": HIDDEN,
        "enc_channels": [16, 16, 16, 16, 48],
        "enc_kernel_sizes": [5, 3, 3, 3, 1],
        "enc_dilations": [1, 2, 3, 4, 1],
        "enc_attention_channels": 8,
        "enc_res2net_scale": 8,
        "enc_se_channels": 8,
        "sample_rate": SAMPLE_RATE,
    },
    "talker_config": TALKER,
}

SPEECH_TOKENIZER: dict[str, Any] = {
    "model_type": "qwen3_tts_tokenizer_12hz",
    "architectures": ["Qwen3TTSTokenizerV2Model"],
    "encoder_valid_num_quantizers": CODEBOOKS,
    "input_sample_rate": SAMPLE_RATE,
    "output_sample_rate": SAMPLE_RATE,
    "decode_upsample_rate": 1920,
    "encode_downsample_rate": 1920,
    "encoder_config": {
        "hidden_size": 32,
        "num_filters": 4,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "intermediate_size": 32,
        "codebook_size": CODES,
        "codebook_dim": 16,
        "vector_quantization_hidden_dimension": 16,
        "num_quantizers": CODEBOOKS,
        "num_semantic_quantizers": 1,
        "upsampling_ratios": [8, 6, 5, 4],
        "sampling_rate": SAMPLE_RATE,
        "audio_channels": 1,
        "upsample_groups": 32,
    },
    "decoder_config": {
        "codebook_size": CODES,
        "codebook_dim": 32,
        "hidden_size": 32,
        "latent_dim": 32,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_quantizers": CODEBOOKS,
        "upsample_rates": [8, 5, 4, 3],
        "upsampling_ratios": [2, 2],
        "decoder_dim": 64,
        "sliding_window": 72,
        "max_position_embeddings": 512,
    },
}

FEATURE_EXTRACTOR = {
    "feature_extractor_type": "EncodecFeatureExtractor",
    "feature_size": 1,
    "sampling_rate": SAMPLE_RATE,
    "padding_value": 0.0,
    "padding_side": "right",
    "return_attention_mask": True,
    "chunk_length_s": None,
    "overlap": None,
}

_FOLDERS: list[str] = []


def folders() -> list[str]:
    """Temporary folders made so far; the process removes them when it ends."""
    return _FOLDERS


@functools.cache
def checkpoint() -> str:
    """The folder of the whole checkpoint, made once a process."""
    from spec_examples.real_model.tiny import weights

    root = Path(tempfile.mkdtemp(prefix="phase-contract-qwen3-tts-"))
    _FOLDERS.append(str(root))
    speech = root / "speech_tokenizer"
    speech.mkdir()
    for file, content in (
        (root / "config.json", MODEL),
        (root / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512}),
        (speech / "config.json", SPEECH_TOKENIZER),
        (speech / "preprocessor_config.json", FEATURE_EXTRACTOR),
    ):
        file.write_text(json.dumps(content), encoding="utf-8")
    _byte_tokenizer().save(str(root / "tokenizer.json"))
    weights.write(root)
    return str(root)


def _byte_tokenizer() -> Any:
    """One token a byte, the special tokens of the prompt, and ``assistant``, which has to be a token of its own."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers  # type: ignore[import-untyped]

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={byte: number for number, byte in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("assistant", normalized=False)])
    tokenizer.add_special_tokens(["<tts_pad>", "<tts_text_bos>", "<tts_text_eod>"])
    return tokenizer
