"""Model Runner V2 where the whole of it cannot run: its real preprocess step. Inside a target's process only.

The whole runner needs Triton and CUDA streams. The part that the contract is about does not: ``OmniModelState`` is
constructed for real, and its ``add_request``, ``prepare_inputs``, ``run_preprocess`` and ``remove_request`` are called
over the steps of a real schedule, or over forced rows, as ``OmniGPUModelRunner`` of V2 calls them. Everything around
that is a stand-in here: the order of the batch (vLLM's own function), the tokens of each request, ``forward`` after the
step, and greedy sampling.

Seen to work on vLLM-Omni 0.30.0rc1, 0.30.0, 0.31.0rc1 and 0.32.0rc1, the releases that have V2.
"""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from vllm.model_executor.model_loader.utils import initialize_model
from vllm.v1.worker.gpu.model_runner import sort_batch_req_ids
from vllm_omni.outputs import OmniModelRunnerOutput
from vllm_omni.worker_v2.model_states.omni_model_state import OmniModelState

from spec_examples.scenario import MAX_LEN


class PreprocessStep:
    """V2's preprocess step in the shape of a runner: ``execute_model`` takes the scheduler's output of one step."""

    label = "OmniModelState.run_preprocess"
    resumes_as_new = True
    producer, mtp_caller = (OmniModelState, "run_preprocess"), (OmniModelState, "_run_batched_mtp")

    def __init__(self, config: Any, device: torch.device) -> None:
        self.config, self.device = config, device
        slots = config.scheduler_config.max_num_seqs
        self.free = list(range(slots))
        self.slots: dict[str, int] = {}
        self.tokens: dict[str, list[int]] = {}
        self.prompt_len = np.zeros(slots, dtype=np.int32)
        self.prefill_len = np.zeros(slots, dtype=np.int32)
        self.computed = np.zeros(slots, dtype=np.int32)
        self.input_batch = SimpleNamespace(req_ids=[])

    def load_model(self) -> None:
        """The stub as vLLM's loader builds it, weights aside, and the real state around it."""
        self.model = initialize_model(self.config, model_config=self.config.model_config)
        self.state = OmniModelState(self.config, self.model, None, self.device)

    def initialize_kv_cache(self, _: Any) -> None:
        """The stub has no attention."""

    @property
    def has_talker_mtp(self) -> bool:
        """Whether the state has an MTP hook to call."""
        return hasattr(self.model, "mtp")

    @property
    def model_intermediate_buffer(self) -> dict[str, dict[str, Any]]:
        """Each request's intermediate state, by request."""
        buffers = self.state.intermediate_buffer
        return {request: buffers.buffers[slot] for request, slot in buffers.req_id_to_index.items()}

    def execute_model(self, output: Any) -> OmniModelRunnerOutput:
        """One step: requests come and go, the real preprocess step runs, ``forward`` sees what it left."""
        self._update_requests(output)
        if not output.total_num_scheduled_tokens:
            return OmniModelRunnerOutput(req_ids=[], req_id_to_index={})
        batch = self._batch(output.num_scheduled_tokens)
        self.input_batch.req_ids = batch.req_ids
        states = self._request_states()
        inputs = {"input_ids": batch.input_ids, "inputs_embeds": None, **self.state.prepare_inputs(batch, states)}
        self._run_preprocess(batch, inputs, states)
        hidden = self.model.forward(
            input_ids=inputs["input_ids"],
            positions=batch.positions,
            intermediate_tensors=None,
            inputs_embeds=inputs["inputs_embeds"],
        )
        return self._sample(batch, hidden)

    def _run_preprocess(self, batch: Any, inputs: dict[str, Any], states: Any) -> None:
        self.state.run_preprocess(batch, inputs, states)

    def _update_requests(self, output: Any) -> None:
        """As ``finish_requests``, ``add_requests`` and ``update_requests`` of vLLM's V2 runner."""
        for request in sorted(output.finished_req_ids | (output.preempted_req_ids or set())):
            self._remove(request)
        for new in output.scheduled_new_reqs:
            self._remove(new.req_id)
            slot = self.slots[new.req_id] = self.free.pop()
            prefill = new.prefill_token_ids or new.prompt_token_ids
            self.tokens[new.req_id] = list(prefill)
            self.prompt_len[slot], self.prefill_len[slot] = new.prompt_len, len(prefill)
            self.computed[slot] = new.num_computed_tokens
            self.state.add_request(slot, new)
        cached = output.scheduled_cached_reqs
        for request, computed in zip(cached.req_ids, cached.num_computed_tokens, strict=True):
            self.computed[self.slots[request]] = computed

    def _remove(self, request: str) -> None:
        if request in self.slots:
            self.state.remove_request(request)
            self.free.append(self.slots.pop(request))

    def _batch(self, spans: dict[str, int]) -> Any:
        """The fields of vLLM's ``InputBatch`` that the step reads, one row a request in V2's own order."""
        requests = sort_batch_req_ids(spans, {}, 1)
        slots = np.array([self.slots[request] for request in requests], dtype=np.intp)
        scheduled = np.array([spans[request] for request in requests], dtype=np.int32)
        starts = np.concatenate([[0], np.cumsum(scheduled)]).astype(np.int32)
        computed = self.computed[slots]
        prefill_computed = np.minimum(computed, self.prefill_len[slots])
        places = [
            (request, position)
            for request, begin, span in zip(requests, computed, scheduled, strict=True)
            for position in range(begin, begin + span)
        ]
        tokens = [self._token(request, position) for request, position in places]
        return SimpleNamespace(
            req_ids=requests,
            num_reqs=len(requests),
            num_tokens=len(tokens),
            num_tokens_after_padding=len(tokens),
            idx_mapping=torch.from_numpy(slots),
            idx_mapping_np=slots,
            num_scheduled_tokens=scheduled,
            query_start_loc=torch.from_numpy(starts),
            query_start_loc_np=starts,
            num_computed_tokens_np=computed,
            prefill_len_np=self.prefill_len[slots],
            num_computed_prefill_tokens_np=prefill_computed,
            is_prefilling_np=prefill_computed < self.prefill_len[slots],
            input_ids=torch.tensor(tokens, dtype=torch.int32),
            positions=torch.tensor([position for _, position in places]),
        )

    def _token(self, request: str, position: int) -> int:
        """Zero where a forced row lies beyond what is known."""
        known = self.tokens[request]
        return known[position] if position < len(known) else 0

    def _request_states(self) -> Any:
        """What the step reads of vLLM's ``RequestState``.

        Its ``num_computed_tokens`` lives on the device and cannot be indexed: the step takes progress from the batch.
        """
        return SimpleNamespace(
            prompt_len=SimpleNamespace(np=self.prompt_len),
            prefill_len=SimpleNamespace(np=self.prefill_len),
            num_computed_tokens=object(),
            num_computed_tokens_np=self.computed,
            num_computed_prefill_tokens=np.minimum(self.computed, self.prefill_len),
            req_id_to_index=self.slots,
        )

    def _sample(self, batch: Any, hidden: torch.Tensor) -> OmniModelRunnerOutput:
        """The likeliest token of each request that has come to the end of what is known of it."""
        logits = self.model.compute_logits(hidden[batch.query_start_loc_np[1:] - 1])
        sampled: list[list[int]] = []
        for i, request in enumerate(batch.req_ids):
            complete = batch.num_computed_tokens_np[i] + batch.num_scheduled_tokens[i] >= len(self.tokens[request])
            sampled.append([int(logits[i].argmax())] if complete else [])
            self.tokens[request] += sampled[-1]
            del self.tokens[request][MAX_LEN:]
        order = {request: i for i, request in enumerate(batch.req_ids)}
        return OmniModelRunnerOutput(req_ids=list(batch.req_ids), req_id_to_index=order, sampled_token_ids=sampled)

    @staticmethod
    def adapt(talker: type) -> type:
        """``talker`` under V2's names: each hook that it has under the shared runner's name only.

        It is applied to a recorded talker, so that what V2 calls is recorded under one name.
        """
        body: dict[str, Any] = {"__module__": __name__}
        if _has(talker, "talker_mtp") and not _has(talker, "mtp"):
            body["mtp"] = _mtp
        if _has(talker, "talker_mtp") or _has(talker, "mtp"):
            body["mtp_output_key"] = getattr(talker, "mtp_output_key", _output_key(talker))
            body["mtp_disable_graph"] = True
        if _has(talker, "preprocess_decode_batch") and not _has(talker, "preprocess_decode_batch_mrv2"):
            body["preprocess_decode_batch_mrv2"] = _preprocess_decode_batch
        if _has(talker, "preprocess_batch") and not _has(talker, "preprocess_batch_mrv2"):
            body["preprocess_batch_mrv2"] = _preprocess_batch
        return type(f"{talker.__name__}V2", (talker,), body)


