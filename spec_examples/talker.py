"""The stub talker: the only part of a run that is not vLLM-Omni's own.

It is deterministic and makes every row that it returns different from every other, so that a swap of any two is
visible in values: an embedding says whether the hook or MTP made it, for which request, at which of the
request's hook calls, where in the span, and from which token. It offers MTP inputs on every row, so
that it is the runner's guard, not the model's restraint, that keeps prefill out of MTP.

One class serves all four names in ``spec_examples.scenario.STUB_TALKERS``.
"""

from __future__ import annotations

import zlib
from collections import Counter
from typing import Any

import torch
from torch import nn

from spec_examples.scenario import MAX_LEN, MAX_REQUESTS

HIDDEN = 8
"""Width of every embedding, in float32 values."""

VOCAB = 1 + MAX_REQUESTS * MAX_LEN
"""Token ids: 0 is unknown; request number n's position p is ``1 + n * MAX_LEN + p``."""

MTP_SEED = "tts_local_seed"
"""The name of a seed for MTP in a request's extra arguments, in vLLM-Omni's own talkers and shared runner."""

PREPROCESS, MTP, MTP_HIDDEN, MTP_TEXT = 1.0, 2.0, 3.0, 4.0
"""First value of an embedding: what made it."""


def token_id(request_number: int, position: int) -> int:
    """The token that stands at ``position`` of the ``request_number``-th request of a scenario."""
    return 1 + request_number * MAX_LEN + position


