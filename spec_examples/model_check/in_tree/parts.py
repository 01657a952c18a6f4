"""An object of a published class, by its constructor or without it, and tables of random weights."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from vllm.config import set_current_vllm_config

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


def constructed(cls: type, vllm_config: Any, config: Any, text_config: Any = None) -> Any:
    """An object of ``cls`` as its own constructor builds it for the configuration ``config``, with random weights."""
    own = copy.copy(vllm_config)
    own.compilation_config = copy.copy(vllm_config.compilation_config)
    own.compilation_config.static_forward_context = {}
    own.model_config = copy.copy(vllm_config.model_config)
    own.model_config.hf_config = config
    own.model_config.hf_text_config = config if text_config is None else text_config
    with set_current_vllm_config(own):
        model: Any = cls(vllm_config=own)
    for parameter in model.parameters():  # some are allocated and never written by the constructor
        nn.init.uniform_(parameter, -0.5, 0.5)
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


class RowByRow(nn.Module):
    """A stand-in for a backbone, without attention: what comes of a token is its own embedding, mixed."""

    def __init__(self) -> None:
        super().__init__()
        self.mixed = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, inputs_embeds: torch.Tensor, **_: Any) -> torch.Tensor:
        """``[…, HIDDEN]``, as given."""
        return self.mixed(inputs_embeds).tanh()
