"""The talker of Qwen3-TTS as its own constructor builds it, from the tiny checkpoint, as wide as the stub.

It needs the environment of ``make e2e``: the class does not import beside a CPU build of torch.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from vllm.config import set_current_vllm_config
from vllm_omni.model_executor.models.qwen3_tts.configuration_qwen3_tts import Qwen3TTSConfig
from vllm_omni.model_executor.models.qwen3_tts.qwen3_tts_talker import Qwen3TTSTalkerForConditionalGeneration
from vllm_omni.platforms import current_omni_platform

from spec_examples.real_model.tiny import checkpoint as tiny
from spec_examples.talker import HIDDEN


def build(vllm_config: Any) -> Any:
    """All of it, backbone included, which is not asked; in single precision, as the check's runner is."""
    type(current_omni_platform).supports_torch_inductor = classmethod(lambda cls: False)
    narrow = {"hidden_size": HIDDEN}
    predictor = tiny.TALKER["code_predictor_config"] | narrow
    talker = tiny.TALKER | narrow | {"code_predictor_config": predictor}
    config = Qwen3TTSConfig(**(tiny.MODEL | {"talker_config": talker}))
    own = copy.copy(vllm_config)
    own.compilation_config = copy.copy(vllm_config.compilation_config)
    own.compilation_config.static_forward_context = {}
    own.model_config = copy.copy(vllm_config.model_config)
    own.model_config.hf_config, own.model_config.hf_text_config = config, config.talker_config
    own.model_config.model = tiny.checkpoint()
    with set_current_vllm_config(own):
        model = Qwen3TTSTalkerForConditionalGeneration(vllm_config=own)
    model.float()
    model._embedding_dtype = torch.float32
    for parameter in model.parameters():  # some are allocated and never written by the constructor
        torch.nn.init.uniform_(parameter, -0.5, 0.5)
    model._init_runtime_buffers()
    return model


def _information(request: str, prompt_len: int) -> dict[str, Any]:
    """A text that is long enough for the prompt's tokens, and the speaker."""
    text = (request + " says what it was asked to say, and a little more than that ")[:40]
    return {"text": [text], "speaker": [tiny.SPEAKER], "language": [tiny.LANGUAGE], "task_type": ["CustomVoice"]}


build.check_vocab_size = 64  # type: ignore[attr-defined]
build.check_information = _information  # type: ignore[attr-defined]
