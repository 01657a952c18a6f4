"""Build vLLM-Omni's real scheduler and runner on a CPU. Imported inside a target's process only.

What cannot be real on a CPU, all of it in this module:

- the model: a stub without attention, so the runner is given no KV tensors (``initialize_kv_cache`` gets no groups)
  while the scheduler accounts for real blocks;
- CUDA calls of the runner's constructor: vLLM's own ``CPUModelRunner`` stands below the runner under test;
- ``kv_cache_layout``, which the engine core would resolve;
- compiled operations of vLLM that are called behind the boundary (``stand_ins``).

Seen to work on vLLM-Omni 0.18.0 to 0.32.0rc1 with the vLLM of the same minor version.
"""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import json
import os
import pickle
from collections.abc import Callable, Mapping
from typing import Any

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ["VLLM_TARGET_DEVICE"] = "cpu"  # the CPU platform, also with the ordinary CUDA wheel of vLLM
os.environ.setdefault("traceparent", "none")  # or vLLM looks for one in the whole environment, at each of its spans
os.environ["VLLM_USE_V2_MODEL_RUNNER"] = "0"  # or vLLM decides by what is installed; with "1" it wants Triton

import torch
import vllm_omni  # noqa: F401  (patches vLLM: has to come before vllm.config)
from vllm import ModelRegistry
from vllm.config import (
    CacheConfig,
    DeviceConfig,
    LoadConfig,
    ModelConfig,
    ParallelConfig,
    SchedulerConfig,
    VllmConfig,
    set_current_vllm_config,
)
from vllm.distributed.parallel_state import ensure_model_parallel_initialized, init_distributed_environment
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.worker.cpu_model_runner import CPUModelRunner
from vllm.v1.worker.gpu_model_runner import GPUModelRunner
from vllm_omni.config.model import OmniModelConfig
from vllm_omni.model_executor.models import OmniModelRegistry

from spec_examples.scenario import MAX_LEN, Limits
from spec_examples.talker import HIDDEN, VOCAB
from spec_examples.targets import scratch, stand_ins

PLAIN = "vllm"
"""vLLM's own runner under vLLM's own scheduler: it calls no hook, and shows whether a schedule can be driven here."""

RUNNERS = {
    "ar": ("vllm_omni.worker.gpu_ar_model_runner", "GPUARModelRunner"),
    "generation": ("vllm_omni.worker.gpu_generation_model_runner", "GPUGenerationModelRunner"),
    "v2": ("spec_examples.targets.model_runner_v2", "PreprocessStep"),
    PLAIN: ("vllm.v1.worker.gpu_model_runner", "GPUModelRunner"),
}
SCHEDULERS = {
    PLAIN: ("vllm.v1.core.sched.scheduler", "Scheduler"),
    "ar": ("vllm_omni.core.sched.omni_ar_scheduler", "OmniARScheduler"),
    "generation": ("vllm_omni.core.sched.omni_generation_scheduler", "OmniGenerationScheduler"),
}
ASYNC_SCHEDULERS = {
    "OmniARScheduler": ("vllm_omni.core.sched.omni_ar_scheduler", "OmniARAsyncScheduler"),
    "Scheduler": ("vllm.v1.core.sched.async_scheduler", "AsyncScheduler"),
}


stand_ins.register()


class CannotRun(RuntimeError):
    """The question could not be put to this target; the message says what is missing."""


