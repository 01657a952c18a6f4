"""Record what crosses the boundary of any talker, without changing it. Imported inside a target's process only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch

from spec_examples.trace import PHASE_KEYS, Embedding, HookCall, HookRow, MtpRow, Value


class Recording:
    """What one step has shown so far; ``clear`` starts the next step."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget the step."""
        self.hooks: list[HookCall] = []
        self.mtp: list[tuple[MtpRow, ...]] = []
        self.forward: tuple[Embedding, ...] = ()
        self.positions: tuple[int, ...] = ()


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
        ids = _ids(input_ids)
        result = hook(self, input_ids=input_ids, input_embeds=input_embeds, **info)
        update = result[2] if isinstance(result, tuple) and len(result) > 2 else None
        update = update if isinstance(update, Mapping) else {}
        hidden, text = (*(update.get("mtp_inputs") or ()), None, None)[:2]
        row = HookRow(
            request=_request(info),
            input_ids=ids,
            fields=_phase(info),
            keywords=tuple(sorted(info)),
            embeds=_rows(result[1]) if isinstance(result, tuple) and len(result) > 1 else (),
            hidden=_first(hidden),
            text=_first(text),
            planted=_phase(update),
        )
        self.recording.hooks.append(HookCall("preprocess", (row,)))
        return result

    return preprocess


def _preprocess_decode_batch(hook: Any) -> Any:
    def preprocess_decode_batch(self: Any, input_ids: Any, req_infos: Any, **rest: Any) -> Any:
        ids = _ids(input_ids)
        before = [(_request(info), _phase(info), tuple(sorted(info))) for info in req_infos]
        result = hook(self, input_ids=input_ids, req_infos=req_infos, **rest)
        embeds = _rows(result[1])
        hidden, text = (_rows(result[2]), _rows(result[3])) if len(result) >= 5 else ((), ())
        updates = result[-1]
        rows = []
        for i, (request, fields, keywords) in enumerate(before):
            overwritten = {k: v for k, v in _phase(req_infos[i]).items() if v != fields.get(k)}
            update = updates[i] if i < len(updates) and isinstance(updates[i], Mapping) else {}
            rows.append(
                HookRow(
                    request=request,
                    input_ids=ids[i : i + 1],
                    fields=fields,
                    keywords=keywords,
                    embeds=embeds[i : i + 1],
                    hidden=hidden[i] if i < len(hidden) else None,
                    text=text[i] if i < len(text) else None,
                    planted={**overwritten, **_phase(update)},
                )
            )
        self.recording.hooks.append(HookCall("preprocess_decode_batch", tuple(rows)))
        return result

    return preprocess_decode_batch


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
        returned, codes = hook(self, input_ids, embeds, hidden, text, **options)
        out = _rows(returned)
        code_rows = [_ids(row) for row in codes] if isinstance(codes, torch.Tensor) else [()] * len(out)
        rows = zip(*given, out, code_rows, strict=True)
        self.recording.mtp.append(tuple(MtpRow(*row) for row in rows))
        return returned, codes

    return talker_mtp


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


def _ids(tensor: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in tensor.detach().reshape(-1).tolist())


def _rows(tensor: Any) -> tuple[Embedding, ...]:
    """``[n, hidden]`` as plain floats; whatever is not of that shape was not an embedding.

    What is no number, as memory that was never written may be, is the largest one instead: JSON has no other.
    """
    if not isinstance(tensor, torch.Tensor) or tensor.ndim != 2:
        return ()
    largest = torch.finfo(torch.float32).max
    finite = torch.nan_to_num(tensor.detach().to(torch.float32), nan=largest, posinf=largest, neginf=-largest)
    rows: Iterable[list[float]] = finite.tolist()
    return tuple(tuple(row) for row in rows)


def _first(tensor: Any) -> Embedding | None:
    """An MTP input of one row, given as ``[1, hidden]`` or ``[hidden]``."""
    if not isinstance(tensor, torch.Tensor):
        return None
    rows = _rows(tensor.reshape(1, -1))
    return rows[0] if rows else None
