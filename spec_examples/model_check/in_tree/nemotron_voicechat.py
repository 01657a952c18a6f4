"""The talker of Nemotron VoiceChat as its own constructor builds it, on its path that takes more than one request.

Its step moves in ``make_omni_output``, so ``forward`` and that are called, with a stand-in for the paged backbone.
What stands before the backbone, and the head that makes codes of its hidden states, are NeMo's own. A request's prompt
is the speaker's: each request here has a speaker whose prompt is as long as the request's.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from omegaconf import DictConfig
from torch import nn
from vllm_omni.model_executor.models.nemotron_voicechat.nemo_vendored.duplex_ear_tts import DuplexEARTTS
from vllm_omni.model_executor.models.nemotron_voicechat.nemo_vendored.ear_tts_model import RVQEARTTSModel
from vllm_omni.model_executor.models.nemotron_voicechat.nemotron_voicechat_talker import (
    NemotronVoiceChatTalkerForConditionalGeneration,
)

from spec_examples.model_check.in_tree.parts import VOCABULARY, RowByRow, constructed, table, without_backbone
from spec_examples.scenario import MAX_LEN
from spec_examples.talker import HIDDEN

CODEBOOKS, CODES, LATENT = 3, 16, 4
EOS = 2

EAR_TTS: dict[str, Any] = {
    "backbone_type": "gemma3_text",
    "backbone_config": {
        "hidden_size": HIDDEN,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": HIDDEN,
    },
    "latent_size": LATENT,
    "codebook_size": CODES,
    "num_quantizers": CODEBOOKS,
    "context_hidden_size": None,
    "cas_config": None,
    "random_target_masking": False,
    "use_gated_fusion_for_text_audio": True,
    "disable_eos_prediction": False,
    "exponent": 3.0,
    "mog_head_config": {"intermediate_size": 8, "num_layers": 1, "num_predictions": 4, "low_rank": 2},
}
"""NeMo's configuration, tiny."""


class _Subwords(nn.Module):
    """An embedding for each id of text: the one that is published reads characters, by a tokenizer of a checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded = table()

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.embedded(ids)


class _EarTts(DuplexEARTTS):
    """The part that NeMo has written; its constructor wants a tokenizer and a codec from a checkpoint."""

    prompt_len = 1

    def set_init_inputs(self, *_: Any, **__: Any) -> None:
        """A speaker's prompt of ``prompt_len``, which starts to speak with its last position."""
        length = self.prompt_len
        self._init_input_cache = {
            "code": (torch.arange(length * CODEBOOKS) * 5 % CODES).reshape(1, length, CODEBOOKS),
            "subword_ids": (3 + torch.arange(length) * 7 % (VOCABULARY - 3))[None],
            "subword_mask": torch.ones(1, length, dtype=torch.bool),
            "audio_mask": (torch.arange(length) == length - 1)[None],
        }

    @property
    def text_eos_id(self) -> int:
        """The id that a checkpoint's tokenizer would say."""
        return EOS


def build(vllm_config: Any) -> Any:
    """Codes are the most likely ones, without noise, so that two runs can be compared."""
    config = SimpleNamespace(
        talker_config=SimpleNamespace(hidden_size=HIDDEN, vocab_size=VOCABULARY),
        use_native_talker=True,
        tts_cfg={"tts_config": EAR_TTS},
    )
    backbone = patch("vllm.model_executor.models.utils.init_vllm_registered_model", lambda **_: RowByRow())
    with backbone:
        model = constructed(NemotronVoiceChatTalkerForConditionalGeneration, vllm_config, config)
    ear = RVQEARTTSModel(DictConfig(EAR_TTS))
    ear.embed_subword = _Subwords()
    ear.set_rvq_embs(torch.randn(CODEBOOKS, CODES, LATENT))
    model.tts = without_backbone(
        _EarTts,
        tts_model=ear,
        cfg=DictConfig({"inference_top_p_or_k": 1, "inference_noise_scale": 0.0}),
        codec_silence_tokens=torch.arange(CODEBOOKS),
    ).eval()
    return model


def _information(request: str, prompt_len: int) -> dict[str, Any]:
    """A text for all steps of any run."""
    _EarTts.prompt_len = prompt_len
    text = [(7 * i + len(request)) % VOCABULARY for i in range(MAX_LEN)]
    return {"nvc_text_timeline": text, "nvc_logical_prompt_len": prompt_len}


build.check_vocab_size = VOCABULARY  # type: ignore[attr-defined]
build.check_information = _information  # type: ignore[attr-defined]
build.check_forward = True  # type: ignore[attr-defined]
