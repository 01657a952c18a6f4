"""An object of a published class without its constructor, and tables of random weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from spec_examples.talker import HIDDEN

VOCABULARY = 64
"""Ids that a tiny talker knows."""


def without_backbone(cls: type, **attributes: Any) -> Any:
    """An object of ``cls`` that has ``attributes``, as its constructor would have set them, and nothing else."""
    model: Any = object.__new__(cls)
    nn.Module.__init__(model)
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def table(rows: int = VOCABULARY) -> nn.Embedding:
    """``[rows, HIDDEN]`` random embeddings."""
    return nn.Embedding(rows, HIDDEN)


def tables(count: int, rows: int) -> nn.ModuleList:
    """So many of them."""
    return nn.ModuleList([table(rows) for _ in range(count)])


class Backbone(nn.Module):
    """What is left of a language model: its table of embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = table()

    def embed_input_ids(self, input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
        """``[tokens, HIDDEN]``."""
        return self.embed_tokens(input_ids)
