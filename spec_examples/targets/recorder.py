"""Record what crosses the boundary of any talker, without changing it. Imported inside a target's process only."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from spec_examples.trace import MTP_INPUTS, PHASE_KEYS, Embedding, HookCall, HookRow, MtpRow, Value

LARGEST = torch.finfo(torch.float32).max

LONGEST_FINGERPRINT = 100
"""Characters; a longer value is known by its beginning and a checksum."""


class Recording:
    """What one step has shown so far; ``clear`` starts the next step.

    ``written`` are the paths at which any update of the talker has put something into a request's state: only those
    are looked up in what comes back. ``raised_in`` is the talker's own hook that raised, if one did. ``batch`` is the
    number of rows that MTP is called for, where it may be given more.
    """

    def __init__(self) -> None:
        self.written: set[str] = set()
        self.batch: int | None = None
        self.clear()

    def clear(self) -> None:
        """Forget the step."""
        self.hooks: list[HookCall] = []
        self.mtp: list[tuple[MtpRow, ...]] = []
        self.forward: tuple[Embedding, ...] = ()
        self.input_ids: tuple[int, ...] = ()
        self.positions: tuple[int, ...] = ()
        self.raised_in = ""

    def calling(self, hook: str) -> Calling:
        """Note that it was the talker's own ``hook`` that raised."""
        return Calling(self, hook)

    def came_back(self, info: Mapping[str, Any]) -> dict[str, str]:
        """What of an earlier update stands in the keywords of a call."""
        keys = {path.partition(".")[0] for path in self.written}
        looked_up = {key: value for key, value in info.items() if _path(key).partition(".")[0] in keys}
        return {path: value for path, value in _state(looked_up).items() if path in self.written}

    def went_out(self, update: Any) -> dict[str, str]:
        """What an update has for the request's state."""
        found = _state(update) if isinstance(update, Mapping) else {}
        self.written |= found.keys()
        return found


class Calling:
    """While it is entered, ``hook`` of the talker runs."""

    def __init__(self, recording: Recording, hook: str) -> None:
        self.recording = recording
        self.hook = hook

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, Exception):
            self.recording.raised_in = self.recording.raised_in or self.hook


def recorded(talker: type) -> type:
    """A subclass of ``talker`` whose instances have a ``recording``; it has exactly the hooks that ``talker`` has.

    The hooks are found on the class: a talker that assigns one in its constructor is called, but not recorded.
    """
    body: dict[str, Any] = {"__init__": _recording_init(talker), "__module__": __name__}
    wrappers = {
        "preprocess": _preprocess,
        "preprocess_decode_batch": _preprocess_decode_batch,
        "preprocess_decode_batch_mrv2": _preprocess_decode_batch,
        "preprocess_batch": _preprocess_batch,
        "preprocess_batch_mrv2": _preprocess_batch_v2,
        "postprocess": _postprocess,
        "talker_mtp": _talker_mtp,
        "mtp": _talker_mtp,
        "forward": _forward,
    }
    for name, wrap in wrappers.items():
        if callable(getattr(talker, name, None)):
            body[name] = wrap(getattr(talker, name))
    return type(f"Recorded{talker.__name__}", (talker,), body)


def _recording_init(talker: type) -> Any:
    def __init__(self: Any, *, vllm_config: Any = None, prefix: str = "") -> None:
        talker.__init__(self, vllm_config=vllm_config, prefix=prefix)  # type: ignore[misc]
        object.__setattr__(self, "recording", Recording())

    return __init__


def _preprocess(hook: Any) -> Any:
    def preprocess(self: Any, input_ids: Any, input_embeds: Any = None, **info: Any) -> Any:
        recording: Recording = self.recording
        row = HookRow(
            request=_request(info),
            input_ids=_ids(input_ids),
            fields=_phase(info),
            keywords=tuple(sorted(info)),
            embeds=(),
            given=recording.came_back(info),
            raised=True,
        )
        try:
            with recording.calling("preprocess"):
                result = hook(self, input_ids=input_ids, input_embeds=input_embeds, **info)
            row = _returned(row, recording, *_three(result))
        finally:
            recording.hooks.append(HookCall("preprocess", (row,)))
        return result

    return preprocess


def _three(result: Any) -> tuple[Any, Any, Any]:
    """Ids, embeddings and update; ``None`` for what the hook did not return."""
    parts = [*result[:3]] if isinstance(result, tuple) else []
    ids, embeds, update = parts + [None] * (3 - len(parts))
    return ids, embeds, update


def _returned(row: HookRow, recording: Recording, ids: Any, embeds: Any, update: Any) -> HookRow:
    """A row of ``preprocess`` with what the hook returned for it."""
    update = update if isinstance(update, Mapping) else {}
    hidden, text = (*(update.get(MTP_INPUTS) or ()), None, None)[:2]
    return replace(
        row,
        embeds=_rows(embeds),
        hidden=_first(hidden),
        text=_first(text),
        planted=_phase(update),
        update=recording.went_out(update),
        returned_ids=_ids(ids) if isinstance(ids, torch.Tensor) else (),
        raised=False,
    )


