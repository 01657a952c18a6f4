"""Run one scenario on the real scheduler and runner, and give back its trace. Inside a target's process only."""

from __future__ import annotations

import importlib
import linecache
import platform
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
import vllm
import vllm_omni
from vllm import SamplingParams
from vllm.v1.core.sched.output import CachedRequestData, SchedulerOutput
from vllm.v1.request import Request as EngineRequest
from vllm.v1.request import RequestStatus
from vllm_omni.core.sched.output import OmniNewRequestData

from spec_examples.scenario import MAX_LEN, Growth, Request, Row, Scenario, Source
from spec_examples.talker import HIDDEN, MTP_SEED, STUBS, token_id
from spec_examples.targets import engine
from spec_examples.targets.engine import CannotRun, accepted
from spec_examples.targets.recorder import recorded
from spec_examples.trace import (
    IS_PREFILL,
    NUM_COMPUTED,
    PROMPT_LEN,
    Environment,
    ErrorAt,
    ScheduledRow,
    Step,
    Trace,
    Value,
)

MAX_STEPS = 16 * MAX_LEN
"""A schedule that is longer than this has stopped making progress."""

DECODE_BATCH_HOOKS = ("preprocess_decode_batch", "preprocess_decode_batch_mrv2")
"""The batched decode hook, and Model Runner V2's own name for it."""

TALKER_ON_A_PAGE = "talker_on_a_page"
"""Name of the module that a talker given as text is executed as."""

HARNESS = "spec_examples.targets."
"""Modules of this package that drive a runner; its others are talkers."""

RUNNER_MODULES = ("spec_examples.targets.model_runner_v2", "spec_examples.targets.whole_v2.")
"""Modules of this package that call a part of a runner as that runner would."""

CODES_KEYS = (("codes", "audio"), "code_predictor_codes")
"""Where a runner keeps MTP's codes for a model that names no place."""


@dataclass(frozen=True)
class Asked:
    """One step as the scheduler asks for it, its rows by request, and where the runner's output goes.

    ``in_flight`` counts the steps before it whose output the scheduler has not seen. ``resumed`` are the requests that
    come back after a preemption; V2 is told of them as new ones.
    """

    output: SchedulerOutput
    rows: dict[str, ScheduledRow]
    finish: Callable[[Any], None]
    in_flight: int = 0
    resumed: tuple[str, ...] = ()


Drive = Callable[[Scenario, Any, Any], Iterator[Asked]]