class ScalarTalker(nn.Module):
    """A talker with the per-row hook and MTP. Embeddings are float32, shape ``[rows, HIDDEN]``.

    ``embed_input_ids``, ``forward``, ``compute_logits`` and ``load_weights`` are what vLLM asks of any model; the
    hooks are what the contract is about.
    """

    has_preprocess = True
    has_postprocess = False
    have_multimodal_outputs = True
    mtp_hidden_size = HIDDEN
    gpu_resident_buffer_keys: frozenset[tuple[str, str]] = frozenset()

    @staticmethod
    def get_mtp_seed(sampling_params: Any) -> int | None:
        """The seed that a request has for MTP alone; Model Runner V2 asks the model for it."""
        return (getattr(sampling_params, "extra_args", None) or {}).get(MTP_SEED)

    def __init__(self, *, vllm_config: Any = None, prefix: str = "") -> None:
        super().__init__()
        self.hook_calls: Counter[str] = Counter()
        self.notes: dict[str, Any] = {}

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """One request's span of ``n`` tokens: ids ``[n]`` in; ids, embeddings ``[n, HIDDEN]`` and an update out."""
        rows = self._rows(PREPROCESS, input_ids, info)
        inputs = self._like(rows[-1:], MTP_HIDDEN), self._like(rows[-1:], MTP_TEXT)
        update = {"mtp_inputs": inputs, **self._note(rows[-1])}
        self.notes.clear()  # one dictionary serves all calls of this hook: a runner copies what is in it
        self.notes.update(update["notes"])
        return input_ids, rows, {**update, "notes": self.notes}

    def talker_mtp(
        self, input_ids: torch.Tensor, embeds: torch.Tensor, hidden: torch.Tensor, text: torch.Tensor, **_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """``n`` decode rows: MTP embeddings ``[n, HIDDEN]`` and codes ``[n, 2]`` (int64), made from all four inputs."""
        returned = torch.zeros_like(embeds)
        returned[:, 0] = MTP
        returned[:, 1:3] = embeds[:, 1:3]
        returned[:, 3] = hidden[:, 1]
        returned[:, 4] = embeds[:, 4]
        returned[:, 5] = text[:, 1]
        returned[:, 6] = hidden[:, 2] - text[:, 2]
        returned[:, 7] = input_ids.to(embeds.dtype)
        return returned, embeds[:, 1:3].to(torch.int64)

    @staticmethod
    def _note(row: torch.Tensor) -> dict[str, Any]:
        """State for the request, different at each of its hook calls: a number, and several values below one key.

        One of those is renewed at every third call only, and has to stay meanwhile. One is ``None`` at every other.
        """
        whose, call = row[1:3].long().tolist()
        notes = {"list": [whose, call], "tensor": row[1:3].clone(), f"third{call % 3}": whose * 1000 + call}
        notes["odd"] = call if call % 2 else None
        return {"noted": whose * 1000 + call, "notes": notes}

    def _rows(self, kind: float, input_ids: torch.Tensor, info: dict[str, Any]) -> torch.Tensor:
        """``[n, HIDDEN]``: kind, request, the request's hook calls so far, index in the span, token id."""
        request = str(info.get("request_id", info.get("req_id", "")))
        self.hook_calls[request] += 1
        rows = torch.zeros(input_ids.numel(), HIDDEN)
        rows[:, 0] = kind
        rows[:, 1] = zlib.crc32(request.encode()) % 65_521
        rows[:, 2] = self.hook_calls[request]
        rows[:, 3] = torch.arange(input_ids.numel())
        rows[:, 4] = input_ids.reshape(-1).to(rows.dtype)
        return rows

    @staticmethod
    def _like(rows: torch.Tensor, kind: float) -> torch.Tensor:
        """The same rows under another kind."""
        rows = rows.clone()
        rows[:, 0] = kind
        return rows

    def embed_input_ids(self, input_ids: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """Zeros: an embedding that the runner looked up itself is told from every other."""
        return torch.zeros(input_ids.numel(), HIDDEN)

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        positions: torch.Tensor | None = None,
        intermediate_tensors: Any = None,
        inputs_embeds: torch.Tensor | None = None,
        **_: Any,
    ) -> torch.Tensor:
        """The embeddings themselves, shape ``[tokens, HIDDEN]``."""
        return inputs_embeds if inputs_embeds is not None else self.embed_input_ids(input_ids)

    def compute_logits(self, hidden_states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """``[rows, VOCAB]``: after a request's position p comes the same request's position p + 1."""
        following = (hidden_states[:, 4].long() + 1).clamp(0, VOCAB - 1)
        return nn.functional.one_hot(following, VOCAB).float()

    def load_weights(self, weights: Any) -> set[str]:
        """There are none."""
        return set()


class BatchedTalker(ScalarTalker):
    """The same rows through ``preprocess_decode_batch`` as well: ids ``[n]`` and one mapping a row in."""

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """Ids ``[n]``, embeddings ``[n, HIDDEN]``, the two MTP inputs ``[n, HIDDEN]``, and one update a row.

        Without MTP the two MTP inputs are left out, as vLLM-Omni 0.30.0 and later expect it.
        """
        pairs = zip(input_ids.reshape(-1, 1), req_infos, strict=True)
        rows = torch.cat([self._rows(PREPROCESS, ids, info) for ids, info in pairs])
        updates = [self._note(row) for row in rows]
        if getattr(self, "talker_mtp", None) is None:
            return input_ids, rows, updates
        return input_ids, rows, self._like(rows, MTP_HIDDEN), self._like(rows, MTP_TEXT), updates


class ScalarTalkerWithoutMtp(ScalarTalker):
    """The scalar hook alone: the runner finds no ``talker_mtp``."""

    talker_mtp = None  # type: ignore[assignment]


class BatchedTalkerWithoutMtp(BatchedTalker):
    """Both per-row hooks, and no ``talker_mtp``."""

    talker_mtp = None  # type: ignore[assignment]


WRONG_KEYS = {"_omni_prompt_len": 99, "_omni_num_computed_tokens": 98, "_omni_is_prefill": "planted"}
"""What the overwriting talkers write over the runner's values."""


class OverwritingScalarTalker(ScalarTalker):
    """A talker that writes over the phase keys in every update that it returns."""

    def preprocess(
        self, input_ids: torch.Tensor, input_embeds: torch.Tensor | None, **info: Any
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
        """As the scalar talker, with wrong keys in the update."""
        ids, rows, update = super().preprocess(input_ids, input_embeds, **info)
        return ids, rows, {**update, **WRONG_KEYS}


class OverwritingBatchedTalker(BatchedTalker, OverwritingScalarTalker):
    """The same through both hooks, and in the mappings that the batched hook is given."""

    def preprocess_decode_batch(self, input_ids: torch.Tensor, req_infos: list[dict[str, Any]]) -> tuple[Any, ...]:
        """As the batched talker, with wrong keys in entries and updates."""
        *result, updates = super().preprocess_decode_batch(input_ids, req_infos)
        for info in req_infos:
            info.update(WRONG_KEYS)
        return *result, [{**update, **WRONG_KEYS} for update in updates]


class FillingTalker(BatchedTalker):
    """A talker that writes every other row of a step itself, where the runner lets it (since vLLM-Omni 0.32.0rc1).

    Elsewhere ``preprocess_batch`` is handed no buffers, and all of its rows go to the per-row hooks.
    """

    preprocess_batch_fills_rows = True

    def preprocess_batch(
        self, *, req_ids: list[str], model_intermediate_buffer: dict[str, Any], device: Any = None, **layout: Any
    ) -> list[str]:
        """Write the second, fourth, … row into ``inputs_embeds`` ``[tokens, HIDDEN]``; their requests out."""
        if "inputs_embeds" not in layout:
            return []
        filled = list(zip(req_ids, layout["token_offsets"], layout["num_scheduled_tokens"], strict=True))[1::2]
        for request, start, span in filled:
            ids = layout["input_ids"][start : start + span]
            layout["inputs_embeds"][start : start + span] = self._rows(PREPROCESS, ids, {"request_id": request})
        return [request for request, _, _ in filled]


STUBS = {
    "scalar": ScalarTalker,
    "batched": BatchedTalker,
    "scalar-no-mtp": ScalarTalkerWithoutMtp,
    "batched-no-mtp": BatchedTalkerWithoutMtp,
}
