"""Stands between the real runner and an author's model. Imported inside a target's process only.

The model's hooks are its own: each call of the runner reaches them, and what they return reaches the runner. What its
``forward`` and its logits return is not asked, since a check without an accelerator has no attention: after the token
at position p of a request the token at position p + 1 is sampled, whatever the model returned. So the same tokens come
at the same positions in every run, and what differs between two runs is what the hooks made of them. A model whose
state moves in ``forward`` or ``make_omni_output`` may have both called, where its backbone can do without attention.

A scenario's token ids say which request and which position they are. The model is given ids of its own vocabulary
instead, chosen by the name of the request and the position, so that a request has the same ids alone and beside others.
"""

from __future__ import annotations

import importlib
import json
import types
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from spec_examples.scenario import MAX_LEN, MAX_REQUESTS
from spec_examples.talker import VOCAB
from spec_examples.targets.engine import CannotRun
from spec_examples.targets.recorder import recorded
from spec_examples.trace import PHASE_KEYS

SCALAR, BATCHED = "preprocess", ("preprocess_decode_batch", "preprocess_decode_batch_mrv2")
HOOKS = (SCALAR, *BATCHED, "preprocess_batch", "preprocess_batch_mrv2", "talker_mtp", "mtp")
"""The hooks that a runner looks for, under the names of the shared runner and of Model Runner V2."""

DELEGATED = (
    "gpu_resident_buffer_keys",
    "has_postprocess",
    "mtp_",
    "on_requests_finished",
    "postprocess",
    "preprocess_",
    "talker_mtp_",
)
"""What else the runner reads of a model around its hooks: names, or how names begin."""

OUTPUT_KEYS = ("talker_mtp_output_key", "mtp_output_key")
"""Where the runner keeps codes for the model; looked for on the class."""

BASE, DIGITS = 64, 3
"""A stand-in hidden state says whose it is by three digits of this base: every float type holds those exactly."""


class WrongForm(RuntimeError):
    """A hook returned what the runner cannot consume; the message says what would be right."""


