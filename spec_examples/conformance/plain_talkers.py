"""Talkers for vLLM's own runner in a control: they continue their text without any hook of vLLM-Omni.

vLLM's runner looks embeddings up by token id. The stub's continue from the embedding that their hook returned, so here
the looked-up embedding carries the id at the same place.
"""

from __future__ import annotations

from typing import Any

import torch

from spec_examples.talker import HIDDEN, ScalarTalkerWithoutMtp
from spec_examples.variants import RepeatingScalarTalker

TOKEN_ID = 4
"""The index of the token id in an embedding of the stub."""


class Counting(ScalarTalkerWithoutMtp):
    """After a request's position p comes its position p + 1."""

    def embed_input_ids(self, input_ids: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """``[n, HIDDEN]``: zeros, but for the token id."""
        rows = torch.zeros(input_ids.numel(), HIDDEN)
        rows[:, TOKEN_ID] = input_ids.reshape(-1).to(rows.dtype)
        return rows


class Repeating(Counting, RepeatingScalarTalker):
    """The text repeats, so that drafts by n-grams are accepted."""
