"""Run one scenario on the real scheduler and runner, and give back its trace. Inside a target's process only."""

from __future__ import annotations

import importlib
import linecache
import platform
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import vllm
import vllm_omni
from vllm import SamplingParams
from vllm.v1.core.sched.output import CachedRequestData, SchedulerOutput
from vllm.v1.request import Request as EngineRequest
from vllm.v1.request import RequestStatus
from vllm_omni.core.sched.output import OmniNewRequestData

from spec_examples.scenario import MAX_LEN, Row, Scenario, Source
from spec_examples.talker import STUBS, token_id
from spec_examples.targets import engine
from spec_examples.targets.engine import CannotRun, accepted
from spec_examples.targets.recorder import recorded
from spec_examples.trace import Environment, ScheduledRow, Step, Trace

MAX_STEPS = 16 * MAX_LEN
"""A schedule that is longer than this has stopped making progress."""

DECODE_BATCH_HOOKS = ("preprocess_decode_batch", "preprocess_decode_batch_mrv2")
"""The batched decode hook, and Model Runner V2's own name for it."""

CODES_KEYS = (("codes", "audio"), "code_predictor_codes")
"""Where a runner keeps MTP's codes for a model that names no place."""

Drive = Callable[[Scenario, Any, Any], Iterator[tuple[SchedulerOutput, dict[str, ScheduledRow], Any]]]


def run(scenario: Scenario, runner_name: str) -> Trace:
    """The trace of ``scenario``. Raises ``CannotRun`` where runner, scheduler or talker cannot be built.

    A runner or hook that raises while running does not raise here: the trace ends with that step and its ``error``.
    """
    talker = recorded_talker(scenario.talker, runner_name)
    limits = scenario.limits
    try:
        config = engine.build_config(talker, limits)
    except Exception as refused:
        raise CannotRun(f"the configuration was refused: {_one_line(refused)}") from refused
    with engine.current_config(config):
        try:
            runner = engine.build_runner(runner_name, config, limits)
            scheduler = engine.build_scheduler(runner_name, config, limits)
        except CannotRun:
            raise
        except Exception as refused:
            raise CannotRun(f"the runner could not be constructed: {_one_line(refused)}") from refused
        steps: list[Step] = []
        error: str | None = None
        drive = _scheduled_steps if scenario.requests else _forced_steps
        try:
            for output, rows, finish in drive(scenario, runner, scheduler):
                step, result, error = _execute(runner, output, rows)
                if step.rows:
                    steps.append(step)
                if error:
                    break
                finish(result)
        except Exception as raised:  # the scheduler, on what the runner gave it
            error = _one_line(raised)
    return Trace(
        steps=tuple(steps),
        mtp=bool(getattr(runner, "has_talker_mtp", False)),
        batched=any(callable(getattr(runner.model, hook, None)) for hook in DECODE_BATCH_HOOKS),
        scheduler=_scheduler_limits(scheduler),
        environment=environment(type(runner)),
        error=error,
    )


def environment(runner: type) -> Environment:
    """Versions as the packages report them; the class, and who defines what calls the hooks.

    A class that stands for a part of a runner says so by ``label``, and which methods of which class those are.
    """
    producer = getattr(runner, "producer", (runner, "_preprocess"))
    mtp_caller = getattr(runner, "mtp_caller", (runner, "_talker_mtp_forward"))
    return Environment(
        vllm_omni=str(getattr(vllm_omni, "__version__", "unknown")),
        vllm=str(getattr(vllm, "__version__", "unknown")),
        torch=str(torch.__version__),
        python=platform.python_version(),
        runner=getattr(runner, "label", runner.__name__.removeprefix("Cpu")),
        preprocess_from=_defined_in(*producer),
        mtp_from=_defined_in(*mtp_caller),
    )


def _defined_in(runner: type, method: str) -> str:
    return next((cls.__name__ for cls in runner.__mro__ if method in vars(cls)), "")


_TALKERS: dict[tuple[str | Source, Callable[[type], type] | None], type] = {}


def recorded_talker(talker: str | Source, runner: str) -> type:
    """The class that a scenario's ``talker`` names, recorded, under the hook names of the runner called ``runner``.

    Raises ``CannotRun`` where there is none.
    """
    adapt: Callable[[type], type] | None = getattr(engine.runner_class(runner), "adapt", None)
    if (talker, adapt) not in _TALKERS:
        found = _find_talker(talker)
        _require_methods(talker, found)
        _TALKERS[talker, adapt] = adapt(recorded(found)) if adapt else recorded(found)
    return _TALKERS[talker, adapt]


def _require_methods(name: str | Source, talker: type) -> None:
    """Say which method is missing before vLLM or the runner stumbles over it."""
    needed = ["embed_input_ids", "forward", "compute_logits", "load_weights"]
    needed += ["preprocess"] if getattr(talker, "has_preprocess", False) else []
    missing = [method for method in needed if not callable(getattr(talker, method, None))]
    label = f"{name.label}:{name.cls}" if isinstance(name, Source) else name
    if missing:
        raise CannotRun(f"talker {label} has no {', '.join(missing)}")
    if not getattr(talker, "has_preprocess", False):
        raise CannotRun(f"talker {label} does not set has_preprocess = True, so no runner calls its hooks")