def run(scenario: Scenario, runner_name: str) -> Trace:
    """The trace of ``scenario``. Raises ``CannotRun`` where runner, scheduler or talker cannot be built.

    A runner or hook that raises while running does not raise here: the trace ends with that step and its ``error``.
    """
    talker = recorded_talker(scenario.talker, runner_name)
    limits = scenario.limits
    try:
        config = engine.build_config(
            talker, limits, prompt_embeds=limits.prompt_embeds or any(r.embeds for r in scenario.requests)
        )
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
        raised: Exception | None = None
        finished: tuple[str, ...] = ()
        drive: Drive = _scheduled_steps if scenario.requests else _forced_steps
        try:
            for number, asked in enumerate(drive(scenario, runner, scheduler)):
                planted = _plant(scenario, runner, number)
                finished = (*finished, *sorted(asked.output.finished_req_ids))
                step, result, raised = _execute(runner, asked, planted, finished)
                if step.rows:
                    steps.append(step)
                    finished = ()
                if raised:
                    break
                asked.finish(result)
        except CannotRun:
            raise
        except Exception as by_scheduler:  # on what the runner gave it
            raised = by_scheduler
    return Trace(
        steps=tuple(steps),
        mtp=bool(getattr(runner, "has_talker_mtp", False)),
        batched=any(callable(getattr(runner.model, hook, None)) for hook in DECODE_BATCH_HOOKS),
        scheduler=_scheduler_limits(scheduler),
        environment=environment(type(runner)),
        error=_one_line(raised) if raised else None,
        error_in=runner.model.recording.raised_in if raised else "",
        error_at=_raised_at(raised, type(runner)) if raised else "",
        codes_at=_path(_codes_keys(runner.model)[0]),
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
    namespace: dict[str, Any] = {"__name__": TALKER_ON_A_PAGE}
    linecache.cache[source.label] = (len(source.text), None, source.text.splitlines(keepends=True), source.label)
    try:
        exec(compile(source.text, source.label, "exec"), namespace)
    except Exception as error:
        raise CannotRun(f"{source.label}: {_one_line(error)}") from error
    if not isinstance(namespace.get(source.cls), type):
        raise CannotRun(f"{source.label} defines no class {source.cls}")
    return namespace[source.cls]


def _plant(scenario: Scenario, runner: Any, number: int) -> dict[str, dict[str, Value]]:
    """Write what the scenario plants before this step into the runner's intermediate state; what was written."""
    planted = {}
    for plant in scenario.planted:
        if plant.at == number:
            keys = {PROMPT_LEN: plant.prompt_len, NUM_COMPUTED: plant.computed, IS_PREFILL: plant.is_prefill}
            runner.model_intermediate_buffer.setdefault(plant.request, {}).update(keys)
            planted[plant.request] = {key: Value.of(value) for key, value in keys.items()}
    return planted


def _execute(
    runner: Any, asked: Asked, planted: dict[str, dict[str, Value]], finished: tuple[str, ...]
) -> tuple[Step, Any, Exception | None]:
    """One ``execute_model`` with its sampling: the step as it was seen, the runner's output, and what it raised.

    ``finished`` are the requests of which the runner has been told, since the last step with rows, that they ended.
    The output of an asynchronous step is waited for here; the scheduler still gets it one step later.
    """
    rows, recording = asked.rows, runner.model.recording
    recording.clear()
    result: Any = None
    error: Exception | None = None
    try:
        result = runner.execute_model(asked.output)
        if result is None:
            result = runner.sample_tokens(None)
        if hasattr(result, "get_output"):
            result = result.get_output()
    except Exception as raised:
        error = raised
    ordered, start = [], 0
    batch = [r for r in runner.input_batch.req_ids if r in rows]
    for request in batch or list(rows):
        ordered.append(replace(rows[request], start=start))
        start += rows[request].span
    step = Step(
        rows=tuple(ordered),
        hooks=tuple(recording.hooks),
        mtp=tuple(recording.mtp),
        forward=recording.forward[:start],
        positions=recording.positions[:start],
        codes=_stored_codes(runner, rows),
        sampled=_sampled(result),
        preempted=_preempted(asked.output),
        resumed=asked.resumed,
        planted=planted,
        in_flight=asked.in_flight,
        input_ids=recording.input_ids[:start],
        finished=finished,
    )
    return step, result, error


def _stored_codes(runner: Any, rows: dict[str, ScheduledRow]) -> dict[str, tuple[int, ...]]:
    """The codes in each request's intermediate state, where the runner keeps MTP's output for the model.

    A model may name the place; without a name it is ``codes.audio``, and ``code_predictor_codes`` in 0.18.0.
    """
    codes = {}
    for request in rows:
        state = runner.model_intermediate_buffer.get(request) or {}
        for key in _codes_keys(runner.model):
            value = _at(state, key)
            if isinstance(value, torch.Tensor):
                codes[request] = tuple(int(c) for c in value.reshape(-1).tolist())
                break
    return codes


def _codes_keys(model: Any) -> tuple[str | tuple[str, ...], ...]:
    declared = getattr(model, "talker_mtp_output_key", getattr(model, "mtp_output_key", None))
    return (declared,) if declared else CODES_KEYS


def _path(key: str | tuple[str, ...]) -> str:
    return key if isinstance(key, str) else ".".join(key)


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


def _scheduled_steps(scenario: Scenario, runner: Any, scheduler: Any) -> Iterator[Asked]:
    """The steps that the real scheduler makes for the scenario's requests.

    An empty step still reaches the runner: it carries the ids of finished requests, whose state would survive else.
    """
    hasher = engine.block_hasher(scenario.limits)
    depth = 2 if scenario.limits.async_scheduling else 1
    unseen: deque[tuple[SchedulerOutput, Any]] = deque()
    gone: set[str] = set()
    for number in range(MAX_STEPS):
        _come_and_go(scenario, scheduler, number, hasher)
        output = scheduler.schedule()
        rows = _scheduled_rows(output, scheduler)
        resumed = tuple(sorted(gone & rows.keys()))
        gone = gone.difference(resumed).union(_preempted(output))
        in_flight = len(unseen)

        def finish(result: Any, output: SchedulerOutput = output, most: int = depth if rows else 1) -> None:
            unseen.append((output, result))
            while len(unseen) >= most:
                _show(scheduler, runner, *unseen.popleft())

        yield Asked(output, rows, finish, in_flight, resumed)
        if not rows and not in_flight and not _more_to_come(scenario, number):
            if scheduler.requests:
                raise RuntimeError(f"the scheduler can schedule none of: {', '.join(sorted(scheduler.requests))}")
            return
    raise RuntimeError(f"the schedule did not end within {MAX_STEPS} steps")


def _come_and_go(scenario: Scenario, scheduler: Any, number: int, hasher: Any) -> None:
    """Requests are aborted, arrive and grow before step ``number``. After its last growth a request may end."""
    for slot, request in enumerate(scenario.requests):
        if request.aborts == number and request.id in scheduler.requests:
            scheduler.finish_requests(request.id, RequestStatus.FINISHED_ABORTED)
        if request.arrives == number:
            if request.id in scheduler.requests:
                raise CannotRun(f"request {request.id} has not ended before step {number}, where its id comes back")
            scheduler.add_request(_engine_request(scenario, slot, hasher))
        for place, growth in enumerate(request.grows):
            if growth.at == number and request.id in scheduler.requests:
                ids = _grown_ids(request, slot, place)
                scheduler.add_request(_resumable(request.id, ids, growth.max_tokens, hasher))
                if growth is request.grows[-1]:
                    scheduler.add_request(_resumable(request.id, ids, growth.max_tokens, hasher, more=False))


def _more_to_come(scenario: Scenario, number: int) -> bool:
    return any(r.arrives > number or any(g.at > number for g in r.grows) for r in scenario.requests)


def _show(scheduler: Any, runner: Any, output: SchedulerOutput, result: Any) -> None:
    """Let the scheduler see the runner's output of a step, and the drafts for the next one.

    As vLLM's engine does (``EngineCore.post_step`` in 0.18.0 to 0.32.0): in asynchronous steps the scheduler is never
    given drafts; the runner fills them in.
    """
    scheduler.update_from_output(output, result)
    if scheduler.scheduler_config.async_scheduling:
        return
    if not getattr(scheduler, "num_spec_tokens", 0) or not hasattr(runner, "take_draft_token_ids"):
        return
    drafts = runner.take_draft_token_ids()
    if drafts is not None:
        scheduler.update_draft_token_ids(drafts)


def _engine_request(scenario: Scenario, slot: int, hasher: Any) -> EngineRequest:
    request = scenario.requests[slot]
    if request.grows:
        return _resumable(request.id, _prompt_ids(scenario, slot), request.max_tokens, hasher, seed=request.seed)
    embeds = torch.ones(request.prompt_len, HIDDEN) if request.embeds else None
    return EngineRequest(
        request_id=request.id,
        prompt_token_ids=None if request.embeds else _prompt_ids(scenario, slot),
        sampling_params=_sampling(request.max_tokens, request.seed),
        pooling_params=None,
        **accepted(EngineRequest.__init__, {"block_hasher": hasher, "prompt_embeds": embeds}),
    )


def _resumable(
    request: str, ids: list[int], max_tokens: int, hasher: Any, more: bool = True, seed: int | None = None
) -> EngineRequest:
    """One part of a request whose prompt grows; the one after which no ``more`` comes has no tokens of its own."""
    return EngineRequest(
        request_id=request,
        prompt_token_ids=ids,
        sampling_params=_sampling(max_tokens, seed),
        pooling_params=None,
        **accepted(EngineRequest.__init__, {"block_hasher": hasher, "resumable": more}),
    )


def _sampling(max_tokens: int, seed: int | None = None) -> SamplingParams:
    extra = None if seed is None else {MTP_SEED: seed}
    return SamplingParams(max_tokens=max_tokens, temperature=0, ignore_eos=True, extra_args=extra)


def _prompt_ids(scenario: Scenario, slot: int) -> list[int]:
    """A prompt's token ids: those that it shares, then its own."""
    request = scenario.requests[slot]
    ids = _own_ids(request, slot)
    if request.same_as:
        other = next(i for i, r in enumerate(scenario.requests) if r.id == request.same_as)
        ids[: request.same_tokens] = _own_ids(scenario.requests[other], other)[: request.same_tokens]
    return ids


def _own_ids(request: Request, slot: int) -> list[int]:
    return [token_id(slot, position % (request.cycle or MAX_LEN)) for position in range(request.prompt_len)]


def _grown_ids(request: Request, slot: int, place: int) -> list[int]:
    """The ids of a growth: beyond all that the prompt had and all that could be generated before it."""
    earlier: tuple[Growth, ...] = request.grows[:place]
    begin = request.prompt_len + request.max_tokens + sum(growth.tokens + growth.max_tokens for growth in earlier)
    return [token_id(slot, begin + offset) for offset in range(request.grows[place].tokens)]


def _progress(output: SchedulerOutput) -> dict[str, int]:
    """Each scheduled request's progress before the step, as the scheduler tells the runner."""
    cached = output.scheduled_cached_reqs
    progress = dict(zip(cached.req_ids, cached.num_computed_tokens, strict=True))
    progress.update({new.req_id: new.num_computed_tokens for new in output.scheduled_new_reqs})
    return progress


def _preempted(output: SchedulerOutput) -> tuple[str, ...]:
    return tuple(sorted(getattr(output, "preempted_req_ids", None) or ()))


def _scheduled_rows(output: SchedulerOutput, scheduler: Any) -> dict[str, ScheduledRow]:
    """The rows of a step by request. Where tokens are drafts, or not known yet, they are as the scheduler has them."""
    computed = _progress(output)
    rows = {}
    for name, span in output.num_scheduled_tokens.items():
        request, begin = scheduler.requests[name], computed[name]
        drafts = tuple((getattr(output, "scheduled_spec_decode_tokens", None) or {}).get(name, ()))
        known = tuple(request.all_token_ids[begin : begin + span - len(drafts)])
        seed = (request.sampling_params.extra_args or {}).get(MTP_SEED)
        rows[name] = ScheduledRow(name, request.num_prompt_tokens, begin, span, 0, known + drafts, len(drafts), seed)
    return rows


def _forced_steps(scenario: Scenario, runner: Any, scheduler: Any) -> Iterator[Asked]:
    """The scenario's own rows, as the scheduler output that would have asked for them."""
    last = {row.request: number for number, step in enumerate(scenario.steps) for row in step}
    slots: dict[str, int] = {}
    alive: set[str] = set()
    finished: set[str] = set()
    for number, step in enumerate(scenario.steps):
        for row in step:
            slots.setdefault(row.request, len(slots) % 16)
        rows = {row.request: _forced_row(row, slots[row.request]) for row in step}
        yield Asked(_forced_output(step, alive, finished, slots), rows, lambda result: None)
        alive |= rows.keys()
        finished = {request for request in alive if last[request] <= number}
        alive -= finished
    yield Asked(_forced_output((), set(), finished, slots), {}, lambda result: None)


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


def _raised_at(error: BaseException, runner: type) -> ErrorAt:
    """Whose code raised: that of the innermost frame that is none of a library's."""
    found: ErrorAt = "runner"
    owners = {cls.__module__.partition(".")[0] for cls in runner.__mro__} - {"builtins", "abc", "vllm", "spec_examples"}
    traceback = error.__traceback__
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        found = _owner(module, owners) or found
        traceback = traceback.tb_next
    return found


def _owner(module: str, runners: set[str]) -> ErrorAt | None:
    """Whose code a module is; ``None`` for a library's. ``runners`` are the packages of the runner's classes."""
    package = module.partition(".")[0]
    if module.startswith(("vllm.v1.core.", "vllm_omni.core.sched.")):
        return "scheduler"
    if package == "spec_examples" and module.startswith(HARNESS):
        return "runner" if module.startswith(RUNNER_MODULES) else "harness"
    if package == "spec_examples" or module == TALKER_ON_A_PAGE:
        return "talker"
    if package == "vllm":
        return "vllm"
    return "runner" if package in runners or package == "vllm_omni" else None


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
