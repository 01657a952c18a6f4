"""Compiled operations that a release calls although its compiled parts were left out. Inside a target's process only.

None of them has a part in what is judged here: they stand behind the boundary between runner and model. What only
drafts, or only asynchronous steps need is set up when a scenario first asks for it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

import torch


def register() -> None:
    """Give each operation that is missing a plain PyTorch form; one that is there stays."""
    if not hasattr(torch.ops._C, "greedy_argmax"):
        fragment = torch.library.Library("_C", "FRAGMENT")
        fragment.define("greedy_argmax(Tensor logits) -> Tensor")
        fragment.impl("greedy_argmax", _greedy_argmax, "CPU")
        _KEPT.append(fragment)


def _greedy_argmax(logits: torch.Tensor) -> torch.Tensor:
    """VLLM's greedy sampler on a CPU, since vLLM 0.32.0: the largest logit of each row, int64 ``[rows]``."""
    return logits.argmax(dim=-1).view(-1)


_KEPT: list[torch.library.Library] = []
"""An operation lives as long as its library object."""


@cache
def for_kv_groups() -> None:
    """Where each token's keys and values would be kept. A release whose compiled parts were left out cannot say.

    The rule is that of ``BlockTable.compute_slot_mapping``, seen on vLLM 0.20.0 to 0.32.0.
    """
    if hasattr(torch.ops._C, "compute_slot_mapping_kernel_impl"):
        return
    from vllm.v1.worker.block_table import BlockTable

    if "query_start_loc" not in inspect.signature(BlockTable.compute_slot_mapping).parameters:
        return  # vLLM 0.18.0 computes it with numpy

    def compute_slot_mapping(
        self: Any, num_reqs: int, query_start_loc: torch.Tensor, positions: torch.Tensor, *_: Any
    ) -> None:
        spans = query_start_loc[: num_reqs + 1].diff()
        row = torch.repeat_interleave(torch.arange(num_reqs), spans.long())
        at = positions[: len(row)].long()
        self.slot_mapping.gpu.fill_(-1)
        block = self.block_table.gpu[row, at // self.block_size].long()
        self.slot_mapping.gpu[: len(row)] = block * self.block_size + at % self.block_size

    BlockTable.compute_slot_mapping = compute_slot_mapping


@cache
def for_speculation() -> None:
    """What drafting by n-grams and verifying drafts needs on a CPU.

    numba compiles vLLM's n-gram search, which is plain Python without it. ``CPUModelRunner`` puts its own kernels under
    names that vLLM's rejection sampler no longer calls in 0.30.0; they are set where it does. A release whose compiled
    parts were left out verifies drafts in plain PyTorch.
    """
    if importlib.util.find_spec("numba") is None:
        sys.modules["numba"] = _numba()
    import vllm.v1.sample.rejection_sampler as sampler

    if not hasattr(torch.ops._C, "rejection_greedy_sample_kernel_impl"):
        sampler.rejection_sample = verify_greedily
        return

    with contextlib.suppress(ImportError):
        import vllm.utils.cpu_triton_utils as kernels

        for called, kernel in REJECTION_KERNELS.items():
            if hasattr(sampler, called) and hasattr(kernels, kernel):
                getattr(sampler, called).kernel = getattr(kernels, kernel)


def verify_greedily(
    draft_token_ids: torch.Tensor,
    num_draft_tokens: list[int],
    max_spec_len: int,
    cu_num_draft_tokens: torch.Tensor,
    draft_probs: torch.Tensor | None,
    target_logits: torch.Tensor,
    bonus_token_ids: torch.Tensor,
    *_: Any,
    **__: Any,
) -> torch.Tensor:
    """What each request keeps of its drafts, int32 ``[requests, max_spec_len + 1]``, with -1 behind it.

    The rule of ``rejection_sample`` where all sampling is greedy: drafts are kept up to the first that is not the
    likeliest token, which stands in its place; behind drafts that were all kept comes the bonus token.
    """
    kept = torch.full((len(num_draft_tokens), max_spec_len + 1), -1, dtype=torch.int32)
    likeliest, end = target_logits.argmax(dim=-1), 0
    for request, drafts in enumerate(num_draft_tokens):
        begin, end = end, end + drafts
        agree = (draft_token_ids[begin:end] == likeliest[begin:end]).long().cumprod(0)
        count = int(agree.sum())
        tokens = torch.cat([likeliest[begin:end], bonus_token_ids[request]])
        kept[request, : count + 1] = tokens[: count + 1]
    return kept


REJECTION_KERNELS = {
    "_rejection_greedy_sample": "rejection_greedy_sample_kernel",
    "_rejection_random_sample": "rejection_random_sample_kernel",
    "_expand": "expand_kernel",
    "_sample_recovered_tokens": "sample_recovered_tokens_kernel",
}
"""What vLLM 0.30.0's rejection sampler calls, and the kernel for a CPU in ``vllm.utils.cpu_triton_utils``."""


def _numba() -> ModuleType:
    """The names of numba that the n-gram search uses, doing nothing."""

    def decorate(*given: Any, **options: Any) -> Any:
        return given[0] if len(given) == 1 and callable(given[0]) and not options else lambda function: function

    module = ModuleType("numba")
    module.__dict__.update(
        jit=decorate, njit=decorate, prange=range, get_num_threads=lambda: 1, set_num_threads=lambda threads: None
    )
    return module


@cache
def for_async_steps() -> None:
    """CUDA events, streams and pinned memory, with which the runner hands tokens from one step to the next.

    On a CPU everything has happened when the call returns, so that there is nothing to wait for.
    """
    for name in ("zeros", "empty", "ones", "full"):
        setattr(torch, name, _without_pinned_memory(getattr(torch, name)))
    torch.Event = torch.cuda.Event = torch.cuda.Stream = Nothing
    torch.cuda.current_stream = lambda *_: Nothing()
    torch.cuda.stream = lambda _: contextlib.nullcontext()
    torch.cuda.set_device = lambda *_: None
    torch.Tensor.pin_memory = lambda tensor, *_: tensor


def draft_by_counting(runner: Any, drafts: int) -> None:
    """A draft model for asynchronous steps: after token t it drafts t + 1, t + 2, …, as the stub talker goes on.

    It stands where ``EagleProposer`` would; which drafts were accepted, and what that does to the counts of the runner,
    is the runner's own. Seen to work on vLLM-Omni 0.30.0.
    """
    from vllm.v1.spec_decode.eagle import EagleProposer

    class Counting(EagleProposer):
        kv_cache_gid = 0
        supports_mm_inputs = False

        def __init__(self) -> None:
            pass

    def propose(scheduled: Any, sampled: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        accepted = (sampled != -1).sum(dim=1)
        last = sampled.gather(1, (accepted - 1).clamp(min=0).unsqueeze(1)).squeeze(1)
        accepted.masked_fill_(runner.discard_request_mask.gpu[: len(accepted)], 0)
        runner._copy_valid_sampled_token_count(last.to(torch.int32), accepted.to(torch.int32))
        return (last.unsqueeze(1) + torch.arange(1, drafts + 1)).to(torch.int32)

    runner.drafter = Counting()
    runner.propose_draft_token_ids = propose
    object.__setattr__(runner.speculative_config, "use_eagle", lambda: True)
    object.__setattr__(runner.speculative_config, "disable_padded_drafter_batch", False)


CAPTURED = (2, 4, 8, 16)
"""Numbers of rows for which MTP is captured. A batch of another number is padded up to the next, one row too."""


def capture_mtp(runner: Any) -> None:
    """A captured graph around MTP, as the shared runner has it on a device for a ``talker_mtp_graph_safe`` model.

    What a graph does to a batch is here: it runs as many rows as it was captured with, and those behind the batch hold
    what the buffers held before. A graph itself needs a device. Seen to work on vLLM-Omni 0.22.0 to 0.32.0rc1.
    """
    from vllm.compilation.cuda_graph import CUDAGraphWrapper

    class Captured(CUDAGraphWrapper):
        def __init__(self, hook: Callable[..., Any]) -> None:
            self.runnable = hook

        def __call__(self, *tensors: Any, **options: Any) -> Any:
            return self.runnable(*tensors, **options)

    recording = runner.model.recording
    determine, forward = runner._determine_batch_execution_and_padding, type(runner)._talker_mtp_forward

    def padded(*numbers: Any, **named: Any) -> Any:
        mode, batch, *rest = determine(*numbers, **named)
        if recording.batch is not None:
            most = runner.talker_mtp_input_ids.gpu.shape[0]
            rows = min(most, next(size for size in CAPTURED if size >= batch.num_tokens))
            batch = replace(batch, num_tokens=rows)
        return mode, batch, *rest

    def mtp_forward(decode_req_ids: list[str], *arguments: Any, **named: Any) -> Any:
        outer, recording.batch = recording.batch, len(decode_req_ids)
        try:
            return forward(runner, decode_req_ids, *arguments, **named)
        finally:
            recording.batch = outer

    runner.talker_mtp = Captured(runner.talker_mtp)
    runner._determine_batch_execution_and_padding, runner._talker_mtp_forward = padded, mtp_forward


class Nothing:
    """An event or a stream of a device that is never behind."""

    device = torch.device("cpu")

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


def _without_pinned_memory(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def made(*size: Any, pin_memory: bool = False, **options: Any) -> torch.Tensor:
        return make(*size, **options)

    return made
