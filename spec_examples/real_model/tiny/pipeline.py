"""Talker and code2wav on a CPU, each behind its own scheduler and runner. In a run's process only.

Real, from vLLM-Omni and vLLM: the two models and their loading, the code predictor, prompt building, both runners and
both schedulers, the paged KV cache with vLLM's CPU attention, and the function that turns the talker's output into
code2wav's input. Not real: the two stages take turns in one process, so the payload is handed over without a connector,
whole, as in a deployment without ``async_chunk``.

Seen to work on vLLM-Omni 0.30.0 with vLLM 0.30.0. What it takes on a CPU there: no CPU platform in vLLM-Omni, so its
question about Inductor is answered here (no: an eager code predictor); bfloat16, which the talker casts embeddings to;
KV blocks in multiples of 32 and the layout ``LBHNC``, as vLLM's CPU attention asks for.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")

from spec_examples.targets import engine  # isort: skip  (it sets vLLM's environment up: before vllm)

import torch
from vllm import SamplingParams
from vllm.config import (
    CacheConfig,
    DeviceConfig,
    LoadConfig,
    ModelConfig,
    ParallelConfig,
    SchedulerConfig,
    VllmConfig,
)
from vllm.v1.core.kv_cache_utils import get_kv_cache_configs
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.structured_output import StructuredOutputManager
from vllm_omni.config.model import OmniModelConfig
from vllm_omni.engine.arg_utils import register_omni_models_to_vllm
from vllm_omni.model_executor.stage_input_processors.qwen3_tts import talker2code2wav_full_payload
from vllm_omni.platforms import current_omni_platform
from vllm_omni.request import OmniRequest

from spec_examples.real_model.experiments import TinyExperiment, Utterance
from spec_examples.real_model.probe import Probe
from spec_examples.real_model.run import Audio, Run
from spec_examples.real_model.stepping import drive, payloads
from spec_examples.real_model.tiny.checkpoint import SPEAKER, checkpoint

BLOCK = 32
MAX_LEN = 96
"""Tokens that one request may reach in the talker, prompt and generated together."""

CODE2WAV_BUDGET = 2048
SEQUENCES = 3
KV_BYTES = 1 << 28
GREEDY = {"do_sample": False, "temperature": 0.0, "top_k": 0, "top_p": 1.0}

register_omni_models_to_vllm()
type(current_omni_platform).supports_torch_inductor = classmethod(lambda cls: False)


@dataclass(frozen=True)
class StageKind:
    """What tells one stage of the pipeline from the other, in vLLM-Omni's names."""

    runner: str
    architecture: str
    stage: str
    worker: str
    output: str
    max_len: int


TALKER = StageKind("ar", "Qwen3TTSTalkerForConditionalGeneration", "qwen3_tts", "ar", "latent", MAX_LEN)
CODE2WAV = StageKind("generation", "Qwen3TTSCode2Wav", "code2wav", "generation", "audio", CODE2WAV_BUDGET)


@dataclass(frozen=True)
class Stage:
    """A scheduler and a runner with its model loaded, under one configuration."""

    config: VllmConfig
    runner: Any
    scheduler: Any


def run_tiny(experiment: TinyExperiment) -> Run:
    """The utterances through the talker, recorded by the probe, and their frames through code2wav."""
    talker = _stage(replace(TALKER, runner=experiment.runner), experiment.budget, experiment.blocks)
    with engine.current_config(talker.config):
        probe = Probe(talker.runner)
        spoken = [_talker_request(talker.runner.model, utterance) for utterance in experiment.utterances]
        for request in spoken:
            talker.scheduler.add_request(request)
        frames = _FramesOut()
        drive(talker.scheduler, talker.runner, frames.collect)
        pad = talker.runner.model._tts_pad_embed.detach().float().reshape(-1)
    run = replace(probe.run(), notes={"tts_pad_embed": tuple(pad.tolist())})
    if not experiment.audio or run.trace.error:
        return run
    spoken_frames = {
        request.request_id: talker2code2wav_full_payload(None, frames.whole(request.request_id), request)
        for request in spoken
    }
    return replace(run, audio=_speak(spoken_frames))


class _FramesOut:
    """The talker's own outputs, put together over steps as the sending side of the connector does."""

    def __init__(self) -> None:
        self._parts: dict[str, list[torch.Tensor]] = {}

    def collect(self, output: Any) -> None:
        for request, payload in payloads(output):
            if "codes.audio" in payload:
                self._parts.setdefault(request, []).append(payload["codes.audio"])

    def whole(self, request: str) -> dict[str, torch.Tensor]:
        return {"codes.audio": torch.cat(self._parts[request])}


