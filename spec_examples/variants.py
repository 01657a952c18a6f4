"""Variants of the stub talker: each does or declares one thing that switches on something in a runner.

Apart from that they return what the stub returns. Each comes with the scalar hook alone, and with both hooks.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from spec_examples.scenario import MAX_LEN, MAX_REQUESTS
from spec_examples.talker import VOCAB, BatchedTalker, ScalarTalker

RENAMED = VOCAB
"""What a renaming talker adds to each token id."""


class RenamingScalarTalker(ScalarTalker):
    """A talker that returns other token ids than it was given, as one with a vocabulary of its own does."""

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker; ids ``[n]`` out that no request has, int64 where the runner keeps int32."""
        ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
        return (ids + RENAMED).long(), rows, update


class RenamingBatchedTalker(RenamingScalarTalker, BatchedTalker):
    """The same through both hooks."""

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """As the batched talker; ids ``[n]`` out that no request has, int64 as well."""
        ids, *result = super().preprocess_decode_batch(input_ids, req_infos)
        return (ids + RENAMED).long(), *result


class CarefulScalarTalker(ScalarTalker):
    """A talker that offers MTP inputs for decode rows alone, as it has to where a runner ignores the phase."""

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker, without MTP inputs for a prefill row."""
        ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
        if info.get("_omni_is_prefill"):
            del update["mtp_inputs"]
        return ids, rows, update


class CarefulBatchedTalker(CarefulScalarTalker, BatchedTalker):
    """The same through both hooks."""


class _Declaring(ScalarTalker):
    """What a model may declare about MTP, under the names of the shared runner and of Model Runner V2.

    The codes are kept under another name than ``codes.audio``, and stay where they were made; MTP is told whose rows
    it takes and with which seeds. Releases before 0.24.0 tell it neither. MTP writes the codes of all steps into one
    buffer, as a captured graph does.
    """

    talker_mtp_output_key = mtp_output_key = ("frames", "latest")
    gpu_resident_buffer_keys = frozenset({("frames", "latest")})
    talker_mtp_accepts_req_infos = mtp_accepts_req_infos = True
    talker_mtp_accepts_per_row_generators = mtp_accepts_per_row_generators = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.buffer = torch.zeros(MAX_REQUESTS, 2, dtype=torch.int64)

    def talker_mtp(
        self, input_ids: torch.Tensor, embeds: torch.Tensor, hidden: torch.Tensor, text: torch.Tensor, **_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """As the stub's, with codes ``[n, 2]`` that the next call overwrites."""
        returned, codes = super().talker_mtp(input_ids, embeds, hidden, text)
        self.buffer[: len(codes)] = codes
        return returned, self.buffer[: len(codes)]


class DeclaringScalarTalker(_Declaring):
    """Declared state and MTP that knows its rows, behind the scalar hook."""


class DeclaringBatchedTalker(_Declaring, BatchedTalker):
    """The same behind both hooks."""


class CapturedScalarTalker(ScalarTalker):
    """MTP may be captured as a graph, and then takes padded batches.

    There is no graph on a CPU; ``spec_examples.targets.stand_ins`` pads the batches.
    """

    talker_mtp_graph_safe = True


class CapturedBatchedTalker(CapturedScalarTalker, BatchedTalker):
    """The same behind both hooks."""


class NamingScalarTalker(ScalarTalker):
    """The codes are kept under another name, and handed on as any other value of the state."""

    talker_mtp_output_key = mtp_output_key = ("frames", "latest")


class NamingBatchedTalker(NamingScalarTalker, BatchedTalker):
    """The same behind both hooks."""


CYCLE = 4
"""Tokens after which the generated text begins again: what n-grams can draft."""

BREAKS = (11, 18)
"""Positions at which another token stands than the cycle has: a draft that reaches one is rejected there."""


class RepeatingScalarTalker(ScalarTalker):
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
        return nn.functional.one_hot(token.clamp(0, VOCAB - 1), VOCAB).float()


class RepeatingBatchedTalker(RepeatingScalarTalker, BatchedTalker):
    """The same through both hooks."""
