"""Execute a code block by its language: Python, a file, expected output, a console session, settings."""

from __future__ import annotations

import io
import shlex
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from spec_examples.execution.interpreter import Died
from spec_examples.execution.messages import Done
from spec_examples.execution.result import Disagreement, Rewrite, Unaskable, Unexpected
from spec_examples.execution.show import difference
from spec_examples.markdown import Example
from spec_examples.running import (
    SETTINGS_LANGUAGES,
    InvalidSettings,
    RunnerRaised,
    limits_of,
    parsed_settings,
    put,
)
from spec_examples.scenario import InvalidScenario, Limits, Request, Scenario, Source
from spec_examples.targets import TargetFailed, TargetUnavailable

if TYPE_CHECKING:
    from spec_examples.execution.page import PageExecution

OUTPUT = "Output"
"""Title of the block that shows what the Python block before it prints."""

FILE_SCENARIO = {"requests": (Request(5), Request(1)), "limits": Limits(budget=4)}
"""What a talker in a file is given: a prompt cut so that one token is left, beside a one-token prompt, then decode."""


def evaluate(page: PageExecution, block: Example) -> None:
    """Raises ``Disagreement`` where page and runner disagree, ``Unaskable`` where nothing can execute the block."""
    if block.language == "python" and block.title:
        _file(page, block)
    elif block.language == "python":
        _python(page, block)
    elif block.language == "text" and block.title == OUTPUT:
        _output(page, block)
    elif block.language == "console":
        _console(page, block)
    elif block.language in SETTINGS_LANGUAGES:
        _settings(page, block)
    else:
        name = f"a {block.language or 'nameless'} block" + (f" titled {block.title!r}" if block.title else "")
        raise Unaskable(
            f"nothing executes {name}: use python, text titled {OUTPUT!r} after a python block, console, yaml, toml "
            "or json, or say why not in a comment before it"
        )


def _python(page: PageExecution, block: Example) -> None:
    """Run in the page's namespace; what it prints has to be shown by the block after it."""
    before = len(page.context.made)
    try:
        done = page.interpreter.execute(block.source, str(block.path), block.source_line, page.context)
    except Died as died:
        raise Disagreement(died.message, line=died.line) from died
    if done.kind != "ended":
        raise _stopped(page, block, done)
    page.printed[block.line] = done.printed
    following = page.following(block)
    if done.printed.strip() and not (following and following.title == OUTPUT):
        message = f"this prints what the page does not show; add a text block titled {OUTPUT!r}"
        shown = Rewrite(done.printed.rstrip(), added=True)
        raise Disagreement(message, (), _indented(done.printed), rewrite=shown)
    if block.page.startswith("docs/contract/") and len(page.context.made) == before:
        raise Unaskable("this block runs nothing on the runner, so it shows nothing of the contract")


STOPS: dict[str, Callable[[str], Exception]] = {
    "InvalidScenario": InvalidScenario,
    "TargetUnavailable": TargetUnavailable,
    "TargetFailed": TargetFailed,
    "RunnerRaised": TargetFailed,
    "Unaskable": Unaskable,
}
"""What a block may leave unhandled, by name, and what says so here: the runner that raised is in the runs."""


def _stopped(page: PageExecution, block: Example, done: Done) -> Exception:
    """Why a block did not run to its end."""
    if done.kind in STOPS:
        return STOPS[done.kind](done.message)
    if done.kind == "name":
        return _missing(page, block, done)
    if done.kind == "assertion":
        text = block.source.splitlines()[done.line - block.source_line].strip() if done.line else ""
        said = f": {done.message}" if done.message else ""
        return Unexpected(f"does not hold on this runner: {text}{said}", line=done.line)
    if done.kind == "threads":
        return Disagreement(f"leaves a thread running ({done.message}): join it before the block ends")
    return Unexpected(done.message, line=done.line)


def _missing(page: PageExecution, block: Example, done: Done) -> Disagreement:
    """A name that an earlier block would have defined, had it run to its end, is a consequence of that block."""
    for earlier in reversed(page.page.examples):
        result = page.results.get(earlier.id)
        if earlier.line < block.line and earlier.language == "python" and result and result.outcome != "passed":
            clauses = result.clauses if result.outcome == "diverges" else ()
            message = f"needs {done.message!r} of the block at line {result.line}, which did not run to its end"
            return Unexpected(message, clauses, line=done.line)
    return Disagreement(f"NameError: name {done.message!r} is not defined", line=done.line)


