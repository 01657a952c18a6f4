"""``run``: what pages and people call. It puts a scenario to a target and gives back the trace.

On a page the target is that of the check. Anywhere else it is the installed runner, in a process that is started on the
first call and ends with the interpreter.
"""

from __future__ import annotations

import atexit
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from spec_examples.scenario import MAX_LEN, STUB_TALKERS, InvalidScenario, Limits, Plant, Request, Row, Scenario, Source
from spec_examples.targets import Session, Target, resolve
from spec_examples.targets.target import INSTALLED, installed_version
from spec_examples.trace import Trace

SETTINGS = {
    "enable_chunked_prefill": "chunked_prefill",
    "max_num_batched_tokens": "budget",
    "max_num_seqs": "sequences",
    "long_prefill_token_threshold": "long_prefill_threshold",
}
"""Scheduler settings that a page may configure, under vLLM's names, and the field of ``Limits`` that each is."""

SETTINGS_LANGUAGES = ("yaml", "toml", "json")
"""In which settings may be written; each is the ending of a file's name."""

FORCED_BUDGET = 64
"""Tokens a step that forced rows may have, unless they need more: no scheduler limits them."""


class RunnerRaised(RuntimeError):
    """The runner, or a hook that it called, raised. ``trace`` ends with the step in which it did."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace.error)
        self.trace = trace


Naming = Literal["release", "runner"]
"""What a page names of a target."""


@dataclass(frozen=True)
class Made:
    """One trace that was made, and how.

    ``named`` says that it shows another target than that of the check, or a stop that the page itself deals with.
    """

    target: Target
    scenario: Scenario
    trace: Trace
    named: bool = False


@dataclass
class Context:
    """Where ``run`` runs: a session, its target, the files that a page has shown, and what was made so far."""

    session: Session
    target: Target
    files: dict[str, Source] = field(default_factory=dict)
    settings: dict[str, dict[str, bool | int]] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)

    def put(self, target: Target, scenario: Scenario, *, named: Naming | None = None) -> Trace:
        """The trace of a scenario on a target, kept with those made so far; raises as ``Session.run`` does.

        ``named`` is what the page named of the target, if anything. One that names the runner alone means the check's
        own target where that is it; only a stop is the page's own business then.
        """
        trace = self.session.run(scenario, target)
        other = named == "release" or (named == "runner" and (target != self.target or trace.error is not None))
        self.made.append(Made(target, scenario, trace, other))
        return trace


_current: ContextVar[Context | None] = ContextVar("phase_contract_context", default=None)


@contextmanager
def running(context: Context) -> Iterator[Context]:
    """Let ``run`` use ``context`` within the block."""
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def current() -> Context:
    """The context in force; outside of a check, one with the installed runner."""
    context = _current.get()
    if context is None:
        session = Session(say=_say)
        atexit.register(session.close)
        context = Context(session, resolve())
        _current.set(context)
    return context


def run(
    *rows_or_requests: Row | Request,
    steps: Sequence[Sequence[Row]] = (),
    talker: str = "scalar",
    limits: Limits | None = None,
    planted: Sequence[Plant] = (),
    on: str | None = None,
    runner: str | None = None,
) -> Trace:
    """Run requests under the real scheduler, or forced rows, on the real runner.

    Give either requests, or the rows of one step, or ``steps`` of rows. ``talker`` is one of the stub talkers
    (``scalar``, ``batched``, ``scalar-no-mtp``, ``batched-no-mtp``), ``package.module:Class``, or ``file.py:Class``
    for a file (on a page: a block with that title). ``planted`` are phase keys that stand in intermediate state,
    although no runner wrote them. ``on`` names another release, with its AR runner unless ``runner`` names another.
    Without ``on``, ``runner="ar"`` asks a runner under test that is a class of its own (``package.module:Class``).

    Raises ``InvalidScenario`` for what no scheduler would ask, ``TargetUnavailable`` where there is no such runner,
    and ``RunnerRaised`` where the runner or a hook raises.
    """
    context = current()
    scenario = _scenario(rows_or_requests, steps, _talker(talker, context), limits)
    if planted:
        scenario = replace(scenario, planted=tuple(planted))
    return put(scenario, on=on, runner=runner)


def put(scenario: Scenario, *, on: str | None = None, runner: str | None = None) -> Trace:
    """The trace of a scenario, on the target in force or the one that is named; raises as ``run`` does."""
    context = current()
    if on:
        target = resolve(place(on), runner or "ar")
    else:
        target = context.target.with_runner(meant(context.target, runner)) if runner else context.target
    trace = context.put(target, scenario, named="release" if on else "runner" if runner else None)
    if trace.error:
        raise RunnerRaised(trace)
    return trace


def meant(checked: Target, runner: str) -> str:
    """Return the runner to ask where a page writes ``runner`` and names no release.

    An example that is written for the AR runner asks the runner under test, if that is a class of its own: it may have
    been written to take the place of the AR runner. Other runners are what they are called.
    """
    return checked.runner if runner == "ar" and ":" in checked.runner else runner


def place(on: str) -> str:
    """Return where a page's release is. The environment's own package serves for its version: nothing is downloaded."""
    return INSTALLED if on == installed_version() else on


def scalar_twin(scenario: Scenario) -> Scenario | None:
    """The same steps for the stub talker that has the scalar hook alone; ``None`` where the talker has no such twin."""
    talker = scenario.talker
    if not isinstance(talker, str) or "atched" not in talker:
        return None
    return replace(scenario, talker=talker.replace("batched", "scalar").replace("Batched", "Scalar"))


def settings(file: str, **more: bool | int) -> Limits:
    """The limits that a stage's settings ask for.

    ``file`` is YAML, TOML or JSON, by its ending: shown on the page under that title, or on disk.

    ``more`` are fields of ``Limits`` that the file leaves open. Raises ``InvalidScenario`` for a key that is not known.
    """
    shown = current().settings
    if file in shown:
        return limits_of(shown[file], **more)
    language = Path(file).suffix.removeprefix(".").replace("yml", "yaml")
    try:
        configured = parsed_settings(Path(file).read_text(encoding="utf-8"), language)
    except (OSError, UnicodeDecodeError, InvalidSettings) as error:
        raise InvalidScenario(f"settings {file}: {' '.join(str(error).split())}") from error
    return limits_of(configured, **more)


class InvalidSettings(ValueError):
    """Text that is not in its language. ``line`` is 0-based, ``None`` where the parser does not say."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def parsed_settings(text: str, language: str) -> Any:
    """What ``text`` holds. Raises ``InvalidSettings``."""
    import yaml

    try:
        if language == "toml":
            return tomllib.loads(text)
        if language == "json":
            return json.loads(text)
        if language == "yaml":
            return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise InvalidSettings(f"not YAML: {getattr(error, 'problem', None) or error}", mark and mark.line) from error
    except json.JSONDecodeError as error:
        raise InvalidSettings(f"not JSON: {error.msg}", error.lineno - 1) from error
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        said = str(error).partition(" (at ")[0]
        raise InvalidSettings(f"not TOML: {said}", int(found[1]) - 1 if found else None) from error
    raise InvalidSettings(f"settings are a file in {', '.join(SETTINGS_LANGUAGES)}, by its ending")


