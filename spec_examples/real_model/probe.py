"""Record the boundary between a runner and its model, for any model, from inside the process that runs both.

    probe = Probe(runner)          # after the model is loaded, before the first request
    ...                            # the engine, or a loop of one's own, calls execute_model and sample_tokens
    probe.run()

The hooks are wrapped on the model instance, the two steps on the runner instance: whoever drives the runner, the real
engine included, is recorded. Nothing that crosses is changed. CUDA graphs replay what was captured and call no Python:
the talker has to run eagerly.

Seen to work on the shared AR runner and on the whole Model Runner V2 of vLLM-Omni 0.30.0, on a CPU. V2 keeps the same
data in other places: ``model_state`` for the hooks and the state, ``execute_model_state`` for the order of the batch.
Its output is still on its way when it is given; the probe waits, and whoever drives the runner gets it as it arrived.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from spec_examples.contract.rows import takes_mtp
from spec_examples.real_model.run import Frame, Run
from spec_examples.real_model.stepping import arrived, payloads
from spec_examples.trace import (
    PHASE_KEYS,
    Embedding,
    HookCall,
    HookRow,
    MtpRow,
    ScheduledRow,
    Step,
    Trace,
    Value,
)

BATCHED_HOOKS = ("preprocess_decode_batch", "preprocess_decode_batch_mrv2")
"""One hook under the names of the shared runner and of Model Runner V2, which prefers the second."""

MTP_HOOKS = ("talker_mtp", "mtp")
"""The same."""

CODES = ("codes", "audio")
"""Where a talker's codes stand in the intermediate state, where it names no other place."""


class CannotProbe(RuntimeError):
    """The boundary cannot be recorded on this runner; the message says what would make it possible."""


@dataclass
class _Seen:
    """What one step has shown so far."""

    hooks: list[HookCall] = field(default_factory=list)
    mtp_calls: list[tuple[MtpRow, ...]] = field(default_factory=list)
    embeddings: tuple[Embedding, ...] = ()
    batch: tuple[str, ...] = ()


