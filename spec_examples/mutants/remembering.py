"""Two talkers that keep state in their updates, one through either hook: equal keywords come back, if it is stored."""

from __future__ import annotations

from typing import Any

import torch

from spec_examples.talker import BatchedTalker, ScalarTalker


class RememberingScalarTalker(ScalarTalker):
    """The scalar talker, which notes each of a request's hook calls in the request's own state."""

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker, with a note in the update."""
        ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
        return ids, rows, {**update, **_note(info)}


class RememberingBatchedTalker(RememberingScalarTalker, BatchedTalker):
    """The same through both hooks."""

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """As the batched talker, with a note in each update."""
        *result, _ = super().preprocess_decode_batch(input_ids, req_infos)
        return *result, [_note(info) for info in req_infos]


def _note(info: dict[str, Any]) -> dict[str, Any]:
    """A key of its own for each call and request, since what comes back is compared by its keys."""
    number = 1 + sum(key.startswith("call ") for key in info)
    return {f"call {number} of {info.get('request_id', info.get('req_id'))}": True}
