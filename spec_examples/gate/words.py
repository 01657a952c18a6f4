"""A scenario in the words of ``phase-contract trace``: how its options are read, and the command for a scenario."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace

from spec_examples.scenario import Growth, InvalidScenario, Limits, Plant, Request, Scenario

DEFAULTS = Limits()
DEFAULT_TOKENS = 3
"""Tokens to generate where nothing is said."""

LATEST_STEP = 1_000
"""Nothing that may be asked for is still running by then."""


def request_of(text: str) -> Request:
    """What ``--request`` says. Raises ``ArgumentTypeError`` with what would be right."""
    body, *more = text.split(",")
    prompt_len, max_tokens, arrives = _part(text, body, "P, P:G or P:G@STEP, such as 5:8")
    request = Request(prompt_len, DEFAULT_TOKENS if max_tokens is None else max_tokens, arrives=arrives or 0)
    for word in more:
        request = replace(request, **_said(text, word, request))  # type: ignore[arg-type]
    return request


def _said(text: str, word: str, request: Request) -> dict[str, object]:
    """What one word after the numbers says of a request."""
    name, equals, value = word.partition("=")
    if word == "embeds":
        return {"embeds": True}
    if name == "id" and value:
        return {"id": value}
    if name in ("abort", "cycle", "seed") and value.isdecimal():
        return {{"abort": "aborts"}.get(name, name): int(value)}
    if name == "same" and value.rpartition(":")[2].isdecimal():
        other, _, tokens = value.rpartition(":")
        return {"same_as": other, "same_tokens": int(tokens)}
    if name == "grow" and equals:
        more, max_tokens, at = _part(text, value, "grow=P:G@STEP, such as grow=6:2@4")
        if at is not None:
            return {"grows": (*request.grows, Growth(more, at, DEFAULT_TOKENS if max_tokens is None else max_tokens))}
    right = "id=NAME, abort=STEP, same=NAME:N, cycle=N, grow=P:G@STEP, seed=N or embeds"
    raise argparse.ArgumentTypeError(f"{text!r}: {word!r} is not {right}")


def _part(text: str, part: str, right: str) -> tuple[int, int | None, int | None]:
    """``P:G@STEP`` as numbers."""
    body, at, step = part.partition("@")
    tokens, colon, generate = body.partition(":")
    try:
        numbers = int(tokens), int(generate) if colon else None, int(step) if at else None
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not {right}") from error
    if numbers[2] is not None and not 0 <= numbers[2] <= LATEST_STEP:
        raise argparse.ArgumentTypeError(f"{text!r}: a step is 0 to {LATEST_STEP}, not {numbers[2]}")
    return numbers


def plant_of(text: str) -> Plant:
    """What ``--plant`` says. Raises ``ArgumentTypeError`` with what would be right."""
    name, _, rest = text.rpartition("@")
    step, *values = rest.split(":")
    try:
        if len(values) not in (0, 3) or (values and values[2] not in ("prefill", "decode")):
            raise ValueError
        chosen = (int(values[0]), int(values[1]), values[2] == "prefill") if values else ()
        return Plant(name, int(step), *chosen)
    except ValueError as error:
        right = "NAME@STEP or NAME@STEP:P:C:prefill, such as a@2 or a@2:99:0:prefill"
        raise argparse.ArgumentTypeError(f"{text!r} is not {right}") from error


def command_of(scenario: Scenario, vllm_omni: str = "", runner: str = "") -> str:
    """The command that runs ``scenario`` again. Raises ``InvalidScenario`` for one of forced rows or with a source."""
    if not scenario.requests or not isinstance(scenario.talker, str):
        raise InvalidScenario("the command asks for requests, and for a talker by its name")
    words = ["phase-contract", "trace"]
    for place, request in enumerate(scenario.requests):
        words += ["--request", _request_word(request, place)]
    limits, sequences = scenario.limits, min(DEFAULTS.sequences, scenario.limits.budget)
    given = {
        "--budget": (limits.budget, DEFAULTS.budget),
        "--sequences": (limits.sequences, sequences),
        "--blocks": (limits.blocks, DEFAULTS.blocks),
        "--block-size": (limits.block_size, DEFAULTS.block_size),
        "--long-prefill-threshold": (limits.long_prefill_threshold, DEFAULTS.long_prefill_threshold),
        "--drafts": (limits.speculative_tokens, DEFAULTS.speculative_tokens),
        "--talker": (scenario.talker, "scalar"),
        "--vllm-omni": (vllm_omni, ""),
        "--runner": (runner, ""),
    }
    for option, (value, usual) in given.items():
        words += [option, str(value)] if value != usual else []
    words += ["--no-chunked-prefill"] if not limits.chunked_prefill else []
    words += ["--prefix-caching"] if limits.prefix_caching else []
    words += ["--async"] if limits.async_scheduling else []
    words += ["--prompt-embeds"] if limits.prompt_embeds else []
    for plant in scenario.planted:
        phase = "prefill" if plant.is_prefill else "decode"
        words += ["--plant", f"{plant.request}@{plant.at}:{plant.prompt_len}:{plant.computed}:{phase}"]
    return shlex.join(words)


def _request_word(request: Request, place: int) -> str:
    """As ``request_of`` reads it; a name that its place gives it is left out."""
    words = [f"{request.prompt_len}:{request.max_tokens}" + (f"@{request.arrives}" if request.arrives else "")]
    words += [f"id={request.id}"] if request.id != chr(ord("a") + place) else []
    words += [f"abort={request.aborts}"] if request.aborts is not None else []
    words += [f"same={request.same_as}:{request.same_tokens}"] if request.same_as else []
    words += [f"cycle={request.cycle}"] if request.cycle else []
    words += [f"grow={growth.tokens}:{growth.max_tokens}@{growth.at}" for growth in request.grows]
    words += [f"seed={request.seed}"] if request.seed is not None else []
    words += ["embeds"] if request.embeds else []
    return ",".join(words)