class Probe:
    """Records every step that ``runner`` executes from now on.

    Raises ``CannotProbe`` where the model has no hooks, or where a graph stands between the runner and them.
    """

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self._model = runner.get_model() if callable(getattr(runner, "get_model", None)) else runner.model
        self._prompt_len: dict[str, int] = {}
        self._own_codes: dict[str, Frame] = {}  # what a request's own hook last put where MTP's codes go
        self._steps: list[Step] = []
        self._delivered: list[dict[str, tuple[Frame, ...]]] = []
        self._error: str | None = None
        self._scheduled: Any = None
        self._seen = _Seen()
        self._within: list[Callable[..., Any]] = []  # what is being recorded, while a hook runs
        self._wrap_model()
        self._wrap_runner()

    def run(self) -> Run:
        """What was recorded so far."""
        trace = Trace(
            steps=tuple(self._steps),
            mtp=any(callable(getattr(self._model, name, None)) for name in MTP_HOOKS),
            batched=any(callable(getattr(self._model, name, None)) for name in BATCHED_HOOKS),
            error=self._error,
        )
        return Run(trace, tuple(self._delivered))

    # -- the model -----------------------------------------------------------------------------------------------------

    def _wrap_model(self) -> None:
        if not getattr(self._model, "has_preprocess", False):
            raise CannotProbe(f"{type(self._model).__name__} does not set has_preprocess: no runner calls its hooks")
        replaced: dict[Any, Any] = {}
        wrappers: dict[str, Callable[..., Any]] = {"preprocess": self._preprocess, "forward": self._forward}
        wrappers |= dict.fromkeys(BATCHED_HOOKS, self._preprocess_decode_batch)
        wrappers |= dict.fromkeys(MTP_HOOKS, self._mtp)
        for name, record in wrappers.items():
            hook = getattr(self._model, name, None)
            if callable(hook):
                wrapped = functools.wraps(hook)(functools.partial(self._outermost, record, hook))
                replaced[hook] = wrapped
                setattr(self._model, name, wrapped)
        self._replace_kept(replaced)

    def _outermost(self, record: Callable[..., Any], hook: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """What the runner calls is recorded; a hook that it reaches through another name of the same hook is not."""
        if record in self._within:
            return hook(*args, **named)
        self._within.append(record)
        try:
            return record(hook, *args, **named)
        finally:
            self._within.remove(record)

    def _replace_kept(self, replaced: Mapping[Any, Any]) -> None:
        """The runner took some hooks from the model when it loaded it; give it the wrapped ones.

        ``talker_mtp`` on the shared runner, ``_decode_preprocess`` on Model Runner V2's state (both read off 0.30.0).
        """
        state = getattr(self._runner, "model_state", None)
        for owner, name in ((self._runner, "talker_mtp"), (state, "_decode_preprocess"), (state, "_mtp_runner")):
            kept = getattr(owner, name, None)
            if kept is None:
                continue
            if kept in replaced:
                setattr(owner, name, replaced[kept])
            elif name != "_decode_preprocess":
                raise CannotProbe(f"{name} is a {type(kept).__name__}, which may skip the hook: set enforce_eager")

    def _preprocess(self, hook: Callable[..., Any], *args: Any, **info: Any) -> Any:
        arguments = dict(zip(("input_ids", "input_embeds"), args, strict=False)) | info
        ids = _ids(arguments["input_ids"])
        named = {name: value for name, value in info.items() if name not in ("input_ids", "input_embeds")}
        result = hook(*args, **info)
        update = result[2] if isinstance(result[2], Mapping) else {}
        hidden, text = (*(update.get("mtp_inputs") or ()), None, None)[:2]
        row = HookRow(
            request=_request(named),
            input_ids=ids,
            fields=_phase(named),
            keywords=tuple(sorted(named)),
            embeds=_rows(result[1]),
            hidden=_row(hidden),
            text=_row(text),
            planted=_phase(update),
        )
        self._seen.hooks.append(HookCall("preprocess", (row,)))
        if row.request is not None and isinstance(codes := _at(update, CODES), torch.Tensor):
            self._own_codes[row.request] = _ids(codes)
        return result

    def _preprocess_decode_batch(self, hook: Callable[..., Any], *args: Any, **named: Any) -> Any:
        before = [(_request(info), _phase(info), tuple(sorted(map(str, info)))) for info in named["req_infos"]]
        ids = _ids(named["input_ids"])
        result = hook(*args, **named)
        embeds = _rows(result[1])
        hidden, text = (_rows(result[2]), _rows(result[3])) if len(result) >= 5 else ((), ())
        rows = tuple(
            HookRow(
                request=request,
                input_ids=ids[i : i + 1],
                fields=fields,
                keywords=keywords,
                embeds=embeds[i : i + 1],
                hidden=hidden[i] if i < len(hidden) else None,
                text=text[i] if i < len(text) else None,
                planted=_phase(result[-1][i]),
            )
            for i, (request, fields, keywords) in enumerate(before)
        )
        self._seen.hooks.append(HookCall("preprocess_decode_batch", rows))
        return result

    def _mtp(self, hook: Callable[..., Any], *args: Any, **options: Any) -> Any:
        given = (_ids(args[0]), *map(_rows, args[1:4]))
        returned, codes = hook(*args, **options)
        frames = tuple(_ids(row) for row in codes) if isinstance(codes, torch.Tensor) else ((),) * len(given[0])
        self._seen.mtp_calls.append(tuple(map(MtpRow, *given, _rows(returned), frames)))
        return returned, codes

    def _forward(self, forward: Callable[..., Any], *args: Any, **named: Any) -> Any:
        arguments = dict(zip(("input_ids", "positions", "intermediate_tensors", "inputs_embeds"), args, strict=False))
        self._seen.embeddings = _rows((arguments | named).get("inputs_embeds"))
        return forward(*args, **named)

    # -- the runner ----------------------------------------------------------------------------------------------------

    def _wrap_runner(self) -> None:
        execute_model, sample_tokens = self._runner.execute_model, self._runner.sample_tokens

        @functools.wraps(execute_model)
        def execute(scheduler_output: Any, *args: Any, **named: Any) -> Any:
            self._seen = _Seen()
            self._scheduled = scheduler_output
            self._prompt_len |= {
                new.req_id: len(new.prompt_token_ids or ()) for new in scheduler_output.scheduled_new_reqs
            }
            with self._noting_errors():
                output = execute_model(scheduler_output, *args, **named)
            if output is None:
                self._seen.batch = self._order()
            return output

        @functools.wraps(sample_tokens)
        def sample(*args: Any, **named: Any) -> Any:
            with self._noting_errors():
                output = arrived(sample_tokens(*args, **named))
            self._finish_step(output)
            return output

        self._runner.execute_model, self._runner.sample_tokens = execute, sample

    @contextmanager
    def _noting_errors(self) -> Iterator[None]:
        """A raising runner ends the recording with the step in which it raised, and goes on raising."""
        try:
            yield
        except Exception as error:
            self._error = f"{type(error).__name__}: {error}"
            self._finish_step(None)
            raise

    def _order(self) -> tuple[str, ...]:
        """Request ids in the order of the batch."""
        state = getattr(self._runner, "execute_model_state", None)
        batch = getattr(state, "input_batch", None) or getattr(self._runner, "input_batch", None)
        return tuple(request for request in getattr(batch, "req_ids", ()) if request is not None)

    def _finish_step(self, output: Any) -> None:
        """Put together the step that has just been sampled, or in which the runner raised."""
        spans: dict[str, int] = dict(self._scheduled.num_scheduled_tokens)
        if not spans:
            return
        rows, start = [], 0
        progress = _progress(self._scheduled)
        for request in [r for r in self._seen.batch if r in spans] or list(spans):
            length = self._prompt_len.get(request, 0)
            rows.append(ScheduledRow(request, length, progress[request], spans[request], start))
            start += spans[request]
        step = Step(
            rows=tuple(rows),
            hooks=tuple(self._seen.hooks),
            mtp=tuple(self._seen.mtp_calls),
            forward=self._seen.embeddings[:start],
            codes={row.request: frame for row in rows if (frame := self._stored_codes(row))},
            sampled=_sampled(output),
            preempted=tuple(sorted(getattr(self._scheduled, "preempted_req_ids", None) or ())),
        )
        self._steps.append(step)
        self._delivered.append(_delivered(output))

    def _stored_codes(self, row: ScheduledRow) -> Frame:
        """What the runner stored for a request; empty where what stands there is what its own hook put there."""
        named = (getattr(self._model, name, None) for name in ("talker_mtp_output_key", "mtp_output_key"))
        key = next(filter(None, named), CODES)
        stored = _at(self._state(row.request), key)
        codes = _ids(stored) if isinstance(stored, torch.Tensor) else ()
        if takes_mtp(row) and self._seen.mtp_calls:
            self._own_codes.pop(row.request, None)
        return () if codes == self._own_codes.get(row.request) else codes

    def _state(self, request: str) -> Any:
        """A request's intermediate state, where the shared runner or Model Runner V2 keeps it."""
        buffers = getattr(self._runner, "model_intermediate_buffer", None)
        if buffers is not None:
            return buffers.get(request) or {}
        state = getattr(self._runner, "model_state", None)
        kept = getattr(state, "intermediate_buffer", None)
        if kept is None or request not in kept.req_id_to_index:
            return {}
        return kept.buffers[kept.req_id_to_index[request]]


def _progress(scheduled: Any) -> dict[str, int]:
    """Each scheduled request's progress before the step, as the scheduler tells the runner."""
    cached = scheduled.scheduled_cached_reqs
    progress = dict(zip(cached.req_ids, cached.num_computed_tokens, strict=True))
    return progress | {new.req_id: new.num_computed_tokens for new in scheduled.scheduled_new_reqs}


def _sampled(output: Any) -> dict[str, tuple[int, ...]]:
    ids, sampled = getattr(output, "req_ids", None), getattr(output, "sampled_token_ids", None)
    if not ids or not sampled:
        return {}
    return {request: tuple(map(int, row)) for request, row in zip(ids, sampled, strict=False) if len(row)}


def _delivered(output: Any) -> dict[str, tuple[Frame, ...]]:
    """The codec frames in each request's own output, as the shared runner hands them to the next stage."""
    codes = {request: payload.get(".".join(CODES)) for request, payload in payloads(output)}
    return {
        request: tuple(_ids(frame) for frame in found)
        for request, found in codes.items()
        if isinstance(found, torch.Tensor)
    }


def _request(info: Mapping[str, Any]) -> str | None:
    """``request_id`` in the shared runner, ``req_id`` in Model Runner V2; neither is promised."""
    request = info.get("request_id", info.get("req_id"))
    return None if request is None else str(request)


def _phase(info: Any) -> dict[str, Value]:
    return {key: Value.of(info[key]) for key in PHASE_KEYS if key in info} if isinstance(info, Mapping) else {}


def _at(state: Any, path: str | Iterable[str]) -> Any:
    for part in (path,) if isinstance(path, str) else path:
        state = state.get(part) if isinstance(state, Mapping) else None
    return state


def _ids(tensor: torch.Tensor) -> tuple[int, ...]:
    return tuple(map(int, tensor.detach().reshape(-1).tolist()))


def _rows(tensor: Any) -> tuple[Embedding, ...]:
    """``[n, hidden]`` as plain floats, exactly: float32 holds every value of bfloat16 and of float16."""
    if not isinstance(tensor, torch.Tensor) or tensor.ndim != 2:
        return ()
    return tuple(map(tuple, tensor.detach().to(torch.float32).tolist()))


def _row(tensor: Any) -> Embedding | None:
    return _rows(tensor.reshape(1, -1))[0] if isinstance(tensor, torch.Tensor) else None
