"""What crossed the boundary between a runner and its model, step by step. Plain data, no judgement.

Everything here was observed: values that arrived at a hook, rows that a hook returned, rows that reached
``forward``. What they mean for a clause is decided in ``spec_examples.contract``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

PROMPT_LEN = "_omni_prompt_len"
NUM_COMPUTED = "_omni_num_computed_tokens"
IS_PREFILL = "_omni_is_prefill"
PHASE_KEYS = (PROMPT_LEN, NUM_COMPUTED, IS_PREFILL)
"""The three keyword names of the contract, in the order of its table."""

MTP_INPUTS = "mtp_inputs"
"""Where a hook puts what it offers to MTP; the runner takes it out again, so it is not state."""

PER_ROW_HOOKS = ("preprocess", "preprocess_decode_batch")
"""The two hooks between which each row is routed."""

Embedding = tuple[float, ...]
"""One token's embedding: ``hidden`` floats (see ``spec_examples.talker.HIDDEN``)."""


@dataclass(frozen=True)
class Value:
    """A keyword value with its exact type, such as ``int``, ``bool`` or ``numpy.int32``.

    ``value`` is the plain value where JSON can hold it, else its ``repr``.
    """

    type: str
    value: bool | int | float | str | None

    @staticmethod
    def of(value: Any) -> Value:
        """Record ``value`` with the name of its exact type, not of a base class."""
        cls = type(value)
        name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
        if value is None or cls in (bool, int, float, str):
            return Value(name, _in_json(value))
        item = getattr(value, "item", None)
        plain = item() if callable(item) and getattr(value, "size", 1) == 1 else None
        return Value(name, _in_json(plain if isinstance(plain, (bool, int, float, str)) else repr(value)))