def _speak(frames: dict[str, dict[str, Any]]) -> dict[str, Audio]:
    """Audio of each request's codec frames, by code2wav behind its own scheduler and runner."""
    stage = _stage(CODE2WAV, CODE2WAV_BUDGET, blocks=4 * CODE2WAV_BUDGET // BLOCK)
    audio: dict[str, Audio] = {}

    def collect(output: Any) -> None:
        for request, payload in payloads(output):
            samples = payload["model_outputs"].reshape(-1).tolist()
            audio[request] = Audio(tuple(samples), int(payload["sr"].reshape(-1)[-1]))

    with engine.current_config(stage.config):
        for request, payload in frames.items():
            stage.scheduler.add_request(
                OmniRequest(
                    request_id=request,
                    prompt_token_ids=[0] * payload["codes"]["audio"].numel(),
                    pooling_params=None,
                    sampling_params=SamplingParams(max_tokens=1, temperature=0, detokenize=False),
                    model_intermediate_buffer=payload,
                )
            )
        drive(stage.scheduler, stage.runner, collect)
    return audio


def _talker_request(model: Any, utterance: Utterance) -> OmniRequest:
    """The request as the serving layer makes it: placeholder ids, as many as the prompt will have embeddings."""
    information = {
        "task_type": ["CustomVoice"],
        "text": [utterance.text],
        "speaker": [SPEAKER],
        "language": ["Auto"],
        "non_streaming_mode": [True],
    }
    tokenizer = model._prompt_builder.get_text_tokenizer()
    length = model._prompt_builder.estimate_prompt_len_from_additional_information(
        information,
        task_type="CustomVoice",
        tokenize_prompt=lambda text: tokenizer(text)["input_ids"],
        codec_language_id=model.talker_config.codec_language_id,
        spk_is_dialect=model.talker_config.spk_is_dialect,
    )
    return OmniRequest(
        request_id=utterance.request,
        prompt_token_ids=[1] * length,
        pooling_params=None,
        additional_information=information,
        sampling_params=SamplingParams(
            max_tokens=utterance.max_tokens, temperature=0, ignore_eos=True, detokenize=False
        ),
    )


def _stage(kind: StageKind, budget: int, blocks: int) -> Stage:
    config = _config(kind, budget)
    with engine.current_config(config):
        engine.ensure_distributed()
        runner = engine.runner_class(kind.runner)(config, torch.device("cpu"))
        runner.load_model()
        kv = _kv_cache(config, runner, blocks)
        runner.initialize_kv_cache(kv)
        groups = kv.kv_cache_groups or [KVCacheGroupSpec(["none"], _no_attention(config))]
        scheduler = engine.scheduler_class(kind.runner)(
            vllm_config=config,
            structured_output_manager=StructuredOutputManager(config),
            block_size=BLOCK,
            kv_cache_config=KVCacheConfig(kv.num_blocks, kv.kv_cache_tensors, groups),
            log_stats=False,
        )
    return Stage(config, runner, scheduler)


def _config(kind: StageKind, budget: int) -> VllmConfig:
    folder = checkpoint()
    model = ModelConfig(
        model=folder,
        tokenizer=folder,
        skip_tokenizer_init=True,
        dtype="bfloat16",
        max_model_len=kind.max_len,
        enforce_eager=True,
        hf_overrides={"architectures": [kind.architecture]},
    )
    config = VllmConfig(
        model_config=model,
        cache_config=CacheConfig(block_size=BLOCK, enable_prefix_caching=False),
        scheduler_config=SchedulerConfig(
            max_num_batched_tokens=budget,
            max_num_seqs=SEQUENCES,
            max_model_len=kind.max_len,
            enable_chunked_prefill=True,
            is_encoder_decoder=False,
            async_scheduling=False,
        ),
        parallel_config=ParallelConfig(),
        device_config=DeviceConfig("cpu"),
        load_config=LoadConfig(load_format="auto"),
    )
    config.model_config = OmniModelConfig.from_vllm_model_config(
        model,
        model_stage=kind.stage,
        model_arch=kind.architecture,
        worker_type=kind.worker,
        engine_output_type=kind.output,
        subtalker_sampling_params=GREEDY,
    )
    config.compilation_config.max_cudagraph_capture_size = 0
    config.cache_config.kv_cache_layout = "LBHNC"
    return config


def _kv_cache(config: VllmConfig, runner: Any, blocks: int) -> KVCacheConfig:
    """The paged cache of the model's attention layers; without such layers, blocks that hold nothing."""
    spec = runner.get_kv_cache_spec()
    config.cache_config.num_gpu_blocks_override = config.cache_config.num_gpu_blocks = blocks
    return get_kv_cache_configs(config, [spec], [KV_BYTES])[0] if spec else KVCacheConfig(blocks, [], [])


def _no_attention(config: VllmConfig) -> FullAttentionSpec:
    """What a scheduler accounts with for a model without attention."""
    return FullAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=32, dtype=config.model_config.dtype)