def accepted(call: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Those ``arguments`` that this release's ``call`` takes: signatures grow and shrink between releases."""
    parameters = _parameters(call)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return arguments
    return {name: value for name, value in arguments.items() if name in parameters}


@functools.cache
def _parameters(call: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(call).parameters


@functools.cache
def runner_class(name: str) -> type:
    """The runner called ``ar``, ``generation``, ``v2`` or ``package.module:Class``, over vLLM's CPU adaptation.

    A class that is none of vLLM's runners is taken as it is. Raises ``CannotRun`` where it cannot be imported.
    """
    module, _, cls = name.partition(":")
    module, cls = RUNNERS.get(name, (module, cls))
    try:
        found = getattr(importlib.import_module(module), cls)
    except ModuleNotFoundError as error:
        if name == "v2" and (error.name or "").startswith("vllm_omni."):
            raise CannotRun("this release has no Model Runner V2, which came with 0.30.0rc1") from error
        raise CannotRun(f"runner {name}: {error}") from error
    except Exception as error:
        raise CannotRun(f"runner {name}: {error}") from error
    if not isinstance(found, type):
        raise CannotRun(f"runner {name}: {cls} in {module} is no class")
    if found is GPUModelRunner:
        return type("PlainRunner", (CPUModelRunner,), {"label": found.__name__, "model_intermediate_buffer": {}})
    if issubclass(found, CPUModelRunner) or not issubclass(found, GPUModelRunner):
        return found
    return type(f"Cpu{found.__name__}", (found, CPUModelRunner), {"__module__": found.__module__})


def scheduler_class(runner: str, *, asynchronous: bool = False) -> type:
    """The scheduler that belongs to a runner; a plugin's is that of the shared runner that it descends from.

    Raises ``CannotRun`` where it has no asynchronous one.
    """
    generation = runner == "generation" or issubclass(runner_class(runner), runner_class("generation").__mro__[1])
    module, cls = SCHEDULERS[runner if runner == PLAIN else "generation" if generation else "ar"]
    if asynchronous:
        module, cls = ASYNC_SCHEDULERS.get(cls, (module, ""))
        if runner == "v2" or not hasattr(importlib.import_module(module), cls):
            raise CannotRun(f"runner {runner} has no asynchronous scheduler here that it could run under")
    return getattr(importlib.import_module(module), cls)


_ARCHITECTURES: dict[type, tuple[str, str]] = {}


def _register(talker: type) -> tuple[str, str]:
    """The architecture name of ``talker`` and a folder with its ``config.json``, made once a process."""
    if talker not in _ARCHITECTURES:
        architecture = f"SpecTalker{len(_ARCHITECTURES)}"
        folder = scratch.folder() / architecture
        folder.mkdir()
        config = {
            "architectures": [architecture],
            "model_type": "llama",
            "hidden_size": HIDDEN,
            "intermediate_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 1,
            "num_key_value_heads": 1,
            "vocab_size": VOCAB,
            "max_position_embeddings": MAX_LEN,
            "torch_dtype": "float32",
        }
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        for registry in (ModelRegistry, OmniModelRegistry):
            registry.register_model(architecture, talker)
        _ARCHITECTURES[talker] = (architecture, str(folder))
    return _ARCHITECTURES[talker]


def build_config(talker: type, limits: Limits, *, prompt_embeds: bool = False) -> VllmConfig:
    """A real ``VllmConfig`` for ``talker`` under ``limits``, which may admit prompts given as embeddings.

    It is built once, and given away in copies: whatever a runner writes into its own reaches no other.
    """
    return _copies(talker, limits, prompt_embeds)()


@functools.cache
def _copies(talker: type, limits: Limits, prompt_embeds: bool) -> Callable[[], VllmConfig]:
    """What makes copies of a configuration: from its pickle, which is five times as fast, where it has one."""
    config = _configured(talker, limits, prompt_embeds)
    try:
        pickled = pickle.dumps(config, pickle.HIGHEST_PROTOCOL)
        pickle.loads(pickled)
    except Exception:  # of whatever kind: what cannot be pickled says so in many ways
        return functools.partial(copy.deepcopy, config)
    return functools.partial(pickle.loads, pickled)


def _configured(talker: type, limits: Limits, prompt_embeds: bool) -> VllmConfig:
    architecture, folder = _register(talker)
    model = ModelConfig(
        model=folder,
        tokenizer=folder,
        skip_tokenizer_init=True,
        dtype="float32",
        max_model_len=MAX_LEN,
        enforce_eager=True,
        **accepted(ModelConfig, {"enable_prompt_embeds": prompt_embeds}),
    )
    scheduler = SchedulerConfig(
        **accepted(
            SchedulerConfig,
            {
                "max_num_batched_tokens": limits.budget,
                "max_num_seqs": limits.sequences,
                "max_model_len": MAX_LEN,
                "enable_chunked_prefill": limits.chunked_prefill,
                "long_prefill_token_threshold": limits.long_prefill_threshold,
                "is_encoder_decoder": False,
                "async_scheduling": limits.async_scheduling and not limits.speculative_tokens,
            },
        )
    )
    extra = {"speculative_config": _speculation(model, limits)} if limits.speculative_tokens else {}
    config = VllmConfig(
        model_config=model,
        cache_config=CacheConfig(block_size=limits.block_size, enable_prefix_caching=limits.prefix_caching),
        scheduler_config=scheduler,
        parallel_config=ParallelConfig(),
        device_config=DeviceConfig("cpu"),
        load_config=LoadConfig(load_format="dummy"),
        **extra,
    )
    # Set late: vLLM checks how drafts are made, and does not know of those that ``build_runner`` arranges.
    config.scheduler_config.async_scheduling = limits.async_scheduling
    config.model_config = OmniModelConfig.from_vllm_model_config(model, model_stage="talker", model_arch=architecture)
    if getattr(config.compilation_config, "max_cudagraph_capture_size", 0) is None:
        config.compilation_config.max_cudagraph_capture_size = 0
    config.cache_config.num_gpu_blocks = limits.blocks
    if hasattr(config.cache_config, "kv_cache_layout"):
        config.cache_config.kv_cache_layout = "NHD"
    return config


def _speculation(model: ModelConfig, limits: Limits) -> Any:
    """Drafts by n-grams: the last token, or the last two, are looked up in what the request has, and copied on.

    Asynchronous steps cannot have these, which need the tokens on the CPU; ``stand_ins.draft_by_counting`` drafts then.
    """
    from vllm.config import SpeculativeConfig

    stand_ins.for_speculation()
    return SpeculativeConfig(
        target_model_config=model,
        target_parallel_config=ParallelConfig(),
        method="ngram",
        num_speculative_tokens=limits.speculative_tokens,
        prompt_lookup_min=1,
        prompt_lookup_max=2,
    )


_DISTRIBUTED = False


def ensure_distributed() -> None:
    """One process, one rank; vLLM asks for its groups even then."""
    global _DISTRIBUTED
    if not _DISTRIBUTED:
        init_distributed_environment(1, 0, f"file://{scratch.folder()}/store", 0, "gloo")
        ensure_model_parallel_initialized(1, 1)
        _DISTRIBUTED = True


def build_runner(name: str, config: VllmConfig, limits: Limits) -> Any:
    """The real runner with its model loaded. Call inside ``set_current_vllm_config(config)``.

    What looks at KV groups (prefix cache, attention metadata of drafts) is given one without layers.
    """
    ensure_distributed()
    if limits.async_scheduling:
        stand_ins.for_async_steps()
    runner = runner_class(name)(config, torch.device("cpu"))
    if limits.async_scheduling:
        runner.async_output_copy_stream = stand_ins.Nothing()
    runner.load_model()
    grouped = limits.prefix_caching or limits.async_scheduling or limits.speculative_tokens
    groups = [KVCacheGroupSpec([], _kv_spec(limits))] if grouped else []
    if grouped:
        stand_ins.for_kv_groups()
    runner.initialize_kv_cache(_kv_cache(limits, groups))
    if limits.async_scheduling and limits.speculative_tokens:
        stand_ins.draft_by_counting(runner, limits.speculative_tokens)
    if getattr(runner.model, "talker_mtp_graph_safe", False) and hasattr(runner, "talker_mtp"):
        stand_ins.capture_mtp(runner)
    return runner


def build_scheduler(name: str, config: VllmConfig, limits: Limits) -> Any:
    """The real scheduler that belongs to the runner called ``name``."""
    cls = scheduler_class(name, asynchronous=limits.async_scheduling)
    scheduler = cls(
        **accepted(
            cls,
            {
                "vllm_config": config,
                "structured_output_manager": StructuredOutputManager(config),
                "block_size": limits.block_size,
                "kv_cache_config": _kv_cache(limits, [KVCacheGroupSpec(["layer"], _kv_spec(limits))]),
            },
        )
    )
    if getattr(runner_class(name), "resumes_as_new", False):
        scheduler.use_v2_model_runner = True  # a request that was preempted then comes back as a new one
    return scheduler


def block_hasher(limits: Limits) -> Any:
    """What a request needs so that prefix hits are found; ``None`` where they are switched off."""
    if not limits.prefix_caching:
        return None
    from vllm.utils.hashing import get_hash_fn_by_name
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash

    digest = get_hash_fn_by_name("sha256")
    init_none_hash(digest)
    return get_request_block_hasher(limits.block_size, digest)


def _kv_spec(limits: Limits) -> FullAttentionSpec:
    arguments = {"block_size": limits.block_size, "num_kv_heads": 1, "head_size": HIDDEN, "dtype": torch.float32}
    return FullAttentionSpec(**accepted(FullAttentionSpec, arguments))


def _kv_cache(limits: Limits, groups: list[KVCacheGroupSpec]) -> KVCacheConfig:
    return KVCacheConfig(num_blocks=limits.blocks, kv_cache_tensors=[], kv_cache_groups=groups)


current_config = set_current_vllm_config