def _preprocess_decode_batch(hook: Any) -> Any:
    def preprocess_decode_batch(self: Any, input_ids: Any, req_infos: Any, **rest: Any) -> Any:
        recording: Recording = self.recording
        ids = _ids(input_ids)
        rows = [
            HookRow(
                request=_request(info),
                input_ids=ids[i : i + 1],
                fields=_phase(info),
                keywords=tuple(sorted(info)),
                embeds=(),
                given=recording.came_back(info),
                raised=True,
            )
            for i, info in enumerate(req_infos)
        ]
        try:
            with recording.calling("preprocess_decode_batch"):
                result = hook(self, input_ids=input_ids, req_infos=req_infos, **rest)
            rows = _returned_batch(rows, recording, result, req_infos)
        finally:
            recording.hooks.append(HookCall("preprocess_decode_batch", tuple(rows)))
        return result

    return preprocess_decode_batch


def _returned_batch(rows: list[HookRow], recording: Recording, result: Any, infos: Any) -> list[HookRow]:
    """The rows of ``preprocess_decode_batch`` with what it returned, and with what it wrote into ``infos``."""
    ids, embeds = _ids(result[0]), _rows(result[1])
    hidden, text = (_rows(result[2]), _rows(result[3])) if len(result) >= 5 else ((), ())
    updates = result[-1]
    found = []
    for i, row in enumerate(rows):
        update = updates[i] if i < len(updates) and isinstance(updates[i], Mapping) else {}
        overwritten = {key: value for key, value in _phase(infos[i]).items() if value != row.fields.get(key)}
        found.append(
            replace(
                row,
                embeds=embeds[i : i + 1],
                hidden=hidden[i] if i < len(hidden) else None,
                text=text[i] if i < len(text) else None,
                planted={**overwritten, **_phase(update)},
                update=recording.went_out(update),
                returned_ids=ids[i : i + 1],
                raised=False,
            )
        )
    return found


def _postprocess(hook: Any) -> Any:
    def postprocess(self: Any, *given: Any, **info: Any) -> Any:
        with self.recording.calling("postprocess"):
            update = hook(self, *given, **info)
        back, out = self.recording.came_back(info), self.recording.went_out(update)
        row = HookRow(_request(info), (), {}, tuple(sorted(info)), (), given=back, update=out)
        self.recording.hooks.append(HookCall("postprocess", (row,)))
        return update

    return postprocess


def _preprocess_batch(hook: Any) -> Any:
    def preprocess_batch(self: Any, req_ids: Any, model_intermediate_buffer: Any, **rest: Any) -> Any:
        states = [(str(r), model_intermediate_buffer.get(r) or {}) for r in req_ids]
        before = [HookRow(r, (), _phase(state), tuple(sorted(map(str, state))), ()) for r, state in states]
        ids = _ids(rest["input_ids"]) if "input_ids" in rest else ()
        result = hook(self, req_ids=req_ids, model_intermediate_buffer=model_intermediate_buffer, **rest)
        if "inputs_embeds" in rest:
            filled = {str(r) for r in result or ()}
            before = [_laid_out(row, i, row.request in filled, ids, rest) for i, row in enumerate(before)]
        self.recording.hooks.append(HookCall("preprocess_batch", tuple(before)))
        return result

    return preprocess_batch


def _preprocess_batch_v2(hook: Any) -> Any:
    def preprocess_batch_mrv2(self: Any, *, req_infos: Any, **rest: Any) -> Any:
        rows = [HookRow(_request(state), (), _phase(state), tuple(sorted(map(str, state))), ()) for state in req_infos]
        self.recording.hooks.append(HookCall("preprocess_batch", tuple(rows)))
        return hook(self, req_infos=req_infos, **rest)

    return preprocess_batch_mrv2


def _laid_out(row: HookRow, i: int, filled: bool, ids: tuple[int, ...], layout: Mapping[str, Any]) -> HookRow:
    """A row as a hook that may fill rows sees it.

    The names are those of ``OmniGPUModelRunner._maybe_run_batch_preprocess`` in 0.32.0rc1, which hands them to a model
    that declares ``preprocess_batch_fills_rows``: the step's buffers, and lists of one number a request.
    """
    start = layout["token_offsets"][i]
    end = start + layout["num_scheduled_tokens"][i]
    return replace(
        row,
        input_ids=ids[start:end],
        embeds=_rows(layout["inputs_embeds"][start:end]) if filled else (),
        filled=filled,
        handed={name: Value.of(layout[name][i]) for name in ("num_computed_tokens", "prompt_lens") if name in layout},
    )