def _file(page: PageExecution, block: Example) -> None:
    """A file that a person copies: known to later blocks by its title, and run here by itself."""
    from spec_examples.execution.page import defined_talkers

    if not block.title.endswith(".py"):
        raise Unaskable(f"a python block's title is the name of a file, such as my_talker.py, not {block.title!r}")
    page.context.files[block.title] = Source(block.source, "", block.title)
    try:
        talkers = defined_talkers(block.source)
    except SyntaxError as error:
        line = block.source_line + (error.lineno or 1) - 1
        raise Disagreement(f"SyntaxError: {error.msg}", line=line) from error
    if not talkers:
        raise Unaskable("this file defines no talker: no class in it has a hook that the runner calls")
    for talker in talkers:
        scenario = Scenario(Source(block.source, talker, block.title), **FILE_SCENARIO)  # type: ignore[arg-type]
        try:
            trace = put(scenario)
        except RunnerRaised as raised:
            if not _is_run_later(page, block):
                raise
            # A talker that is wrong on purpose: the block that runs it says what comes of it, and no judge does.
            trace = raised.trace
            page.context.made[-1] = replace(page.context.made[-1], named=True)
        if not any(step.hooks for step in trace.steps):
            raise Disagreement(f"no hook of {talker} was called")


def _is_run_later(page: PageExecution, block: Example) -> bool:
    later = (e for e in page.page.examples if e.line > block.line and e.language in ("python", "console"))
    return any(f"{block.title}:" in e.source for e in later)


def _output(page: PageExecution, block: Example) -> None:
    before = page.preceding(block)
    source = page.results.get(before.id) if before is not None else None
    if source is not None and source.outcome in ("failed", "error", "diverges"):
        clauses = source.clauses if source.outcome == "diverges" else ()
        raise Unexpected(f"the block at line {source.line}, which prints this, did not run to its end", clauses)
    if before is None or before.line not in page.printed:
        raise Unaskable("a block titled 'Output' follows the python block that prints it")
    printed = page.printed[before.line].rstrip()
    if printed != block.source.rstrip():
        line, detail = difference(block.source.rstrip(), printed)
        rewrite = Rewrite(printed) if printed else None
        raise Unexpected("the block before prints something else", (), detail, block.source_line + line, rewrite)
    if not block.source.strip():
        raise Disagreement("an empty output shows nothing")


def _console(page: PageExecution, block: Example) -> None:
    """Each ``$ phase-contract …`` is called as the command would be, with the runner that is already there."""
    from spec_examples.gate.cli import main

    wrong: Disagreement | None = None
    text = []
    for line, command, expected, written in list(_commands(block)):
        words = shlex.split(command)
        if words[:1] != ["phase-contract"]:
            raise Unaskable(f"a console block runs phase-contract, not {words[0] if words else 'nothing'}", line)
        out, errors = io.StringIO(), io.StringIO()
        try:
            main(words[1:], stdout=out, stderr=errors, context=page.context)
        except Exception as error:  # a fault of the command's own is red here, and the page goes on
            where = "".join(traceback.format_exception(error)[-3:])
            raise Disagreement(f"{command} stopped: {type(error).__name__}: {error}", (), where, line) from error
        observed = _trimmed(out.getvalue() + errors.getvalue())
        after = len(written) - len("\n".join(written).rstrip("\n").split("\n"))
        text += written if observed == expected else [written[0], observed, *[""] * after]
        if not observed:
            raise Disagreement(f"{command} prints nothing", (), "", line)
        if observed != expected and wrong is None:
            at, detail = difference(expected, observed)
            wrong = Unexpected(f"{command} prints something else", (), detail, line + 1 + at)
    if wrong is not None:
        wrong.rewrite = Rewrite("\n".join(text))
        raise wrong


def _commands(block: Example) -> Iterator[tuple[int, str, str, list[str]]]:
    """Line, command and expected output of each prompt in a console block, and the lines as written."""
    lines = block.source.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    if not starts or starts[0] != 0:
        raise Unaskable("a console block starts with '$ phase-contract …'")
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        expected = _trimmed("\n".join(lines[start + 1 : end]))
        yield block.source_line + start, lines[start][2:].strip(), expected, lines[start:end]


def _settings(page: PageExecution, block: Example) -> None:
    """Scheduler settings: given to a real scheduler, which has to report each of them."""
    if not block.title:
        raise Unaskable(f'a {block.language} block is a file: give it a title, such as title="stage.{block.language}"')
    try:
        configured = parsed_settings(block.source, block.language)
    except InvalidSettings as error:
        raise Unaskable(error.message, block.source_line + error.line if error.line is not None else None) from error
    limits = limits_of(configured)
    page.context.settings[block.title] = configured
    trace = put(Scenario(requests=(Request(5), Request(1)), limits=limits))
    for key, value in configured.items():
        if trace.scheduler.get(key) != value:
            seen = trace.scheduler.get(key, "nothing")
            raise Disagreement(f"{key}: the page says {value}, the scheduler works under {seen}")


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip().splitlines())