def _find_talker(talker: str | Source) -> type:
    if isinstance(talker, Source):
        return _from_source(talker)
    if talker in STUBS:
        return STUBS[talker]
    module, _, cls = talker.partition(":")
    try:
        return getattr(importlib.import_module(module), cls)
    except (ImportError, AttributeError) as error:
        raise CannotRun(f"talker {talker}: {error}") from error


def _from_source(source: Source) -> type:
    namespace: dict[str, Any] = {"__name__": "talker_on_a_page"}
    linecache.cache[source.label] = (len(source.text), None, source.text.splitlines(keepends=True), source.label)
    try:
        exec(compile(source.text, source.label, "exec"), namespace)
    except Exception as error:
        raise CannotRun(f"{source.label}: {_one_line(error)}") from error
    if not isinstance(namespace.get(source.cls), type):
        raise CannotRun(f"{source.label} defines no class {source.cls}")
    return namespace[source.cls]


def _execute(runner: Any, output: SchedulerOutput, rows: dict[str, ScheduledRow]) -> tuple[Step, Any, str | None]:
    """One ``execute_model`` with its sampling: the step as it was seen, the runner's output, and what it raised."""
    recording = runner.model.recording
    recording.clear()
    result, error = None, None
    try:
        result = runner.execute_model(output)
        if result is None:
            result = runner.sample_tokens(None)
    except Exception as raised:
        error = _one_line(raised)
    ordered, start = [], 0
    batch = [r for r in runner.input_batch.req_ids if r in rows]
    for request in batch or list(rows):
        row = rows[request]
        ordered.append(ScheduledRow(row.request, row.prompt_len, row.computed, row.span, start, row.tokens))
        start += row.span
    step = Step(
        rows=tuple(ordered),
        hooks=tuple(recording.hooks),
        mtp=tuple(recording.mtp),
        forward=recording.forward[:start],
        positions=recording.positions[:start],
        codes=_stored_codes(runner, rows),
        sampled=_sampled(result),
        preempted=tuple(sorted(getattr(output, "preempted_req_ids", None) or ())),
    )
    return step, result, error


def _stored_codes(runner: Any, rows: dict[str, ScheduledRow]) -> dict[str, tuple[int, ...]]:
    """The codes in each request's intermediate state, where the runner keeps MTP's output for the model.

    A model may name the place; without a name it is ``codes.audio``, and ``code_predictor_codes`` in 0.18.0.
    """
    declared = getattr(runner.model, "talker_mtp_output_key", getattr(runner.model, "mtp_output_key", None))
    codes = {}
    for request in rows:
        state = runner.model_intermediate_buffer.get(request) or {}
        for key in (declared,) if declared else CODES_KEYS:
            value = _at(state, key)
            if isinstance(value, torch.Tensor):
                codes[request] = tuple(int(c) for c in value.reshape(-1).tolist())
                break
    return codes


def _at(state: Any, key: str | tuple[str, ...]) -> Any:
    """What stands at ``key``, or at the end of a path of keys; ``None`` where nothing does."""
    for part in (key,) if isinstance(key, str) else key:
        state = state.get(part) if isinstance(state, dict) else None
    return state


def _sampled(result: Any) -> dict[str, tuple[int, ...]]:
    ids, tokens = getattr(result, "req_ids", None), getattr(result, "sampled_token_ids", None)
    if not ids or not tokens:
        return {}
    return {request: tuple(int(t) for t in row) for request, row in zip(ids, tokens, strict=False) if len(row)}


def _scheduled_steps(scenario: Scenario, runner: Any, scheduler: Any) -> Iterator[Any]:
    """The steps that the real scheduler makes for the scenario's requests.

    An empty step still reaches the runner: it carries the ids of finished requests, whose state would survive else.
    """
    hasher = engine.block_hasher(scenario.limits)
    for number in range(MAX_STEPS):
        for slot, request in enumerate(scenario.requests):
            if request.aborts == number and request.id in scheduler.requests:
                scheduler.finish_requests(request.id, RequestStatus.FINISHED_ABORTED)
            if request.arrives == number:
                scheduler.add_request(_engine_request(slot, request, hasher))
        output = scheduler.schedule()
        computed = _progress(output)
        rows = {
            request: _scheduled_row(scheduler.requests[request], computed[request], span)
            for request, span in output.num_scheduled_tokens.items()
        }
        yield output, rows, lambda result, output=output: scheduler.update_from_output(output, result)
        waiting = any(r.arrives > number for r in scenario.requests)
        if not rows and not waiting:
            if scheduler.requests:
                raise RuntimeError(f"the scheduler can schedule none of: {', '.join(sorted(scheduler.requests))}")
            return
    raise RuntimeError(f"the schedule did not end within {MAX_STEPS} steps")


