"""Talkers that a story needs beside the stub. Runs inside a target's process only."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from spec_examples.talker import VOCAB, ScalarTalker
from spec_examples.variants import RepeatingScalarTalker as Repeating

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
