"""What is asked of a runner: a talker, and the requests or the rows that it is given. Plain data.

A scenario crosses a process boundary as JSON and comes back equal, so the same object serves a block on a
page, a test, the command line, and the worker process of any release.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec

MAX_LEN = 128
"""Tokens that one request may reach, prompt and generated together: the stub's ``max_model_len``."""

MAX_REQUESTS = 16
"""Requests that may be alive in one step: the stub tells this many apart."""

STUB_TALKERS = ("scalar", "batched", "scalar-no-mtp", "batched-no-mtp")
"""The stub talkers that may be named: which per-row hook they offer, and whether they offer MTP."""


class InvalidScenario(ValueError):
    """A scenario that no scheduler and no runner could be asked about; the message says what would be right."""


@dataclass(frozen=True)
class Source:
    """A talker given as the text of a self-contained Python file, such as a block of a page.

    ``label`` is what error messages call the file (``docs/contract/hooks.md:40`` or ``my_talker.py``).
    """

    text: str
    cls: str
    label: str = "<source>"


@dataclass(frozen=True)
class Request:
    """One request for the real scheduler.

    ``prompt_len`` and ``max_tokens`` are counted in tokens. ``id`` is given by position (``a``, ``b``, …) where
    it is left empty. The request is added before step ``arrives`` (0 is the first) and, where ``aborts`` is
    set, aborted before that step.
    """

    prompt_len: int
    max_tokens: int = 3
    id: str = ""
    arrives: int = 0
    aborts: int | None = None


@dataclass(frozen=True)
class Row:
    """One forced row of a step: ``span`` tokens of a request, of which ``computed`` tokens were processed before.

    A request that appears for the first time is new to the runner and starts at ``computed``, as after a
    prefix-cache hit; one that appears again goes on, at whatever progress the row states.
    """

    prompt_len: int
    computed: int
    span: int
    request: str = ""


@dataclass(frozen=True)
class Limits:
    """What the scheduler works under.

    ``budget`` is in tokens a step; ``blocks`` counts KV blocks of ``block_size`` tokens each.
    """

    budget: int = 8
    sequences: int = 4
    blocks: int = 64
    block_size: int = 4
    chunked_prefill: bool = True
    prefix_caching: bool = False
    long_prefill_threshold: int = 0


@dataclass(frozen=True)
class Scenario:
    """A talker with either ``requests`` (the real scheduler makes the steps) or forced ``steps``.

    ``talker`` is one of ``STUB_TALKERS``, ``package.module:Class``, or a ``Source``.
    Construction raises ``InvalidScenario`` where nothing could be run.
    """

    talker: str | Source = "scalar"
    requests: tuple[Request, ...] = ()
    steps: tuple[tuple[Row, ...], ...] = ()
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        object.__setattr__(self, "requests", _named(tuple(self.requests), "id"))
        object.__setattr__(self, "steps", tuple(_named(tuple(step), "request") for step in self.steps))
        _validate(self)

    def to_json(self) -> str:
        """One line of JSON; ``from_json`` gives back an equal scenario."""
        return msgspec.json.encode(self, order="sorted").decode()

    @staticmethod
    def from_json(text: str | bytes) -> Scenario:
        """Raises ``InvalidScenario`` for text that is not a scenario."""
        try:
            return msgspec.json.decode(text, type=Scenario)
        except msgspec.MsgspecError as error:
            raise InvalidScenario(f"not a scenario: {error}") from error

    @property
    def digest(self) -> str:
        """SHA-256 of the JSON form: equal scenarios have equal digests, in every process."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


Named = TypeVar("Named", Request, Row)


def _named(items: tuple[Named, ...], field: str) -> tuple[Named, ...]:
    """Give unnamed requests of one batch the names a, b, c, … by position."""
    names = (chr(ord("a") + i) if i < 26 else f"r{i}" for i in range(len(items)))
    return tuple(
        item if getattr(item, field) else replace(item, **{field: name})  # type: ignore[arg-type]
        for item, name in zip(items, names, strict=True)
    )


def _validate(scenario: Scenario) -> None:
    if isinstance(scenario.talker, str) and scenario.talker not in STUB_TALKERS and ":" not in scenario.talker:
        raise InvalidScenario(
            f"talker {scenario.talker!r} is neither one of {', '.join(STUB_TALKERS)} nor package.module:Class"
        )
    if bool(scenario.requests) == bool(scenario.steps):
        raise InvalidScenario("a scenario has either requests or steps of forced rows, and not both")
    _validate_limits(scenario.limits)
    for request in scenario.requests:
        _validate_request(request)
    ids = [request.id for request in scenario.requests]
    if len(ids) != len(set(ids)) and not _reused_after_abort(scenario.requests):
        raise InvalidScenario(f"request ids are not unique: {', '.join(ids)}")
    for number, step in enumerate(scenario.steps, start=1):
        _validate_step(number, step)


def _validate_limits(limits: Limits) -> None:
    for name in ("budget", "sequences", "blocks", "block_size"):
        if getattr(limits, name) < 1:
            raise InvalidScenario(f"{name} is {getattr(limits, name)}; it has to be at least 1")
    if limits.budget < limits.sequences:
        raise InvalidScenario(
            f"a budget of {limits.budget} tokens is below {limits.sequences} sequences, which vLLM refuses"
        )


def _validate_request(request: Request) -> None:
    if request.prompt_len < 1:
        raise InvalidScenario(f"prompt length {request.prompt_len}; a prompt has at least one token")
    if request.max_tokens < 1:
        raise InvalidScenario(f"{request.max_tokens} tokens to generate; at least one is needed")
    if request.prompt_len + request.max_tokens > MAX_LEN:
        raise InvalidScenario(
            f"prompt {request.prompt_len} and {request.max_tokens} to generate exceed {MAX_LEN} tokens"
        )


def _reused_after_abort(requests: tuple[Request, ...]) -> bool:
    """Whether every repeated id belongs to requests of which the earlier one was aborted before the later arrives."""
    latest: dict[str, Request] = {}
    for request in requests:
        earlier = latest.get(request.id)
        if earlier and (earlier.aborts is None or earlier.aborts > request.arrives):
            return False
        latest[request.id] = request
    return True


def _validate_step(number: int, step: tuple[Row, ...]) -> None:
    if not step:
        raise InvalidScenario(f"step {number} has no rows")
    if len(step) > MAX_REQUESTS:
        raise InvalidScenario(f"step {number} has {len(step)} rows; at most {MAX_REQUESTS} are told apart")
    names = [row.request for row in step]
    if len(set(names)) != len(names):
        raise InvalidScenario(f"step {number} schedules a request twice: {', '.join(names)}")
    for row in step:
        if row.prompt_len < 1:
            raise InvalidScenario(f"prompt length {row.prompt_len}; a prompt has at least one token")
        if row.computed < 0:
            raise InvalidScenario(f"{row.computed} computed tokens; progress is never negative")
        if row.span < 1:
            raise InvalidScenario(f"a span of {row.span}; the scheduler gives a row at least one token")
        if max(row.prompt_len, row.computed + row.span) > MAX_LEN:
            raise InvalidScenario(f"row ({row.prompt_len}, {row.computed}, {row.span}) exceeds {MAX_LEN} tokens")


CONTROL = Scenario(talker="scalar-no-mtp", requests=(Request(prompt_len=2, max_tokens=1),))
"""The smallest run that a runner has to finish before anything is judged: one two-token prefill without MTP."""
