"""Right models: one with both hooks and MTP, its variants, and one under Model Runner V2's own names.

An embedding is one value, repeated: 100 + position for a token of the prompt, the token's id for a generated one. The
state is the number of the frame that is spoken; it goes out in the update and comes back as a keyword.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from spec_examples.talker import HIDDEN, VOCAB

WIDTH = HIDDEN


class Plain(nn.Module):
    """What vLLM asks of any model beside the hooks."""

    has_preprocess = True
    has_postprocess = False
    have_multimodal_outputs = True

    def __init__(self, *, vllm_config: Any = None, prefix: str = "") -> None:
        super().__init__()

    def embed_input_ids(self, input_ids: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """``[tokens, WIDTH]``: the ids themselves."""
        return embed(input_ids)

    def forward(
        self, input_ids: Any = None, positions: Any = None, *_: Any, inputs_embeds: Any = None, **__: Any
    ) -> Any:
        """The embeddings themselves, ``[tokens, WIDTH]``."""
        return inputs_embeds

    def compute_logits(self, hidden_states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """``[rows, VOCAB]``: the token after the value of the embedding."""
        following = (hidden_states[:, 0].abs().long() + 1) % VOCAB
        return nn.functional.one_hot(following, VOCAB).to(hidden_states.dtype)

    def load_weights(self, weights: Any) -> set[str]:
        """There are none."""
        return set()


class Right(Plain):
    """Both hooks and MTP, under the shared runner's names; Model Runner V2 takes them too."""

    mtp_hidden_size = WIDTH

    def preprocess(self, input_ids: torch.Tensor, input_embeds: Any, **info: Any) -> tuple[Any, ...]:
        """Prompt rows from the row's progress on; decode rows from their ids, with the frame that comes next."""
        if info["_omni_is_prefill"]:
            return input_ids, self.prompt(input_ids, info), {"frame": self.replayed(input_ids, info)}
        frame = self.frame(info) + input_ids.numel()
        embeds, update = embed(input_ids), {"frame": frame}
        if input_ids.numel() == 1 and self.talker_mtp is not None:
            update["mtp_inputs"] = embeds, embed([frame])
        return input_ids, embeds, update

    def prompt(self, input_ids: torch.Tensor, info: dict[str, Any]) -> torch.Tensor:
        """``[span, WIDTH]``: the scheduled slice of the prompt, and what was generated where a row reaches past it."""
        start, prompt_len = info["_omni_num_computed_tokens"], info["_omni_prompt_len"]
        part = embed(range(100 + start, 100 + min(start + input_ids.numel(), prompt_len)))
        return torch.cat([part, embed(input_ids[len(part) :])])

    def replayed(self, input_ids: torch.Tensor, info: dict[str, Any]) -> int:
        """The frame after a prefill row: none, or as many as generated tokens stand in it."""
        return max(0, info["_omni_num_computed_tokens"] + input_ids.numel() - info["_omni_prompt_len"])

    def frame(self, info: dict[str, Any]) -> int:
        """The frame that was spoken last."""
        return int(info["frame"])

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """The same for all decode rows at once."""
        frames = [self.frame(info) + 1 for info in req_infos]
        embeds = embed(input_ids)
        return input_ids, embeds, embeds, embed(frames), [{"frame": frame} for frame in frames]

    def talker_mtp(self, input_ids: Any, embeds: Any, hidden: Any, text: Any, **options: Any) -> tuple[Any, Any]:
        """The embedding -1, -2, … and two codes of the frame."""
        frame = text[:, :1].long()
        return -text, torch.cat([frame, 10 * frame], dim=1)


def embed(values: Any) -> torch.Tensor:
    """``[len(values), WIDTH]`` of each value, repeated."""
    return torch.as_tensor(list(values), dtype=torch.float32).reshape(-1, 1).repeat(1, WIDTH)


class RightWithScalarHook(Right):
    """The scalar hook alone."""

    preprocess_decode_batch = None  # type: ignore[assignment]


class RightWithoutMtp(RightWithScalarHook):
    """Neither the batched hook nor MTP."""

    talker_mtp = None  # type: ignore[assignment]


class RightForV2(Plain):
    """The same under Model Runner V2's own names, and no others."""

    mtp_output_key = ("codes", "audio")
    mtp_disable_graph = True

    def __init__(self, *, vllm_config: Any = None, prefix: str = "") -> None:
        super().__init__()
        self.one = Right()

    def preprocess(self, input_ids: torch.Tensor, input_embeds: Any, **info: Any) -> tuple[Any, ...]:
        """As ``Right``."""
        return self.one.preprocess(input_ids, input_embeds, **info)

    def preprocess_decode_batch_mrv2(self, *, input_ids: Any, input_embeds: Any, req_infos: Any) -> tuple[Any, ...]:
        """As ``Right``."""
        return self.one.preprocess_decode_batch(input_ids, req_infos)

    def mtp(self, input_ids: Any, embeds: Any, hidden: Any, text: Any, **options: Any) -> tuple[Any, Any]:
        """As ``Right``."""
        return self.one.talker_mtp(input_ids, embeds, hidden, text)
