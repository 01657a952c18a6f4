"""The process in which the Python blocks of one page run, and the one that such processes are forked from.

``python -m spec_examples.execution.page_process FD`` imports what pages import, once, and then forks a process for each
page that is asked for at the socket ``FD``. Nothing that a block does to its process reaches the check or another page.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import io
import os
import resource
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterable
from typing import Any

import msgspec

from spec_examples import (
    forks,
    run,  # noqa: F401 (what pages import is imported here, once for all)
)
from spec_examples.channel import receive, send
from spec_examples.execution.messages import Answer, Ask, Done, Execute
from spec_examples.execution.result import Disagreement, Unaskable
from spec_examples.forks import Fork
from spec_examples.running import Context, Made, Naming, RunnerRaised, running
from spec_examples.scenario import InvalidScenario, Scenario
from spec_examples.targets import Session, Target, TargetFailed, TargetUnavailable
from spec_examples.targets.bounds import from_environment, limit_this_process
from spec_examples.targets.client import Worker
from spec_examples.trace import Environment, Trace

KNOWN = (InvalidScenario, TargetUnavailable, TargetFailed)
"""Exceptions that the check's session raises, and that a block may catch."""

PRELOADED = ("spec_examples.conformance.matrix", "spec_examples.gate.commands.check")
"""What several pages import, and whatever that imports."""

PRINTED_BYTES = 1 << 24
"""Of what a block prints, as much is compared."""


THREAD_S = 0.5
"""For that long a block's threads may outlive it."""


def main() -> None:
    """Fork a process for each page, as asked, until the asker is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in PRELOADED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    forks.serve(socket.socket(fileno=int(sys.argv[1])), _child)


def _child(request: Fork, files: list[int]) -> None:
    channel, errors = files
    os.dup2(errors, 2)
    os.close(errors)
    _serve(socket.socket(fileno=channel), request)


def _serve(channel: socket.socket, request: Fork) -> None:
    """Execute blocks in one namespace until the check closes the channel."""
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.folder)
    bounds = from_environment()
    limit_this_process(bounds.memory_mib, bounds.file_mib)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    printed = Printed()
    session = LentSession(channel)
    namespace: dict[str, Any] = {"__name__": "__page__"}
    while True:
        try:
            block = receive(channel, Execute)
        except (EOFError, OSError):
            return
        threads = set(threading.enumerate())
        context = LentContext(session, block.target, block.files, block.settings)
        session.made.clear()
        with running(context):
            printed.begin()
            done = _executed(block, namespace)
            done.printed = printed.end()
        if os.getpid() != session.process:
            return  # a copy that the block forked, and that came to the block's end: the page goes on without it
        left = _left(threads)
        if left and done.kind == "ended":
            done.kind, done.message = "threads", ", ".join(left)
        done.made = session.also_judged(context.made)
        send(channel, done)


def _left(before: set[threading.Thread]) -> list[str]:
    """Names of the threads that a block leaves running; one that was told to end has a moment to do so."""
    new = set(threading.enumerate()) - before
    for thread in new:
        thread.join(THREAD_S / len(new))
    return sorted(thread.name for thread in new if thread.is_alive())


def _executed(block: Execute, namespace: dict[str, Any]) -> Done:
    """What came of it. A block may raise what it likes: no exception leaves here."""
    try:
        code = compile("\n" * (block.line - 1) + block.source, block.name, "exec")
    except SyntaxError as error:
        return Done("syntax", f"SyntaxError: {error.msg}", error.lineno)
    except ValueError as error:  # null bytes
        return Done("syntax", f"SyntaxError: {error}", block.line)
    try:
        exec(code, namespace)
    except RunnerRaised as error:
        return Done("RunnerRaised", str(error), _line_in(error, block.name))
    except (*KNOWN, Disagreement, Unaskable) as error:
        return Done(type(error).__name__, str(error), _line_in(error, block.name))
    except AssertionError as error:
        return Done("assertion", _said(error), _line_in(error, block.name))
    except NameError as error:
        return Done("name", error.name or _said(error), _line_in(error, block.name))
    except BaseException as error:
        return Done("raised", f"{type(error).__name__}: {_said(error)}", _line_in(error, block.name))
    return Done("ended")


def _said(error: BaseException) -> str:
    """What an exception says of itself, in one line, if it can."""
    try:
        return " ".join(str(error).split())
    except BaseException as broken:
        return f"its text cannot be read ({type(broken).__name__})"


def _line_in(error: BaseException, name: str) -> int | None:
    """The last line of the page that an exception passed through."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    return lines[-1] if lines else None


