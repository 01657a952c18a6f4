"""The whole runner as ``drive`` wants it. Inside a process of ``spec_examples.targets.whole_v2`` only.

Real, from vLLM-Omni and vLLM: the runner with its constructor, request states, input batch, preprocess step, MTP batch,
``forward``, sampler and asynchronous output, and the scheduler. Stand-ins are vLLM's own for a CPU
(``vllm.v1.worker.cpu.shm``: events, streams, pinned memory), and Triton's interpreter under its kernels. As for the
other runners the stub has no attention, so the one group of KV blocks has no layers.

Seen to work on vLLM-Omni 0.30.0rc1, 0.30.0, 0.31.0rc1 and 0.32.0rc1, the releases that have V2.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import torch

from spec_examples.targets import engine  # isort: skip  (it imports vLLM, with V2 switched off)

os.environ["VLLM_USE_V2_MODEL_RUNNER"] = "1"

import vllm.v1.worker.cpu.shm  # noqa: F401  (patches torch: has to come before vLLM's V2 runner)
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheGroupSpec
from vllm.v1.worker.cpu.model_runner import CPUModelRunner
from vllm_omni.worker_v2.model_states.omni_model_state import OmniModelState
from vllm_omni.worker_v2.omni_ar_model_runner import OmniARModelRunner

from spec_examples.targets.model_runner_v2 import PreprocessStep


class WholeRunner(OmniARModelRunner, CPUModelRunner):
    """``OmniARModelRunner`` of V2. Its talkers are adapted to V2's names as for the preprocess step alone."""

    label = "OmniARModelRunner of Model Runner V2"
    resumes_as_new = True
    producer, mtp_caller = (OmniModelState, "run_preprocess"), (OmniModelState, "_run_batched_mtp")
    adapt = staticmethod(PreprocessStep.adapt)

    def __init__(self, config: Any, device: torch.device) -> None:
        config.model_config.use_v2_model_runner = True
        self.input_batch: Any = SimpleNamespace(req_ids=[])
        super().__init__(config, device)

    def initialize_kv_cache(self, kv_cache_config: Any, *args: Any, **options: Any) -> None:
        """One group without layers: V2 keeps block tables by group, and wants to know where each token would go."""
        if not kv_cache_config.kv_cache_groups:
            kv_cache_config.kv_cache_groups = [KVCacheGroupSpec([], self._spec())]
        super().initialize_kv_cache(kv_cache_config, *args, **options)

    def _spec(self) -> FullAttentionSpec:
        cache = self.vllm_config.cache_config
        arguments = {"block_size": cache.block_size, "num_kv_heads": 1, "head_size": 8, "dtype": torch.float32}
        return FullAttentionSpec(**engine.accepted(FullAttentionSpec, arguments))

    def add_requests(self, scheduler_output: Any) -> None:
        """Forced rows come without blocks; V2 wants a list of them for each group."""
        for new in scheduler_output.scheduled_new_reqs:
            new.block_ids = new.block_ids or ([],)
        super().add_requests(scheduler_output)

    def prepare_inputs(self, *args: Any, **options: Any) -> Any:
        """The batch of this step, which V2 keeps only until it has sampled."""
        self.input_batch = super().prepare_inputs(*args, **options)
        return self.input_batch

    @property
    def has_talker_mtp(self) -> bool:
        """Whether the state has an MTP hook to call."""
        return hasattr(self.model, "mtp")

    @property
    def model_intermediate_buffer(self) -> dict[str, dict[str, Any]]:
        """Each request's intermediate state, by request."""
        buffers = self.model_state.intermediate_buffer
        return {request: buffers.buffers[slot] for request, slot in buffers.req_id_to_index.items()}
