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
class Growth:
    """``tokens`` more tokens of a prompt, which arrive before step ``at``; ``max_tokens`` are generated after them."""

    tokens: int
    at: int
    max_tokens: int = 3


@dataclass(frozen=True)
class Request:
    """One request for the real scheduler.

    ``prompt_len`` and ``max_tokens`` are counted in tokens. ``id`` is given by position (``a``, ``b``, …) where
    it is left empty. The request is added before step ``arrives`` (0 is the first) and, where ``aborts`` is
    set, aborted before that step.

    Every token of every prompt differs from every other, unless the first ``same_tokens`` are those of the request
    ``same_as``, or the prompt repeats its first ``cycle`` tokens. A request that ``grows`` is resumable: its prompt
    goes on where it was, and it ends after the last growth. ``embeds`` gives the prompt as embeddings without ids.
    ``seed`` is for MTP's sampling alone, under the name that talkers have for it (``tts_local_seed``).
    """

    prompt_len: int
    max_tokens: int = 3
    id: str = ""
    arrives: int = 0
    aborts: int | None = None
    same_as: str = ""
    same_tokens: int = 0
    cycle: int = 0
    grows: tuple[Growth, ...] = ()
    embeds: bool = False
    seed: int | None = None

    @property
    def most_tokens(self) -> int:
        """Tokens that it may reach, prompt and generated together."""
        return self.prompt_len + self.max_tokens + sum(growth.tokens + growth.max_tokens for growth in self.grows)


@dataclass(frozen=True)
class Plant:
    """Phase keys that stand in the intermediate state of ``request`` when step ``at`` reaches the runner.

    The scheduler's request has to be in the step, or to have been in an earlier one, for the runner to have a state.
    """

    request: str
    at: int
    prompt_len: int = 99
    computed: int = 98
    is_prefill: bool = False


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

    ``budget`` is in tokens a step; ``blocks`` counts KV blocks of ``block_size`` tokens each. With
    ``async_scheduling`` a step is scheduled and run before the output of the one before it is known. With
    ``speculative_tokens`` that many tokens are drafted by n-grams, and verified in the next step. With
    ``prompt_embeds`` prompts may come as embeddings, and the runner embeds the ids of all others itself.
    """

    budget: int = 8
    sequences: int = 4
    blocks: int = 64
    block_size: int = 4
    chunked_prefill: bool = True
    prefix_caching: bool = False
    long_prefill_threshold: int = 0
    async_scheduling: bool = False
    speculative_tokens: int = 0
    prompt_embeds: bool = False


@dataclass(frozen=True)
class Scenario:
    """A talker with either ``requests`` (the real scheduler makes the steps) or forced ``steps``.

    ``planted`` is what stands in intermediate state although no runner wrote it. ``talker`` is one of
    ``STUB_TALKERS``, ``package.module:Class``, or a ``Source``.

    Construction raises ``InvalidScenario`` where nothing could be run.
    """

    talker: str | Source = "scalar"
    requests: tuple[Request, ...] = ()
    steps: tuple[tuple[Row, ...], ...] = ()
    limits: Limits = Limits()
    planted: tuple[Plant, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "requests", _named(tuple(self.requests), "id"))
        object.__setattr__(self, "steps", tuple(_named(tuple(step), "request") for step in self.steps))
        object.__setattr__(self, "planted", tuple(self.planted))
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
    _validate_shared(scenario.requests)
    ids = [request.id for request in scenario.requests]
    if len(ids) != len(set(ids)) and not _reused(scenario.requests):
        raise InvalidScenario(f"request ids are not unique: {', '.join(ids)}")
    for number, step in enumerate(scenario.steps, start=1):
        _validate_step(number, step)
    _validate_planted(scenario)


def _validate_limits(limits: Limits) -> None:
    for name in ("budget", "sequences", "blocks", "block_size"):
        if getattr(limits, name) < 1:
            raise InvalidScenario(f"{name} is {getattr(limits, name)}; it has to be at least 1")
    if limits.budget < limits.sequences:
        raise InvalidScenario(
            f"a budget of {limits.budget} tokens is below {limits.sequences} sequences, which vLLM refuses"
        )
    for name in ("long_prefill_threshold", "speculative_tokens"):
        if getattr(limits, name) < 0:
            raise InvalidScenario(f"{name} is {getattr(limits, name)}; 0 switches it off")


def _validate_request(request: Request) -> None:
    if request.prompt_len < 1:
        raise InvalidScenario(f"prompt length {request.prompt_len}; a prompt has at least one token")
    if request.max_tokens < 1:
        raise InvalidScenario(f"{request.max_tokens} tokens to generate; at least one is needed")
    if request.most_tokens > MAX_LEN:
        grown = " with what it grows by" if request.grows else ""
        raise InvalidScenario(
            f"prompt {request.prompt_len} and {request.max_tokens} to generate{grown} exceed {MAX_LEN} tokens"
        )
    if request.cycle < 0:
        raise InvalidScenario(f"a cycle of {request.cycle} tokens; 0 makes every token of a prompt different")
    for growth in request.grows:
        if growth.tokens < 1 or growth.max_tokens < 1:
            raise InvalidScenario(f"request {request.id} grows by {growth}: both counts are at least 1")
        if growth.at <= request.arrives:
            raise InvalidScenario(
                f"request {request.id} grows before step {growth.at}; it arrives before {request.arrives}"
            )
    if request.embeds and (request.grows or request.same_as or request.cycle):
        raise InvalidScenario(f"request {request.id} has embeddings and no ids, which can neither grow nor be shared")


def _validate_shared(requests: tuple[Request, ...]) -> None:
    """What a prompt shares is the beginning of another's, and that one's own."""
    named = {request.id: request for request in requests}
    for request in requests:
        if not request.same_as and not request.same_tokens:
            continue
        other = named.get(request.same_as)
        if other is None or other.same_as or other.id == request.id:
            raise InvalidScenario(
                f"request {request.id} shares tokens of {request.same_as!r}, whose prompt is no own one"
            )
        if not 1 <= request.same_tokens <= min(request.prompt_len, other.prompt_len):
            raise InvalidScenario(
                f"request {request.id} shares {request.same_tokens} tokens of {other.id}: at least 1, and at most "
                f"{min(request.prompt_len, other.prompt_len)}, which both have"
            )


def _validate_planted(scenario: Scenario) -> None:
    known = {request.id for request in scenario.requests} | {row.request for step in scenario.steps for row in step}
    for plant in scenario.planted:
        if plant.request not in known:
            raise InvalidScenario(f"planted for request {plant.request!r}, which the scenario does not have")
        if plant.at < 0:
            raise InvalidScenario(f"planted before step {plant.at}; 0 is the first")


def _reused(requests: tuple[Request, ...]) -> bool:
    """Whether every repeated id belongs to requests of which the earlier one may have ended when the later arrives.

    Where it is not aborted before, that is known when the scenario is run.
    """
    latest: dict[str, Request] = {}
    for request in requests:
        earlier = latest.get(request.id)
        if earlier and (earlier.arrives if earlier.aborts is None else earlier.aborts - 1) >= request.arrives:
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