def limits_of(configured: object, **more: bool | int) -> Limits:
    """``Limits`` from a mapping with the names of vLLM's scheduler configuration."""
    if not isinstance(configured, dict) or not configured:
        raise InvalidScenario(f"scheduler settings are a mapping of {', '.join(SETTINGS)}")
    chosen: dict[str, bool | int] = {}
    for key, value in configured.items():
        if key not in SETTINGS:
            raise InvalidScenario(f"scheduler setting {key!r} is not one of {', '.join(SETTINGS)}")
        wanted = type(getattr(Limits(), SETTINGS[key]))
        if type(value) is not wanted:
            raise InvalidScenario(f"scheduler setting {key} is {value!r}; it has to be of type {wanted.__name__}")
        chosen[SETTINGS[key]] = value
    if not chosen.get("chunked_prefill", True) and "budget" not in {**chosen, **more}:
        chosen["budget"] = MAX_LEN  # vLLM wants room for a whole prompt where it may not cut one
    return replace(Limits(), **{**chosen, **more})  # type: ignore[arg-type]


def _scenario(
    given: tuple[Row | Request, ...],
    steps: Sequence[Sequence[Row]],
    talker: str | Source,
    limits: Limits | None,
) -> Scenario:
    rows = tuple(item for item in given if isinstance(item, Row))
    requests = tuple(item for item in given if isinstance(item, Request))
    if len(rows) + len(requests) != len(given) or (rows and requests) or (given and steps):
        raise InvalidScenario("give either requests, or rows of one step, or steps of rows")
    if requests or not (rows or steps):
        return Scenario(talker, requests=requests, limits=limits or Limits())
    return forced(steps or (rows,), talker, limits)


def forced(steps: Sequence[Sequence[Row]], talker: str | Source = "scalar", limits: Limits | None = None) -> Scenario:
    """A scenario of forced rows, under limits that leave room for all of them."""
    widest = max((sum(row.span for row in step) for step in steps), default=1)
    most = max((len(step) for step in steps), default=1)
    room = Limits(budget=max(FORCED_BUDGET, widest), sequences=max(4, most))
    return Scenario(talker, steps=tuple(tuple(step) for step in steps), limits=limits or room)


def _talker(name: str, context: Context) -> str | Source:
    """A stub's name, a module's class, or a class in a file: shown on the page, or on disk."""
    file, _, cls = name.rpartition(":")
    if name in STUB_TALKERS or not file.endswith(".py"):
        return name
    if file in context.files:
        page = context.files[file]
        return Source(page.text, cls, page.label)
    try:
        return Source(Path(file).read_text(encoding="utf-8"), cls, file)
    except OSError as error:
        shown = ", ".join(context.files) or "none"
        raise InvalidScenario(f"talker file {file}: {error.strerror}; the page shows {shown}") from error
