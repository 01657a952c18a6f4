"""Wrong models, each by one mistake that is easily made. ``BREAKS`` says which promise it breaks, and no other."""

from __future__ import annotations

from typing import Any

import torch

from spec_examples.model_check.examples.right import Right, embed


class IgnoresProgress(Right):
    """Takes each piece of a prompt for its beginning."""

    def prompt(self, input_ids: torch.Tensor, info: dict[str, Any]) -> torch.Tensor:
        """From token 0 on, whatever the progress."""
        return super().prompt(input_ids, {**info, "_omni_num_computed_tokens": 0})


class OneTokenIsDecode(Right):
    """Knows the flag, and all the same takes a row of one token for a decode step."""

    def preprocess(self, input_ids: torch.Tensor, input_embeds: Any, **info: Any) -> tuple[Any, ...]:
        """A one-token tail and a one-token prompt get the embedding of a generated token."""
        ids, embeds, update = super().preprocess(input_ids, input_embeds, **info)
        return ids, embed(input_ids) if input_ids.numel() == 1 else embeds, update


class PrefillAdvances(Right):
    """Counts a frame for each piece of a prompt after the first."""

    def replayed(self, input_ids: torch.Tensor, info: dict[str, Any]) -> int:
        """One too many after a cut."""
        return super().replayed(input_ids, info) + (info["_omni_num_computed_tokens"] > 0)


class BatchTakesFirst(Right):
    """Reads the state of the first entry for all rows of the batched hook."""

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """All rows get the frame of the first."""
        return super().preprocess_decode_batch(input_ids, [req_infos[0]] * len(req_infos))


class LongSpanIsPrompt(Right):
    """Takes a decode row of several tokens for a prompt, and pads what the prompt does not have."""

    def preprocess(self, input_ids: torch.Tensor, input_embeds: Any, **info: Any) -> tuple[Any, ...]:
        """A verified draft and a replayed piece become padding."""
        ids, embeds, update = super().preprocess(input_ids, input_embeds, **info)
        is_long_decode = input_ids.numel() > 1 and not info["_omni_is_prefill"]
        return ids, embed([-7] * input_ids.numel()) if is_long_decode else embeds, update


class CountsItself(Right):
    """Keeps its place in the prompt in its own state, which a preemption does not take back."""

    def preprocess(self, input_ids: torch.Tensor, input_embeds: Any, **info: Any) -> tuple[Any, ...]:
        """Right until the prompt comes back; then it is past its end."""
        if not info["_omni_is_prefill"]:
            return super().preprocess(input_ids, input_embeds, **info)
        begin = info.get("offset", 0)
        ids, _, update = super().preprocess(input_ids, input_embeds, **info)
        embeds = self.prompt(input_ids, {**info, "_omni_num_computed_tokens": begin})
        return ids, embeds, {**update, "offset": begin + input_ids.numel()}


class EndsAtPrompt(Right):
    """Has no embeddings for what stands behind the prompt in a resumed row."""

    def prompt(self, input_ids: torch.Tensor, info: dict[str, Any]) -> torch.Tensor:
        """Too few rows: the runner keeps for the others what its buffer held."""
        return super().prompt(input_ids, info)[: info["_omni_prompt_len"] - info["_omni_num_computed_tokens"]]


class SharedFrame(Right):
    """Keeps the frame on the model, one for all requests."""

    latest = 0

    def replayed(self, input_ids: torch.Tensor, info: dict[str, Any]) -> int:
        """A prompt resets everybody's frame."""
        self.latest = super().replayed(input_ids, info)
        return self.latest

    def frame(self, info: dict[str, Any]) -> int:
        """Everybody's steps count."""
        self.latest += 1
        return self.latest - 1


class KeepsFinished(Right):
    """Keeps the frame by request, and never forgets one that has ended."""

    def __init__(self, *, vllm_config: Any = None, prefix: str = "") -> None:
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        self.frames: dict[str, int] = {}

    def frame(self, info: dict[str, Any]) -> int:
        """Goes on where an earlier request of the same name ended."""
        request = str(info.get("request_id", info.get("req_id")))
        self.frames[request] = self.frames.get(request, 0) + 1
        return self.frames[request] - 1


class WritesTheFlag(Right):
    """Says in its update that the prompt is over."""

    def preprocess(self, input_ids: torch.Tensor, input_embeds: Any, **info: Any) -> tuple[Any, ...]:
        """With a value of its own for the runner's key."""
        ids, embeds, update = super().preprocess(input_ids, input_embeds, **info)
        return ids, embeds, {**update, "_omni_is_prefill": False}


class KnowsReqId(Right):
    """Asks for ``req_id``, which the shared runner does not pass."""

    request = "req_id"

    def preprocess(self, input_ids: torch.Tensor, input_embeds: Any, **info: Any) -> tuple[Any, ...]:
        """A ``KeyError`` on the other runner."""
        info[self.request]
        return super().preprocess(input_ids, input_embeds, **info)


class KnowsRequestId(KnowsReqId):
    """Asks for ``request_id``, which Model Runner V2 does not pass."""

    request = "request_id"


class Guesses(Right):
    """Falls back to the span where the flag is missing, and says nothing."""

    def preprocess(self, input_ids: torch.Tensor, input_embeds: Any, **info: Any) -> tuple[Any, ...]:
        """What the fields would have said is made up."""
        span = input_ids.numel()
        guess = {"_omni_is_prefill": span > 1, "_omni_num_computed_tokens": 0, "_omni_prompt_len": span, "frame": 0}
        return super().preprocess(input_ids, input_embeds, **{**guess, **info})


class WrongType(Right):
    """Returns embeddings in another type than the runner's buffer has."""

    def preprocess(self, input_ids: torch.Tensor, input_embeds: Any, **info: Any) -> tuple[Any, ...]:
        """In double precision; the runner rounds them as it copies them."""
        ids, embeds, update = super().preprocess(input_ids, input_embeds, **info)
        return ids, embeds.double(), update


BREAKS: dict[str, dict[str, tuple[str, ...]]] = {
    "IgnoresProgress": {"ar": ("MODEL-1",), "v2": ("MODEL-1",)},
    "OneTokenIsDecode": {"ar": ("MODEL-2",), "v2": ("MODEL-2",)},
    "PrefillAdvances": {"ar": ("MODEL-3",), "v2": ("MODEL-3",)},
    "BatchTakesFirst": {"ar": ("MODEL-4",), "v2": ("MODEL-4",)},
    "LongSpanIsPrompt": {"ar": ("MODEL-5",), "v2": ("MODEL-5",)},
    # Model Runner V2 forgets a request's state when it is preempted, and a count in it with it.
    "CountsItself": {"ar": ("MODEL-6",), "v2": ()},
    "EndsAtPrompt": {"ar": ("MODEL-6",), "v2": ("MODEL-6",)},
    "SharedFrame": {"ar": ("MODEL-7",), "v2": ("MODEL-7",)},
    "KeepsFinished": {"ar": ("MODEL-7",), "v2": ("MODEL-7",)},
    "WritesTheFlag": {"ar": ("MODEL-8",), "v2": ("MODEL-8",)},
    "KnowsReqId": {"ar": ("MODEL-8",), "v2": ()},
    "KnowsRequestId": {"ar": (), "v2": ("MODEL-8",)},
    "Guesses": {"ar": ("MODEL-9",), "v2": ("MODEL-9",)},
    "WrongType": {"ar": ("MODEL-9",), "v2": ("MODEL-9",)},
}
"""By class and runner: the promises that it breaks there, and no others."""
