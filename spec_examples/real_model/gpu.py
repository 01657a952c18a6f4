"""Qwen3-TTS CustomVoice with real weights, through vLLM-Omni's own engine on a GPU, probed in the talker's worker.

Written for vLLM-Omni 0.30.0 and read off it. What ran of it, without a GPU: the probe and the comparison on the shared
runner and on Model Runner V2, and that the deployment file is taken as it is meant. What did not: engine and weights.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from spec_examples.real_model import worker_extension
from spec_examples.real_model.run import Audio, Run

GREEDY = {"temperature": 0.0, "top_k": -1, "top_p": 1.0, "repetition_penalty": 1.0, "seed": 0}
GREEDY_SUBTALKER = {"do_sample": False, "temperature": 0.0, "top_k": 0, "top_p": 1.0}


def deployment(budget: int, model_runner: str, max_tokens: int) -> dict[str, Any]:
    """vLLM-Omni's own deployment of Qwen3-TTS, made greedy and eager, with ``budget`` tokens a step in the talker.

    One sequence, no asynchronous scheduling, no chunks between the stages: what differs between two runs is the cut.
    """
    package = importlib.util.find_spec("vllm_omni")
    assert package is not None
    assert package.origin is not None
    text = Path(package.origin).with_name("deploy").joinpath("qwen3_tts.yaml").read_text(encoding="utf-8")
    deploy: dict[str, Any] = yaml.safe_load(text)
    deploy |= {"model_runner": model_runner, "async_chunk": False}
    talker, code2wav = deploy["stages"]
    talker |= {
        "max_num_seqs": 1,
        "max_num_batched_tokens": budget,
        "async_scheduling": False,
        "enforce_eager": True,
        "worker_extension_cls": worker_extension.NAME,
        "default_sampling_params": GREEDY | {"max_tokens": max_tokens},
        "subtalker_sampling_params": GREEDY_SUBTALKER,
    }
    code2wav |= {"max_num_seqs": 1, "async_scheduling": False, "enforce_eager": True}
    return deploy


def speak(model: str, deploy_file: Path, text: str, speaker: str) -> Run:
    """One engine from its start to its end, and one utterance through it."""
    from vllm_omni.entrypoints.omni import Omni

    information = {"task_type": ["CustomVoice"], "text": [text], "speaker": [speaker], "language": ["Auto"]}
    prompt = {"prompt_token_ids": [1] * prompt_length(model, information), "additional_information": information}
    omni = Omni(model=model, deploy_config=str(deploy_file))
    try:
        omni.engine.collective_rpc("start_probe", stage_ids=[0])
        (output,) = omni.generate(prompt, use_tqdm=False)
        (recorded,) = _flat(omni.engine.collective_rpc("read_probe", stage_ids=[0]))
    finally:
        omni.close()
    run = Run.from_json(recorded)
    request = run.trace.steps[0].rows[0].request
    return replace(run, audio={request: _audio(output.multimodal_output)})


def prompt_length(model: str, information: dict[str, Any]) -> int:
    """How many embeddings the talker will make of a prompt, as vLLM-Omni's own server asks for it."""
    from transformers import AutoTokenizer
    from vllm_omni.model_executor.models.qwen3_tts.configuration_qwen3_tts import Qwen3TTSConfig
    from vllm_omni.model_executor.models.qwen3_tts.prompt_embeds_builder import Qwen3TTSPromptEmbedsBuilder

    tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
    talker = Qwen3TTSConfig.from_pretrained(model).talker_config
    return int(
        Qwen3TTSPromptEmbedsBuilder.estimate_prompt_len_from_additional_information(
            additional_information=information,
            task_type=information["task_type"][0],
            tokenize_prompt=lambda text: tokenizer(text, padding=False)["input_ids"],
            codec_language_id=talker.codec_language_id,
            spk_is_dialect=talker.spk_is_dialect,
        )
    )


def same_request(run: Run, name: str) -> Run:
    """The run with its one request called ``name``: every engine makes up an id of its own."""
    (own,) = {row.request for step in run.trace.steps for row in step.rows}
    return Run.from_json(run.to_json().replace(f'"{own}"', f'"{name}"'))


def _audio(payload: Any) -> Audio:
    import torch

    parts = payload["audio"] if isinstance(payload["audio"], list) else [payload["audio"]]
    rate = payload["sr"][-1] if isinstance(payload["sr"], list) else payload["sr"]
    return Audio(tuple(torch.cat([part.reshape(-1).float() for part in parts]).tolist()), int(rate))


def _flat(results: Any) -> list[str]:
    """The answers of the workers, however deep stages, replicas and ranks nest them."""
    return [results] if isinstance(results, str) else [answer for part in results for answer in _flat(part)]
