"""The audio generation stage of Voxtral TTS: the first tokens of a prompt are a voice."""

from __future__ import annotations

from typing import Any

import torch
from vllm.model_executor.models.utils import _merge_multimodal_embeddings
from vllm_omni.model_executor.models.voxtral_tts.voxtral_tts import VoxtralTTSForConditionalGeneration

from spec_examples.model_check.in_tree.parts import VOCABULARY, Backbone, table, without_backbone

AUDIO, VOICE = 1, "voice"


class _AudioGeneration(Backbone):
    """Puts a voice at its place among the text, with vLLM's own function for it."""

    def embed_input_ids(self, input_ids: torch.Tensor, **voice: Any) -> torch.Tensor:
        """``[tokens, HIDDEN]``."""
        embeds = self.embed_tokens(input_ids)
        if voice.get("multimodal_embeddings") is None:
            return embeds
        return _merge_multimodal_embeddings(embeds, voice["multimodal_embeddings"], voice["is_multimodal"])


def build(vllm_config: Any) -> Any:
    """What ``tts_preprocess`` uses, with a voice of one embedding."""
    model = without_backbone(
        VoxtralTTSForConditionalGeneration,
        model_stage="audio_generation",
        has_preprocess=True,
        has_postprocess=True,
        model=_AudioGeneration(),
        _audio_token_id=AUDIO,
        voice_to_embedding={VOICE: table(1).weight.detach()},
    )
    model.set_custom_preprocess(model.tts_preprocess)
    model.set_custom_postprocess(model.tts_postprocess)
    return model


def _information(request: str, prompt_len: int) -> dict[str, Any]:
    return {"voice": [VOICE]}


def _tokens(request: str, position: int) -> int:
    """The voice first, then text."""
    return AUDIO if position == 0 else 2 + (position + len(request)) % (VOCABULARY - 2)


build.check_tokens = _tokens  # type: ignore[attr-defined]
build.check_information = _information  # type: ignore[attr-defined]
build.check_embeds_first = True  # type: ignore[attr-defined]
