"""The talker stage of Qwen2.5-Omni: the prompt comes from the thinker, and so does a vector for each decode step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from vllm_omni.model_executor.models.qwen2_5_omni.qwen2_5_omni import Qwen2_5OmniForConditionalGeneration

from spec_examples.model_check.in_tree.parts import VOCABULARY, Backbone, table, without_backbone
from spec_examples.scenario import MAX_LEN
from spec_examples.talker import HIDDEN


def build(vllm_config: Any) -> Any:
    """What ``talker_preprocess`` uses."""
    special = table(3).weight.detach()
    talker = Backbone()
    talker.config = SimpleNamespace(hidden_size=HIDDEN)
    model = without_backbone(
        Qwen2_5OmniForConditionalGeneration,
        has_preprocess=True,
        talker=talker,
        model=talker,
        model_stage="talker",
        voice_type="default",
        talker_config=SimpleNamespace(
            tts_codec_pad_token_id=1, tts_codec_start_token_id=2, tts_codec_mask_token_id=3, hidden_size=HIDDEN
        ),
        embed_text_bos_token=special[:1],
        embed_codec_pad_token=special[1:2],
        embed_codec_bos_token=special[2:3],
    )
    model.set_custom_preprocess(model.talker_preprocess)
    return model


def _information(request: str, prompt_len: int) -> dict[str, Any]:
    """A prompt of as many embeddings as the request has tokens, the last two of them the talker's own."""
    rows = torch.arange(MAX_LEN * HIDDEN, dtype=torch.float32).reshape(MAX_LEN, HIDDEN) / 100
    before = max(0, prompt_len - 2)
    return {
        "embed": {"prefill": rows[:before]},
        "hidden_states": {"output": -rows[:32]},
        "ids": {"prompt": list(range(before)), "output": list(range(32))},
    }


build.check_vocab_size = VOCABULARY  # type: ignore[attr-defined]
build.check_information = _information  # type: ignore[attr-defined]
build.check_embeds_first = True  # type: ignore[attr-defined]