def __getattr__(name: str) -> type:
    """The class for a talker that is named ``spec_examples.model_check.adapter:{…}``; see ``Subject.talker``."""
    if not name.startswith("{"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    asked = json.loads(name)
    model = _found(asked["model"], "class")
    if not isinstance(model, type):
        raise CannotRun(f"model {asked['model']} is no class")
    factory = _found(asked["factory"], "factory") if asked["factory"] else None
    return _adapted(model, factory, asked, asked["model"])


def adapted(model: type, factory: Callable[..., Any] | None, asked: str) -> type:
    """The class for a model that a file defines."""
    return _adapted(model, factory, json.loads(asked), model.__name__)


def _found(name: str, what: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except AttributeError as error:
        raise CannotRun(f"{what} {name}: {module} has no {attribute}") from error
    except Exception as error:
        raise CannotRun(f"{what} {name} does not import: {type(error).__name__}: {error}") from error


def _adapted(model: type, factory: Callable[..., Any] | None, asked: Mapping[str, Any], name: str) -> type:
    if factory is not None and not callable(factory):
        raise CannotRun(f"the factory of {name} is not callable")
    view = asked["view"]
    offered = [hook for hook in HOOKS if hook == SCALAR or callable(getattr(model, hook, None))]
    shown = [hook for hook in offered if view["batched"] or hook not in BATCHED]
    body: dict[str, Any] = {"shown": tuple(shown), **{hook: _DELEGATES[hook] for hook in shown}}
    body |= {"model_class": model, "factory": staticmethod(factory) if factory else None}
    body |= {"prompts": asked.get("prompts", {})}
    body |= {"view": dict(view), "called": name, "__module__": __name__}
    return type(f"Checked{model.__name__}", (Adapter,), body)


class Adapter(nn.Module):
    """The model as the runner sees it. ``factory`` is called with the ``VllmConfig`` where there is one.

    The author may say on the factory, or on the class: ``check_vocab_size``, ids below which the model knows;
    ``check_tokens(request, position)``, the id that stands there; ``check_information(request, prompt_len)``, what an
    engine would send along with that request; ``check_embeds_first``, that ``input_embeds`` are the model's own
    embeddings of the ids, as a runner has them for a multimodal model; and ``check_forward``, that its ``forward`` and
    ``make_omni_output`` are called for what they do to its state.
    """

    has_preprocess = True
    have_multimodal_outputs = True
    model_class: type
    factory: Callable[..., Any] | None
    view: dict[str, bool]
    prompts: dict[str, list[int]]
    called: str
    shown: tuple[str, ...]

    def __init__(self, *, vllm_config: Any = None, prefix: str = "") -> None:
        super().__init__()
        config = vllm_config.model_config
        self.width, self.dtype = config.hf_config.hidden_size, config.dtype
        self.says = self.factory or self.model_class
        self.names: dict[int, str] = {}
        self.tokens: dict[int, int] = {}
        self.made: Any = None
        self.sent: dict[str, Mapping[str, Any]] = {}
        self.met: set[str] = set()
        self.lengths = {request: list(lengths) for request, lengths in self.prompts.items()}
        torch.manual_seed(0)  # each run builds the model anew, with the same random weights
        # Not a submodule: vLLM's loader would fill its weights with its own random numbers.
        object.__setattr__(self, "subject", self._built(vllm_config, prefix))
        self.has_postprocess = bool(getattr(self.subject, "has_postprocess", False))
        self._agree_on_hooks()
        if getattr(self.says, "check_forward", False) and callable(getattr(self.subject, "make_omni_output", None)):
            object.__setattr__(self, "make_omni_output", self._make_omni_output)

    def _built(self, vllm_config: Any, prefix: str) -> Any:
        how = "its factory" if self.factory else "its constructor"
        try:
            if self.factory:
                built = self.factory(vllm_config)
            else:
                built = self.model_class(vllm_config=vllm_config, prefix=prefix)
        except Exception as error:
            text = " ".join(str(error).split())
            raise CannotRun(f"model {self.called}: {how} raised {type(error).__name__}: {text}") from error
        if not isinstance(built, self.model_class):
            wanted = self.model_class.__name__
            raise CannotRun(f"model {self.called}: {how} gave a {type(built).__name__}, not a {wanted}")
        if not getattr(built, "has_preprocess", False):
            raise CannotRun(f"model {self.called} does not set has_preprocess = True, so no runner calls its hooks")
        for method in (SCALAR, "embed_input_ids"):
            if not callable(getattr(built, method, None)):
                raise CannotRun(f"model {self.called} has no {method}, which the runner calls")
        return built.eval() if isinstance(built, nn.Module) else built

    def _agree_on_hooks(self) -> None:
        """A hook may be set on the instance, or switched off there."""
        for hook in HOOKS:
            there, shown = callable(getattr(self.subject, hook, None)), hook in self.shown
            if shown and not there:
                object.__setattr__(self, hook, None)
            elif there and not shown and (self.view["batched"] or hook not in BATCHED):
                one = recorded(type("One", (), {hook: _DELEGATES[hook]}))
                object.__setattr__(self, hook, types.MethodType(vars(one)[hook], self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith(DELEGATED) and name not in HOOKS and "subject" in self.__dict__:
            return getattr(self.__dict__["subject"], name)
        return super().__getattr__(name)

    def embed_input_ids(self, input_ids: torch.Tensor, *arguments: Any, **options: Any) -> torch.Tensor:
        """As the model embeds its own ids."""
        return self.subject.embed_input_ids(self.own_ids(input_ids), *arguments, **options)

    def forward(self, input_ids: torch.Tensor | None = None, **rest: Any) -> torch.Tensor:
        """A stand-in hidden state for each token, shape ``[tokens, width]``: which request's, at which position."""
        assert input_ids is not None
        if getattr(self.says, "check_forward", False):
            self.made = self.subject.forward(input_ids=self.own_ids(input_ids), **rest)
        codes = [self._code(int(token)) for token in input_ids.reshape(-1).tolist()]
        digits = torch.tensor([[code // BASE**i % BASE for i in range(DIGITS)] for code in codes])
        hidden = torch.zeros(len(codes), self.width, dtype=self.dtype)
        hidden[:, :DIGITS] = digits.to(self.dtype) / BASE
        return hidden

    def _make_omni_output(self, model_outputs: torch.Tensor, **rest: Any) -> torch.Tensor:
        """The stand-in hidden states as they are; the model is given its own."""
        self.subject.make_omni_output(self.made, **rest)
        return model_outputs

    def compute_logits(self, hidden_states: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        """``[rows, VOCAB]``: after a request's position p comes the same request's position p + 1."""
        digits = (hidden_states[:, :DIGITS].float() * BASE).round().long().tolist()
        tokens = [self.tokens[sum(digit * BASE**i for i, digit in enumerate(row))] for row in digits]
        following = (torch.tensor(tokens) + 1).clamp(max=VOCAB - 1)
        return nn.functional.one_hot(following, VOCAB).float()

    def _code(self, token: int) -> int:
        """A number for a token that does not change with what else is in the run, as its id does."""
        slot, position = divmod(token - 1, MAX_LEN)
        code = zlib.crc32(f"{self.names.get(slot)} {position}".encode()) % BASE**DIGITS
        self.tokens[code] = token
        return code

    def load_weights(self, weights: Any) -> set[str]:
        """The factory has seen to them."""
        return set()

    def own_ids(self, input_ids: torch.Tensor, request: str | None = None) -> torch.Tensor:
        """Ids of the model's vocabulary, same shape and type. ``request`` is whose they are, where that is known."""
        places = [divmod(int(i) - 1, MAX_LEN) for i in input_ids.reshape(-1).tolist()]
        if request is not None:
            self.names.update({slot: request for slot, _ in places if slot >= 0})
        ids = [self._own_id(self.names.get(slot), position) for slot, position in places]
        return torch.tensor(ids, dtype=input_ids.dtype).reshape(input_ids.shape)

    def _own_id(self, request: str | None, position: int) -> int:
        """Zero for a token that nobody knows: one that a forced row has not got yet."""
        if request is None:
            return 0
        tokens = getattr(self.says, "check_tokens", None)
        if tokens is not None:
            return int(tokens(request, position))
        token = zlib.crc32(request.encode()) % MAX_REQUESTS * MAX_LEN + position
        return 1 + token % (getattr(self.says, "check_vocab_size", VOCAB) - 1)

    def meet(self, request: str, state: dict[str, Any]) -> None:
        """A state without a name is that of a request that has just come; an earlier one of that name has ended."""
        if "request_id" not in state and request in self.met and len(self.lengths.get(request, ())) > 1:
            del self.lengths[request][0]
        self.met.add(request)
        state["request_id"] = request

    def show(self, info: dict[str, Any], span: int = 1) -> str:
        """Change what the runner says of a row into what the view lets the model see, in place; whose row it is."""
        request = str(info.get("request_id", info.get("req_id", "")))
        # phase-contract: allow[silent-progress-default] a release without the fields does not say it
        prompt_len = int(info.get("_omni_prompt_len", self.lengths.get(request, [span])[0]))
        if self.view["both_names"]:
            info.setdefault("request_id", request)
            info.setdefault("req_id", request)
        if not self.view["fields"]:
            for key in PHASE_KEYS:
                info.pop(key, None)
        information = getattr(self.says, "check_information", None)
        if information is not None:
            self.sent[request] = information(request, prompt_len)
            for key, value in self.sent[request].items():
                known = info.setdefault(key, value)
                if isinstance(known, dict) and isinstance(value, dict):  # an update is merged into what was sent
                    known.update({part: sent for part, sent in value.items() if part not in known})
        return request


def _preprocess(self: Adapter, input_ids: torch.Tensor, input_embeds: Any = None, **info: Any) -> Any:
    request = self.show(info, input_ids.numel())
    own = self.own_ids(input_ids, request)
    if getattr(self.says, "check_embeds_first", False):
        input_embeds = self.subject.embed_input_ids(own)
    result = self.subject.preprocess(input_ids=own, input_embeds=input_embeds, **info)
    if self.view["strict"]:
        # phase-contract: allow[silent-phase-default] without the flag no row is known to be decode
        one_token_decode = input_ids.numel() == 1 and info.get("_omni_is_prefill") is False
        _require_scalar_form(self, result, input_ids, one_token_decode)
    return _with_ids(_with_sent(self, result, request), own, input_ids)


def _preprocess_decode_batch(hook: str) -> Any:
    def preprocess_decode_batch(self: Adapter, *, input_ids: torch.Tensor, req_infos: Any, **rest: Any) -> Any:
        requests = [self.show(info) for info in req_infos]
        flat = input_ids.reshape(-1)
        own = torch.cat([self.own_ids(flat[i : i + 1], request) for i, request in enumerate(requests)])
        result = getattr(self.subject, hook)(input_ids=own, req_infos=req_infos, **rest)
        if self.view["strict"]:
            _require_batched_form(self, result, len(requests))
        return _with_ids(result, own, input_ids)

    return preprocess_decode_batch


def _preprocess_batch(self: Adapter, *, req_ids: Any, model_intermediate_buffer: Any, **rest: Any) -> Any:
    for request in req_ids:
        state = model_intermediate_buffer.setdefault(request, {})
        self.meet(request, state)
        self.show(state)
    if "input_ids" in rest:
        for request, start in zip(req_ids, rest["token_offsets"], strict=True):
            self.own_ids(rest["input_ids"][start : start + 1], str(request))
        rest["input_ids"] = self.own_ids(rest["input_ids"])
    return self.subject.preprocess_batch(req_ids=req_ids, model_intermediate_buffer=model_intermediate_buffer, **rest)


def _preprocess_batch_mrv2(self: Adapter, *, req_infos: Any, **rest: Any) -> Any:
    for info in req_infos:
        self.show(info)
    return self.subject.preprocess_batch_mrv2(req_infos=req_infos, **rest)


def _mtp(hook: str) -> Any:
    def mtp(self: Adapter, input_ids: Any, embeds: Any, hidden: Any, text: Any, **options: Any) -> Any:
        if "do_sample" in options:
            options["do_sample"] = False  # two runs are compared: codes are not drawn
        result = getattr(self.subject, hook)(self.own_ids(input_ids), embeds, hidden, text, **options)
        if self.view["strict"]:
            _require_mtp_form(self, hook, result, embeds.shape[0])
        return result

    return mtp


_DELEGATES: dict[str, Any] = {
    SCALAR: _preprocess,
    **{hook: _preprocess_decode_batch(hook) for hook in BATCHED},
    "preprocess_batch": _preprocess_batch,
    "preprocess_batch_mrv2": _preprocess_batch_mrv2,
    "talker_mtp": _mtp("talker_mtp"),
    "mtp": _mtp("mtp"),
}


def _with_ids(result: Any, own: torch.Tensor, given: torch.Tensor) -> Any:
    """The hook's result with the scenario's ids instead of the model's; ids of another count stay as they are."""
    if (
        isinstance(result, tuple)
        and result
        and isinstance(result[0], torch.Tensor)
        and result[0].numel() == own.numel()
    ):
        return (given, *result[1:])
    return result


def _with_sent(model: Adapter, result: Any, request: str) -> Any:
    """The hook's result, with what an engine sent in its update: ``make_omni_output`` looks for it in the state."""
    if not hasattr(model, "make_omni_output") or len(result) != 3:
        return result
    return (*result[:2], {"request_id": request, **model.sent.get(request, {}), **result[2]})


def _require_scalar_form(model: Adapter, result: Any, input_ids: torch.Tensor, one_token_decode: bool) -> None:
    if not isinstance(result, tuple) or len(result) != 3:
        raise WrongForm(f"preprocess returns three values, ids, embeddings and an update, not {_short(result)}")
    ids, embeds, update = result
    span = input_ids.numel()
    if not isinstance(ids, torch.Tensor) or ids.numel() != span:
        raise WrongForm(f"preprocess returns the {span} ids of its span, not {_short(ids)}")
    _require_rows("preprocess", "embeddings", embeds, span, model)
    if not isinstance(update, Mapping):
        raise WrongForm(f"preprocess returns its update as a mapping, not {_short(update)}")
    if one_token_decode and (callable(getattr(model, "talker_mtp", None)) or callable(getattr(model, "mtp", None))):
        inputs = update.get("mtp_inputs")
        if not isinstance(inputs, tuple) or len(inputs) != 2:
            raise WrongForm(f"a decode row of one token offers mtp_inputs, a pair of tensors, not {_short(inputs)}")
        for tensor in inputs:
            _require_rows("preprocess", "mtp_inputs", tensor, 1, model, flat=True)


def _require_batched_form(model: Adapter, result: Any, rows: int) -> None:
    lengths = (5,) if callable(getattr(model, "talker_mtp", None)) or callable(getattr(model, "mtp", None)) else (3, 5)
    if not isinstance(result, tuple) or len(result) not in lengths:
        wanted = "five values: ids, embeddings, hidden states, text steps, updates"
        raise WrongForm(f"the batched hook of a model with MTP returns {wanted}, not {_short(result)}")
    if not isinstance(result[0], torch.Tensor) or result[0].numel() != rows:
        raise WrongForm(f"the batched hook returns one id a row, {rows}, not {_short(result[0])}")
    for name, tensor in zip(("embeddings", "hidden states", "text steps"), result[1:-1], strict=False):
        _require_rows("the batched hook", name, tensor, rows, model)
    if len(result[-1]) != rows or not all(isinstance(update, Mapping) for update in result[-1]):
        raise WrongForm(f"the batched hook returns one update a row, {rows}, not {_short(result[-1])}")


def _require_mtp_form(model: Adapter, hook: str, result: Any, rows: int) -> None:
    if not isinstance(result, tuple) or len(result) != 2:
        raise WrongForm(f"{hook} returns embeddings and codes, not {_short(result)}")
    _require_rows(hook, "embeddings", result[0], rows, model)
    if not isinstance(result[1], torch.Tensor) or result[1].shape[:1] != (rows,) or result[1].is_floating_point():
        raise WrongForm(f"{hook} returns codes as integers, one row for each of {rows}, not {_short(result[1])}")


def _require_rows(who: str, what: str, tensor: Any, rows: int, model: Adapter, flat: bool = False) -> None:
    """``[rows, width]`` of the model's type; ``flat`` admits ``[width]`` and ``[1, 1, width]`` for one row."""
    shape = tuple(tensor.shape) if isinstance(tensor, torch.Tensor) else None
    right = shape is not None and (tensor.numel() == rows * model.width if flat else shape == (rows, model.width))
    if not right or tensor.dtype != model.dtype:
        wanted = f"{str(model.dtype).removeprefix('torch.')} of shape [{rows}, {model.width}]"
        raise WrongForm(f"{who} returns {what} as {wanted}, not {_short(tensor)}")
    if not bool(torch.isfinite(tensor).all()):
        raise WrongForm(f"{who} returns {what} with a value that is no finite number")


def _short(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} of shape {list(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"{len(value)} values" if isinstance(value, tuple) else f"a list of {len(value)}"
    return "nothing" if value is None else f"a {type(value).__name__}"