class Printed:
    """What a block prints, by whatever way it reaches the standard output: from Python, a library, or a child."""

    def __init__(self) -> None:
        self._file = os.memfd_create("printed")

    def begin(self) -> None:
        """Point the standard output here, whatever the block before did to it."""
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.dup2(self._file, 1)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8", write_through=True
        )
        self._stream = sys.stdout

    def end(self) -> str:
        """What was printed since ``begin``."""
        with contextlib.suppress(ValueError, OSError):  # the block closed it
            self._stream.flush()
        return os.pread(self._file, PRINTED_BYTES, 0).decode(errors="replace")


class LentSession(Session):
    """The check's session, seen from the page: what it is asked goes over the channel.

    ``made`` are the traces that commands of ours made for the block, by the number that the check has for each.
    """

    def __init__(self, channel: socket.socket) -> None:
        super().__init__()
        self.process = os.getpid()
        self.made: dict[int, Trace] = {}
        self._channel = channel
        self._asking = threading.Lock()

    def start(self, targets: Iterable[Target]) -> None:
        """Start workers that will be needed."""
        self._ask(Ask("start", tuple(targets)))

    def expect(self, targets: Iterable[Target]) -> None:
        """Not worth a message: they are started when they are asked."""

    def environment(self, target: Target) -> Environment:
        """What runs there. Raises ``TargetUnavailable``."""
        answer = self._ask(Ask("environment", (target,)))
        return answer.environment or Environment()

    def is_recorded(self, scenario: Scenario, target: Target) -> bool:
        """Whether ``run`` would need no process."""
        return self._ask(Ask("is_recorded", (target,), scenario)).recorded

    def run(self, scenario: Scenario, target: Target | None = None, mutant: str = "") -> Trace:
        """The trace of ``scenario``; raises as a session does."""
        answer = self._ask(Ask("run", (target or Target(),), scenario, mutant=mutant))
        self.made[answer.number] = msgspec.json.decode(answer.trace, type=Trace)
        return self.made[answer.number]

    def run_plain(self, scenario: Scenario, target: Target) -> Trace:
        """The trace of ``scenario`` on vLLM's own runner; raises as a session does."""
        return msgspec.json.decode(self._ask(Ask("run_plain", (target,), scenario)).trace, type=Trace)

    def put(self, scenario: Scenario, target: Target, named: Naming | None = None) -> Trace:
        """The same, for the block itself: the check judges it."""
        return msgspec.json.decode(self._ask(Ask("put", (target,), scenario, named)).trace, type=Trace)

    def _worker(self, target: Target) -> Worker:
        raise RuntimeError(f"a page starts no runner, and a way to {target} does not go over the channel")

    def also_judged(self, made: list[Made]) -> tuple[tuple[int, bool], ...]:
        """The numbers of those that a command noted as the block's own, and whether their targets were named."""
        named = {id(one.trace): one.named for one in made}
        return tuple((number, named[id(trace)]) for number, trace in self.made.items() if id(trace) in named)

    def _ask(self, ask: Ask) -> Answer:
        if os.getpid() != self.process:
            raise TargetUnavailable("a process that the block forked cannot ask the runner: ask in the block itself")
        with self._asking:
            send(self._channel, ask)
            answer = receive(self._channel, Answer)
        for error in KNOWN:
            if answer.error == error.__name__:
                raise error(answer.message)
        return answer


class LentContext(Context):
    """Where ``run`` of a block runs."""

    session: LentSession

    def put(self, target: Target, scenario: Scenario, *, named: Naming | None = None) -> Trace:
        """Ask the check, which notes that it was run."""
        return self.session.put(scenario, target, named)


if __name__ == "__main__":
    main()
