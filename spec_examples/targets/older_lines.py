"""What the oldest lines that are run lack of what they are run with. Inside a target's process only.

Seen to be needed by commits of the 0.17 line, with vLLM 0.17.1 and torch 2.13; later lines have both.
"""

from __future__ import annotations

import dataclasses
from typing import Any

OF_THE_PROCESSOR = ("_is_avx2_supported", "_is_avx512_supported", "_is_amx_tile_supported")
"""What vLLM 0.17 asks torch of the processor when it is imported, and torch no longer answers."""


def answer_for_torch() -> None:
    """Answer no to what vLLM asks of the processor: it chooses compiled kernels by it, and none is run here."""
    import torch

    for name in OF_THE_PROCESSOR:
        if not hasattr(torch._C._cpu, name):
            setattr(torch._C._cpu, name, lambda: False)


def convert_model_config() -> None:
    """Let ``OmniModelConfig`` be made of vLLM's configuration, as it can be since 0.18.0."""
    from vllm_omni.config.model import OmniModelConfig

    if not hasattr(OmniModelConfig, "from_vllm_model_config"):
        OmniModelConfig.from_vllm_model_config = classmethod(_converted)


def _converted(cls: Any, /, config: Any, **fields: Any) -> Any:
    """An instance with vLLM's values, the defaults of its own fields, and ``fields``; nothing is checked again."""
    made = object.__new__(cls)
    for each in dataclasses.fields(cls):
        if each.default is not dataclasses.MISSING:
            made.__dict__[each.name] = each.default
        elif each.default_factory is not dataclasses.MISSING:
            made.__dict__[each.name] = each.default_factory()
    made.__dict__.update(config.__dict__, **fields)
    made.hf_config.architectures = made.architectures
    return made
