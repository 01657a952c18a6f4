"""Talkers that a story needs beside the stub. Runs inside a target's process only."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from spec_examples.scenario import MAX_LEN
from spec_examples.talker import VOCAB, ScalarTalker

CYCLE = 4
"""Tokens after which the generated text begins again: what n-grams can draft."""

BREAKS = (11, 18)
"""Positions at which another token stands than the cycle has: a draft that reaches one is rejected there."""


class Repeating(ScalarTalker):
    """A talker whose text repeats ``CYCLE`` tokens, apart from ``BREAKS``, given a prompt that does so too.

    The last value of a hidden state is the position that it was computed for; the embeddings are the stub's.
    """

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        positions: torch.Tensor | None = None,
        intermediate_tensors: Any = None,
        inputs_embeds: torch.Tensor | None = None,
        **rest: Any,
    ) -> torch.Tensor:
        """The embeddings ``[tokens, HIDDEN]`` with each one's position in the last column."""
        hidden = super().forward(input_ids, positions, intermediate_tensors, inputs_embeds, **rest).clone()
        if positions is not None:
            hidden[:, -1] = positions[: hidden.shape[0]].to(hidden.dtype)
        return hidden

    def compute_logits(self, hidden_states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """``[rows, VOCAB]``: the request's token that belongs at the next position."""
        first = 1 + (hidden_states[:, 4].long() - 1) // MAX_LEN * MAX_LEN
        position = hidden_states[:, -1].long() + 1
        breaks = torch.isin(position, torch.tensor(BREAKS))
        token = torch.where(breaks, first + MAX_LEN - 1, first + position % CYCLE)
        return nn.functional.one_hot(token.clamp(max=VOCAB - 1), VOCAB).float()


SKIPS = (8, 13)
"""Positions at which the text leaves out a token: a draft that counts on is rejected there."""


class Skipping(Repeating):
    """A talker whose text counts on as the stub's does, and leaves out a token at each of ``SKIPS``."""

    def compute_logits(self, hidden_states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """``[rows, VOCAB]``: the token after the last one, or the one after that."""
        position = hidden_states[:, -1].long() + 1
        token = hidden_states[:, 4].long() + 1 + torch.isin(position, torch.tensor(SKIPS)).long()
        return nn.functional.one_hot(token.clamp(max=VOCAB - 1), VOCAB).float()


class TooFew(ScalarTalker):
    """A talker whose hook leaves out the last token of a row."""

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """``n`` tokens in, ``n - 1`` out."""
        ids, embeds, update = super().preprocess(input_ids, input_embeds, **info)
        return ids[:-1], embeds[:-1], update


class TooMany(ScalarTalker):
    """A talker whose hook returns everything twice."""

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """``n`` tokens in, ``2 n`` out."""
        ids, embeds, update = super().preprocess(input_ids, input_embeds, **info)
        return ids.repeat(2), embeds.repeat(2, 1), update


class NoRows(ScalarTalker):
    """A talker whose hook returns nothing."""

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """``n`` tokens in, none out."""
        ids, embeds, update = super().preprocess(input_ids, input_embeds, **info)
        return ids[:0], embeds[:0], update