class WithoutRequestStates(PreprocessStep):
    """The same step for a caller that hands no request states: it does not know any prompt length then.

    ``run_preprocess`` allows that; V2's own runner always hands them.
    """

    label = "OmniModelState.run_preprocess, no request states"

    def _run_preprocess(self, batch: Any, inputs: dict[str, Any], states: Any) -> None:
        self.state.run_preprocess(batch, inputs)


def _has(talker: type, hook: str) -> bool:
    return callable(getattr(talker, hook, None))


def _output_key(talker: type) -> Any:
    return getattr(talker, "talker_mtp_output_key", ("codes", "audio"))


def _mtp(self: Any, *inputs: torch.Tensor, **options: Any) -> Any:
    return self.talker_mtp(*inputs, **options)


def _preprocess_decode_batch(self: Any, *, input_ids: Any, input_embeds: Any, req_infos: list[dict[str, Any]]) -> Any:
    hook = self.preprocess_decode_batch
    known = {"input_embeds": input_embeds} if "input_embeds" in inspect.signature(hook).parameters else {}
    return hook(input_ids=input_ids, req_infos=req_infos, **known)


def _preprocess_batch(self: Any, *, req_infos: list[dict[str, Any]], device: torch.device) -> None:
    buffers = {str(info["req_id"]): info for info in req_infos}
    self.preprocess_batch(req_ids=list(buffers), model_intermediate_buffer=buffers, device=device)
