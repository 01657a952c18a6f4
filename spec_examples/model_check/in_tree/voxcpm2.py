"""The talker of VoxCPM2 as its own constructor builds it, from parts of random weights. A prompt is text alone.

Its decode state moves in ``forward``, so that is called. The two backbones have attention, and the parts around them
come with the package ``voxcpm`` and a checkpoint; there are stand-ins for both, of the same shapes.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch import nn
from vllm_omni.model_executor.models.voxcpm2 import voxcpm2_talker as voxcpm2
from vllm_omni.platforms import current_omni_platform

from spec_examples.model_check.in_tree.parts import VOCABULARY, Backbone, RowByRow, constructed
from spec_examples.talker import HIDDEN

PATCH, LATENT, SAMPLES = 2, 4, 3
"""Latent frames that are generated together, values of one, and samples that the decoder makes of one."""

BOS, AUDIO_START = 0, 1


class _Base(Backbone):
    """The base language model."""

    make_empty_intermediate_tensors = None

    def __init__(self, **_: Any) -> None:
        super().__init__()
        self.row_by_row = RowByRow()

    def forward(self, input_ids: Any, positions: Any, intermediate: Any, inputs_embeds: torch.Tensor) -> torch.Tensor:
        return self.row_by_row(inputs_embeds)


class _Residual(nn.Module):
    """The residual language model."""

    def __init__(self, **_: Any) -> None:
        super().__init__()
        self.row_by_row = RowByRow()

    def load_weights_from_native(self, native: Any) -> None:
        """It has its own."""

    def forward(self, positions: torch.Tensor, inputs_embeds: torch.Tensor) -> torch.Tensor:
        return self.row_by_row(inputs_embeds)


class _Features(nn.Module):
    """``[batch, patches, PATCH, LATENT]`` as ``[batch, patches, HIDDEN]``."""

    def __init__(self) -> None:
        super().__init__()
        self.projected = nn.Linear(PATCH * LATENT, HIDDEN)

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        return self.projected(patches.flatten(2))


class _Estimator(nn.Module):
    """The direction in which noise becomes a patch, ``[batch, LATENT, PATCH]``."""

    def __init__(self) -> None:
        super().__init__()
        self.projected = nn.Linear(2 * HIDDEN, LATENT)

    def forward(self, x: torch.Tensor, mu: torch.Tensor, t: Any, cond: torch.Tensor, dt: Any) -> torch.Tensor:
        return x - self.projected(mu)[:, :, None] - cond / 2


class _Vae(nn.Module):
    """Latent frames as samples."""

    latent_dim, out_sample_rate, decode_chunk_size = LATENT, 8000, SAMPLES

    def decode(self, latents: torch.Tensor, sr_cond: Any = None) -> torch.Tensor:
        """``[batch, 1, frames · SAMPLES]`` of ``[batch, LATENT, frames]``."""
        return latents.mean(1, keepdim=True).repeat_interleave(SAMPLES, dim=2)


class _Parts(nn.Module):
    """What ``voxcpm`` calls ``tts_model``."""

    patch_size, feat_dim, audio_start_token = PATCH, LATENT, AUDIO_START

    def __init__(self) -> None:
        super().__init__()
        self.base_lm, self.residual_lm = nn.Identity(), nn.Identity()
        self.fsq_layer = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.Tanh())
        self.fusion_concat_proj = nn.Linear(2 * HIDDEN, HIDDEN)
        self.stop_proj, self.stop_actn, self.stop_head = nn.Linear(HIDDEN, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, 2)
        self.lm_to_dit_proj, self.res_to_dit_proj = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.feat_encoder, self.enc_to_lm_proj = _Features(), nn.Linear(HIDDEN, HIDDEN)
        self.feat_decoder = nn.Module()
        self.feat_decoder.estimator = _Estimator()
        self.audio_vae = _Vae()
        self.text_tokenizer = SimpleNamespace(tokenizer=SimpleNamespace(get_vocab=dict))


class _Voxcpm:
    """The package's entry."""

    @staticmethod
    def from_pretrained(*_: Any, **__: Any) -> SimpleNamespace:
        return SimpleNamespace(tts_model=_Parts())


def build(vllm_config: Any) -> Any:
    """With the noise that the talker has for a run that is to be repeated."""
    config = SimpleNamespace(
        hidden_size=HIDDEN,
        vocab_size=VOCABULARY,
        bos_token_id=BOS,
        voxcpm2_runtime_config={"deterministic_cfm_noise": True},
    )
    type(current_omni_platform).supports_torch_inductor = classmethod(lambda cls: False)
    stand_ins = {
        "MiniCPM4PagedForVoxCPM2": _Base,
        "MiniCPM4PagedResidualLM": _Residual,
        "import_voxcpm2_core": lambda: _Voxcpm,
        "current_omni_platform": current_omni_platform,
    }
    with patch.multiple(voxcpm2, **stand_ins), patch("torch.accelerator.empty_cache"):
        return constructed(voxcpm2.VoxCPM2TalkerForConditionalGeneration, vllm_config, config)


def _information(request: str, prompt_len: int) -> dict[str, Any]:
    """Text for all of the prompt but its last token, which starts the audio."""
    return {"text_token_ids": [[2 + (7 * i + len(request)) % (VOCABULARY - 2) for i in range(prompt_len - 1)]]}


build.check_vocab_size = VOCABULARY  # type: ignore[attr-defined]
build.check_information = _information  # type: ignore[attr-defined]
build.check_forward = True  # type: ignore[attr-defined]