def _in_json(value: bool | int | float | str | None) -> bool | int | float | str | None:
    """``value``, or its ``repr`` where JSON would not give back the same: not a number, huge, or no text."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    return value if value is None or -(2**63) <= value < 2**63 else repr(value)


@dataclass(frozen=True)
class ScheduledRow:
    """One row of a step as the scheduler ordered it, in the order of the runner's input batch.

    ``computed`` is the progress before the step; ``start`` the row's first token offset in the step;
    ``tokens`` the scheduled token ids as the scheduler knows them (empty for a forced row's generated
    part). ``drafts`` counts those at the end of the span that are drafts to be verified. ``seed`` is the one that the
    request asks MTP to sample with, if any.
    """

    request: str
    prompt_len: int
    computed: int
    span: int
    start: int
    tokens: tuple[int, ...] = ()
    drafts: int = 0
    seed: int | None = None


@dataclass(frozen=True)
class HookRow:
    """One request's part of a hook call.

    ``request`` is what the release passed as ``request_id`` or ``req_id`` (not promised), ``fields`` the phase keys
    that arrived, ``keywords`` the names of all keywords. ``embeds`` are the rows that the hook returned, one a token;
    ``hidden`` and ``text`` the MTP inputs that it offered; ``planted`` the phase keys that it wrote, into its update
    or into the mapping that it was given. For ``preprocess_batch``, ``fields`` are the phase keys that stand in the
    request's intermediate state at that moment, and nothing is returned; unless its model fills rows (since 0.32.0rc1):
    ``handed`` is then what the hook was told of the row (``num_computed_tokens``, ``prompt_lens``), ``filled`` whether
    it wrote the row itself, and ``embeds`` what it wrote.

    ``update`` is what a hook returned for the request's state, without MTP inputs and phase keys, and ``given`` what
    came with a call besides the phase keys: each value by its path (``codes.audio``), in the words of ``fingerprint``.
    ``returned_ids`` are the token ids that it returned. ``raised``: it raised instead of returning.
    """

    request: str | None
    input_ids: tuple[int, ...]
    fields: dict[str, Value]
    keywords: tuple[str, ...]
    embeds: tuple[Embedding, ...]
    hidden: Embedding | None = None
    text: Embedding | None = None
    planted: dict[str, Value] = field(default_factory=dict)
    filled: bool = False
    handed: dict[str, Value] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    update: dict[str, str] = field(default_factory=dict)
    returned_ids: tuple[int, ...] = ()
    raised: bool = False


@dataclass(frozen=True)
class HookCall:
    """One call of a hook: ``preprocess`` and ``postprocess`` have one row, the others a row a request."""

    hook: str
    rows: tuple[HookRow, ...]


@dataclass(frozen=True)
class MtpRow:
    """One row of an MTP call: what it was given, and the embedding and codes that it returned.

    Where the model asks for these, ``names`` are the requests that the row's part of ``req_ids`` and ``req_infos``
    name, and ``state`` what of a request's state stands in the latter, as in ``HookRow.given``. ``seed`` is that of the
    generator that it was given, if any. ``padding`` says that it stands behind the rows that MTP was called for.
    """

    input_id: int
    embeds: Embedding
    hidden: Embedding
    text: Embedding
    returned: Embedding
    codes: tuple[int, ...]
    names: tuple[str, ...] = ()
    state: dict[str, str] = field(default_factory=dict)
    seed: int | None = None
    padding: bool = False


@dataclass(frozen=True)
class Step:
    """One scheduler step as it crossed the boundary.

    ``hooks`` are in call order. ``mtp`` has one tuple of rows for each MTP call. ``forward`` holds one embedding a
    scheduled token, in the order of the input batch, and ``positions`` their positions. ``codes`` are those that the
    runner stores for each request after the step (absent where it stores none). ``sampled`` are the tokens that were
    sampled. ``preempted`` are the requests that lost their blocks in this step, ``resumed`` those that came back in it.
    ``planted`` is what the scenario put into intermediate state before the step.
    ``in_flight`` counts the steps before this one whose output the scheduler had not seen when it made this one.
    ``input_ids`` are the token ids that reached ``forward`` beside the embeddings. ``finished`` are the requests of
    which the runner was told, in this step or in an empty one before it, that they have ended.
    """

    rows: tuple[ScheduledRow, ...]
    hooks: tuple[HookCall, ...] = ()
    mtp: tuple[tuple[MtpRow, ...], ...] = ()
    forward: tuple[Embedding, ...] = ()
    positions: tuple[int, ...] = ()
    codes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    sampled: dict[str, tuple[int, ...]] = field(default_factory=dict)
    preempted: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()
    planted: dict[str, dict[str, Value]] = field(default_factory=dict)
    in_flight: int = 0
    input_ids: tuple[int, ...] = ()
    finished: tuple[str, ...] = ()

    def hook_of(self, request: str) -> tuple[HookCall, HookRow] | None:
        """The call and row in which ``request`` reached a per-row hook, or ``None``."""
        for call in self.hooks:
            if call.hook not in PER_ROW_HOOKS:
                continue
            for row in call.rows:
                if row.request == request:
                    return call, row
        return None


ErrorAt = Literal["", "runner", "vllm", "scheduler", "harness", "talker"]
"""Whose code raised: the runner under test, vLLM's own outside of its scheduler, a scheduler, what drives the runner
here, or the model. ``""`` where nothing raised.
"""


@dataclass(frozen=True)
class Environment:
    """What ran: versions as the packages report them, and the runner's class.

    ``preprocess_from`` and ``mtp_from`` name the classes that define ``_preprocess`` and ``_talker_mtp_forward`` for
    it.
    """

    vllm_omni: str = ""
    vllm: str = ""
    torch: str = ""
    python: str = ""
    runner: str = ""
    preprocess_from: str = ""
    mtp_from: str = ""


@dataclass(frozen=True)
class Trace:
    """The steps of one scenario on one target.

    ``mtp`` says whether the runner had an MTP hook to call; ``batched`` whether the model offers the batched hook.
    ``scheduler`` holds the limits that the real scheduler reports. ``error`` is one line where the runner or a hook
    raised in the last step; ``error_in`` then names the talker's own hook that raised, where it was one, and
    ``error_at`` says whose code raised. ``codes_at`` is the path in a request's state at which the runner keeps MTP's
    codes for this model.
    """

    steps: tuple[Step, ...] = ()
    mtp: bool = False
    batched: bool = False
    scheduler: dict[str, bool | int] = field(default_factory=dict)
    environment: Environment = Environment()
    error: str | None = None
    error_in: str = ""
    error_at: ErrorAt = ""
    codes_at: str = ""

    def to_json(self) -> str:
        """One line of JSON; ``from_json`` gives back an equal trace, value types included."""
        return msgspec.json.encode(self, order="sorted").decode()

    @staticmethod
    def from_json(text: str | bytes) -> Trace:
        """Raises ``ValueError`` for text that is not a trace."""
        return msgspec.json.decode(text, type=Trace)
