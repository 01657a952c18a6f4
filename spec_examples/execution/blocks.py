"""Execute a code block, by its language: Python, a file, expected output, a console session, settings."""

from __future__ import annotations

import contextlib
import io
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import yaml

from spec_examples.execution.result import Disagreement, Unaskable
from spec_examples.execution.show import difference
from spec_examples.markdown import Example
from spec_examples.running import RunnerRaised, limits_of, put
from spec_examples.scenario import InvalidScenario, Limits, Request, Scenario, Source
from spec_examples.targets import TargetFailed, TargetUnavailable

if TYPE_CHECKING:
    from spec_examples.execution.page import PageExecution

OUTPUT = "Output"
"""Title of the block that shows what the Python block before it prints."""

BLOCK_TIMEOUT_S = 120
"""A block takes milliseconds, or as long as the import of a runner that it is the first to need."""

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
    elif block.language == "yaml":
        _settings(page, block)
    else:
        name = f"a {block.language or 'nameless'} block" + (f" titled {block.title!r}" if block.title else "")
        raise Unaskable(
            f"nothing executes {name}: use python, text titled {OUTPUT!r} after a python block, console or yaml, "
            "or say why not in a comment before it"
        )


def _python(page: PageExecution, block: Example) -> None:
    """Run in the page's namespace; what it prints has to be shown by the block after it."""
    printed, before = io.StringIO(), len(page.context.made)
    with _within(BLOCK_TIMEOUT_S), contextlib.redirect_stdout(printed):
        _run(page, block)
    page.printed[block.line] = printed.getvalue()
    following = page.following(block)
    if printed.getvalue().strip() and not (following and following.title == OUTPUT):
        shown = _indented(printed.getvalue())
        raise Disagreement(f"this prints what the page does not show; add a text block titled {OUTPUT!r}", (), shown)
    if block.page.startswith("docs/contract/") and len(page.context.made) == before:
        raise Unaskable("this block runs nothing on the runner, so it shows nothing of the contract")


def _run(page: PageExecution, block: Example) -> None:
    name = str(block.path)
    try:
        code = compile("\n" * (block.source_line - 1) + block.source, name, "exec")
    except SyntaxError as error:
        raise Disagreement(f"SyntaxError: {error.msg}", line=error.lineno) from error
    try:
        exec(code, page.namespace)
    except (Disagreement, Unaskable, InvalidScenario, TargetUnavailable, TargetFailed, RunnerRaised):
        raise
    except AssertionError as error:
        line = _line_in(error, name)
        text = block.source.splitlines()[line - block.source_line].strip() if line else ""
        said = f": {error}" if str(error) else ""
        raise Disagreement(f"does not hold on this runner: {text}{said}", line=line) from error
    except NameError as error:
        raise _missing(page, block, error, _line_in(error, name)) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a block may raise what it likes; it is red, and the other pages are judged
        raise Disagreement(f"{type(error).__name__}: {_said(error)}", line=_line_in(error, name)) from error


def _said(error: BaseException) -> str:
    """What an exception says of itself, in one line, if it can."""
    try:
        return " ".join(str(error).split())
    except Exception as broken:
        return f"its text cannot be read ({type(broken).__name__})"


def _missing(page: PageExecution, block: Example, error: NameError, line: int | None) -> Disagreement:
    """A name that an earlier block would have defined, had it run to its end, is a consequence of that block."""
    for earlier in reversed(page.page.examples):
        result = page.results.get(earlier.id)
        if earlier.line < block.line and earlier.language == "python" and result and result.outcome != "passed":
            clauses = result.clauses if result.outcome == "diverges" else ()
            message = f"needs {error.name!r} of the block at line {result.line}, which did not run to its end"
            return Disagreement(message, clauses, line=line)
    return Disagreement(f"NameError: {error}", line=line)


def _line_in(error: BaseException, name: str) -> int | None:
    """The last line of the page that an exception passed through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    return lines[-1] if lines else None


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
    later = (e for e in page.page.examples if e.line > block.line and e.language == "python")
    return any(f"{block.title}:" in e.source for e in later)


def _output(page: PageExecution, block: Example) -> None:
    before = page.preceding(block)
    source = page.results.get(before.id) if before is not None else None
    if source is not None and source.outcome in ("failed", "error", "diverges"):
        clauses = source.clauses if source.outcome == "diverges" else ()
        raise Disagreement(f"the block at line {source.line}, which prints this, did not run to its end", clauses)
    if before is None or before.line not in page.printed:
        raise Unaskable("a block titled 'Output' follows the python block that prints it")
    if page.printed[before.line].rstrip() != block.source.rstrip():
        line, detail = difference(block.source.rstrip(), page.printed[before.line].rstrip())
        raise Disagreement("the block before prints something else", (), detail, block.source_line + line)
    if not block.source.strip():
        raise Disagreement("an empty output shows nothing")


def _console(page: PageExecution, block: Example) -> None:
    """Each ``$ phase-contract …`` is called as the command would be, with the runner that is already there."""
    from spec_examples.gate.cli import main

    sessions = list(_commands(block))
    for line, command, expected in sessions:
        words = shlex.split(command)
        if words[:1] != ["phase-contract"]:
            raise Unaskable(f"a console block runs phase-contract, not {words[0] if words else 'nothing'}", line)
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(errors):
            main(words[1:], stdout=out, context=page.context)
        observed = _trimmed(out.getvalue() + errors.getvalue())
        if observed != expected:
            at, detail = difference(expected, observed)
            raise Disagreement(f"{command} prints something else", (), detail, line + 1 + at)
        if not observed:
            raise Disagreement(f"{command} prints nothing", (), "", line)


def _commands(block: Example) -> Iterator[tuple[int, str, str]]:
    """Line, command and expected output of each prompt in a console block."""
    lines = block.source.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    if not starts or starts[0] != 0:
        raise Unaskable("a console block starts with '$ phase-contract …'")
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield block.source_line + start, lines[start][2:].strip(), _trimmed("\n".join(lines[start + 1 : end]))


def _settings(page: PageExecution, block: Example) -> None:
    """Scheduler settings: given to a real scheduler, which has to report each of them."""
    if not block.title:
        raise Unaskable('a yaml block is a file: give it a title, such as title="stage.yaml"')
    try:
        configured = yaml.safe_load(block.source)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = block.source_line + mark.line if mark else None
        raise Unaskable(f"not YAML: {getattr(error, 'problem', None) or error}", line) from error
    limits = limits_of(configured)
    page.context.settings[block.title] = configured
    trace = put(Scenario(requests=(Request(5), Request(1)), limits=limits))
    for key, value in configured.items():
        if trace.scheduler.get(key) != value:
            seen = trace.scheduler.get(key, "nothing")
            raise Disagreement(f"{key}: the page says {value}, the scheduler works under {seen}")


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Bound a block's time. Only the main thread can; elsewhere the test runner's own bound has to serve."""

    def give_up(number: int, frame: object) -> None:
        raise Disagreement(f"did not end within {seconds:.0f} s")

    try:
        previous: Callable[..., Any] | int | None = signal.signal(signal.SIGALRM, give_up)
    except ValueError:
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        sys.stdout.flush()


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip().splitlines())