def _talker_mtp(hook: Any) -> Any:
    def talker_mtp(self: Any, input_ids: Any, embeds: Any, hidden: Any, text: Any, **options: Any) -> Any:
        given = (_ids(input_ids), _rows(embeds), _rows(hidden), _rows(text))
        named = [_named(options, i) for i in range(len(given[0]))]
        infos = options.get("req_infos") or ()
        states = [self.recording.came_back(infos[i]) if i < len(infos) else {} for i in range(len(given[0]))]
        seeds = [_seed(options, i) for i in range(len(given[0]))]
        with self.recording.calling("talker_mtp"):
            returned, codes = hook(self, input_ids, embeds, hidden, text, **options)
        out = _rows(returned)
        code_rows = [_ids(row) for row in codes] if isinstance(codes, torch.Tensor) else [()] * len(out)
        batch = len(out) if self.recording.batch is None else self.recording.batch
        padding = [i >= batch for i in range(len(out))]
        rows = zip(*given, out, code_rows, named, states, seeds, padding, strict=True)
        self.recording.mtp.append(tuple(MtpRow(*row) for row in rows))
        return returned, codes

    return talker_mtp


def _named(options: Mapping[str, Any], i: int) -> tuple[str, ...]:
    """The requests that row ``i`` of ``req_ids`` and of ``req_infos`` name; beyond their end they name none."""
    ids, infos = options.get("req_ids") or (), options.get("req_infos") or ()
    of_infos = _request(infos[i]) if i < len(infos) else None
    return tuple(str(name) for name in (ids[i] if i < len(ids) else None, of_infos) if name is not None)


def _seed(options: Mapping[str, Any], i: int) -> int | None:
    """The seed of the generator for row ``i``: one for the only row, or a list with one, or none, a row."""
    several = options.get("generators")
    one = several[i] if several is not None and i < len(several) else options.get("generator")
    return one.initial_seed() if isinstance(one, torch.Generator) else None


def _forward(forward: Any) -> Any:
    def recorded_forward(
        self: Any,
        input_ids: Any = None,
        positions: Any = None,
        intermediate_tensors: Any = None,
        inputs_embeds: Any = None,
        **rest: Any,
    ) -> Any:
        self.recording.forward = _rows(inputs_embeds)
        self.recording.positions = _ids(positions) if positions is not None else ()
        self.recording.input_ids = _ids(input_ids) if input_ids is not None else ()
        with self.recording.calling("forward"):
            return forward(
                self,
                input_ids=input_ids,
                positions=positions,
                intermediate_tensors=intermediate_tensors,
                inputs_embeds=inputs_embeds,
                **rest,
            )

    return recorded_forward


def _request(info: Mapping[str, Any]) -> str | None:
    """``request_id`` in the shared runner, ``req_id`` in Model Runner V2; neither is promised."""
    request = info.get("request_id", info.get("req_id"))
    return None if request is None else str(request)


def _phase(info: Mapping[str, Any]) -> dict[str, Value]:
    return {key: Value.of(info[key]) for key in PHASE_KEYS if key in info}


def _state(values: Mapping[Any, Any]) -> dict[str, str]:
    """Each value by its path, in the words of ``_fingerprint``: nested mappings opened, what is no state left out."""
    found: dict[str, str] = {}
    for key, value in values.items():
        if key == MTP_INPUTS or key in PHASE_KEYS:
            continue
        if isinstance(value, Mapping):
            found |= {f"{key}.{path}": inner for path, inner in _state(value).items()}
        else:
            found[_path(key)] = _fingerprint(value)
    return found


def _path(key: Any) -> str:
    return ".".join(key) if isinstance(key, tuple) else str(key)


def _fingerprint(value: Any) -> str:
    """A value in a few words with its exact type: equal values have equal ones."""
    name = type(value).__name__
    if value is None or isinstance(value, (bool, int, float, str)):
        words = f"{name} {value!r}"
    elif isinstance(value, torch.Tensor):
        words = f"{name} {str(value.dtype).removeprefix('torch.')} {value.detach().cpu().tolist()}"
    elif isinstance(value, (list, tuple)):
        words = f"{name} [{', '.join(map(_fingerprint, value))}]"
    else:
        return name
    return words if len(words) <= LONGEST_FINGERPRINT else f"{words[:40]}… {zlib.crc32(words.encode()):08x}"


def _ids(tensor: Any) -> tuple[int, ...]:
    return tuple(map(int, tensor.reshape(-1).tolist()))


def _rows(tensor: Any) -> tuple[Embedding, ...]:
    """``[n, hidden]`` as plain floats; whatever is not of that shape was not an embedding.

    What is no number, as memory that was never written may be, is the largest one instead: JSON has no other.
    """
    if not isinstance(tensor, torch.Tensor) or tensor.ndim != 2:
        return ()
    rows: list[list[float]] = (tensor if tensor.dtype is torch.float32 else tensor.to(torch.float32)).tolist()
    return tuple(tuple(row) if math.isfinite(sum(row)) else tuple(map(_number, row)) for row in rows)


def _number(value: float) -> float:
    return value if math.isfinite(value) else math.copysign(LARGEST, value) if math.isinf(value) else LARGEST


def _first(tensor: Any) -> Embedding | None:
    """An MTP input of one row, given as ``[1, hidden]`` or ``[hidden]``."""
    if not isinstance(tensor, torch.Tensor):
        return None
    rows = _rows(tensor.reshape(1, -1))
    return rows[0] if rows else None