def _engine_request(slot: int, request: Any, hasher: Any) -> EngineRequest:
    return EngineRequest(
        request_id=request.id,
        prompt_token_ids=[token_id(slot, position) for position in range(request.prompt_len)],
        sampling_params=SamplingParams(max_tokens=request.max_tokens, temperature=0, ignore_eos=True),
        pooling_params=None,
        **accepted(EngineRequest.__init__, {"block_hasher": hasher}),
    )


def _progress(output: SchedulerOutput) -> dict[str, int]:
    """Each scheduled request's progress before the step, as the scheduler tells the runner."""
    cached = output.scheduled_cached_reqs
    progress = dict(zip(cached.req_ids, cached.num_computed_tokens, strict=True))
    progress.update({new.req_id: new.num_computed_tokens for new in output.scheduled_new_reqs})
    return progress


def _scheduled_row(request: EngineRequest, computed: int, span: int) -> ScheduledRow:
    tokens = tuple(request.all_token_ids[computed : computed + span])
    return ScheduledRow(request.request_id, request.num_prompt_tokens, computed, span, 0, tokens)


def _forced_steps(scenario: Scenario, runner: Any, scheduler: Any) -> Iterator[Any]:
    """The scenario's own rows, as the scheduler output that would have asked for them."""
    last = {row.request: number for number, step in enumerate(scenario.steps) for row in step}
    slots: dict[str, int] = {}
    alive: set[str] = set()
    finished: set[str] = set()
    for number, step in enumerate(scenario.steps):
        for row in step:
            slots.setdefault(row.request, len(slots) % 16)
        rows = {row.request: _forced_row(row, slots[row.request]) for row in step}
        yield _forced_output(step, alive, finished, slots), rows, lambda result: None
        alive |= rows.keys()
        finished = {request for request in alive if last[request] <= number}
        alive -= finished
    yield _forced_output((), set(), finished, slots), {}, lambda result: None


def _forced_row(row: Row, slot: int) -> ScheduledRow:
    """The tokens of the prompt's part of a row; what was generated is not made up."""
    positions = range(row.computed, min(row.computed + row.span, row.prompt_len))
    tokens = tuple(token_id(slot, p) for p in positions) if row.computed + row.span <= row.prompt_len else ()
    return ScheduledRow(row.request, row.prompt_len, row.computed, row.span, 0, tokens)


def _forced_output(
    step: tuple[Row, ...], alive: set[str], finished: set[str], slots: dict[str, int]
) -> SchedulerOutput:
    new = [row for row in step if row.request not in alive]
    cached = [row for row in step if row.request in alive]
    arguments = {
        "scheduled_new_reqs": [_new_request(row, slots[row.request]) for row in new],
        "scheduled_cached_reqs": CachedRequestData(
            **accepted(
                CachedRequestData,
                {
                    "req_ids": [row.request for row in cached],
                    "resumed_req_ids": set(),
                    "new_token_ids": [],
                    "all_token_ids": {},
                    "new_block_ids": [None for _ in cached],
                    "num_computed_tokens": [row.computed for row in cached],
                    "num_output_tokens": [max(0, row.computed - row.prompt_len + 1) for row in cached],
                },
            )
        ),
        "num_scheduled_tokens": {row.request: row.span for row in step},
        "total_num_scheduled_tokens": sum(row.span for row in step),
        "scheduled_spec_decode_tokens": {},
        "scheduled_encoder_inputs": {},
        "num_common_prefix_blocks": [],
        "finished_req_ids": set(finished),
        "free_encoder_mm_hashes": [],
    }
    return SchedulerOutput(**accepted(SchedulerOutput, arguments))


def _new_request(row: Row, slot: int) -> OmniNewRequestData:
    arguments = {
        "req_id": row.request,
        "external_req_id": row.request,
        "prompt_token_ids": [token_id(slot, position) for position in range(row.prompt_len)],
        "mm_features": [],
        "sampling_params": SamplingParams(max_tokens=MAX_LEN, temperature=0, ignore_eos=True),
        "pooling_params": None,
        "block_ids": (),
        "num_computed_tokens": row.computed,
        "lora_request": None,
        "prefill_token_ids": [token_id(slot, position) for position in range(row.prompt_len)],
    }
    return OmniNewRequestData(**accepted(OmniNewRequestData, arguments))


def _scheduler_limits(scheduler: Any) -> dict[str, bool | int]:
    """What the real scheduler works under, under the names of vLLM's ``SchedulerConfig``."""
    config = scheduler.scheduler_config
    names = ("enable_chunked_prefill", "max_num_batched_tokens", "max_num_seqs", "long_prefill_token_threshold")
    found = {name: getattr(config, name, None) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, (bool, int))}


def _one_line(error: BaseException) -> str:
    """``TypeError: …`` with where it was raised, in one line."""
    where = ""
    traceback = error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if not name.startswith(("<", sys.prefix)) or "vllm" in name:
            where = f" ({'/'.join(name.split('/')[-2:])}:{traceback.tb_lineno})"
        traceback = traceback.tb_next
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{where}"
