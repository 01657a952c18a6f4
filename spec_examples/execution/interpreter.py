"""Run the Python blocks of a page in a process of the page's own, and make the runs that they ask for."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from dataclasses import replace
from pathlib import Path
from typing import IO

import msgspec

import spec_examples
from spec_examples.channel import receive, send
from spec_examples.execution.messages import Answer, Ask, Done, Execute
from spec_examples.execution.page_process import KNOWN
from spec_examples.forks import Fork, Forks
from spec_examples.running import Context, Made
from spec_examples.trace import Trace

BLOCK_TIMEOUT_S = 120
"""Far more than a block takes. The runs that it asks for have bounds of their own, and do not count."""

LOOK_S = 0.5
"""How often a silent process is looked at: its end is not heard where something that it started holds the channel."""

MESSAGE_S = 30.0
"""Within that a message that has begun is there."""

ERROR_BYTES = 1 << 16
"""Of the standard error of a process that died, what is searched for the line of the page."""


class Died(Exception):
    """The process of the page is gone, or was ended. The message is one line; ``line`` the page's, where known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Interpreter:
    """The process of one page: started when it is first needed, and anew after it died, with no name defined."""

    def __init__(self) -> None:
        self._process: _Process | None = None

    def execute(self, source: str, name: str, line: int, context: Context) -> Done:
        """What came of the code, of which ``line`` of the file ``name`` is the first line.

        ``context.made`` has the runs that it made, also where it raises ``Died``.
        """
        process = self._process = self._process or _Process()
        try:
            done = _converse(
                process, Execute(source, name, line, context.target, context.files, context.settings), context
            )
        except BaseException:
            self.close()
            raise
        return done

    def close(self) -> None:
        """End the process, and everything that it started."""
        if self._process is not None:
            self._process.end()
            self._process = None


def _converse(process: _Process, block: Execute, context: Context) -> Done:
    """Send a block, make the runs that it asks for, and take what came of it. Raises ``Died``."""
    runs: list[Made] = []
    deadline = time.monotonic() + BLOCK_TIMEOUT_S
    process.send(block, block.name)
    while isinstance(message := process.receive(deadline, block.name), Ask):
        started = time.monotonic()
        answer = _answer(message, context, runs)
        deadline += time.monotonic() - started
        process.send(answer, block.name)
    context.made += [replace(runs[number], named=named) for number, named in message.made if number < len(runs)]
    return message


def _answer(ask: Ask, context: Context, runs: list[Made]) -> Answer:
    """Do in the check's session what the page asks for."""
    session = context.session
    try:
        if ask.what == "start":
            session.start(ask.targets)
            return Answer()
        (target,) = ask.targets
        if ask.what == "environment":
            return Answer(environment=session.environment(target))
        assert ask.scenario is not None
        if ask.what == "run_plain":
            return Answer(trace=_raw(session.run_plain(ask.scenario, target)))
        if ask.what == "is_recorded":
            return Answer(recorded=session.is_recorded(ask.scenario, target))
        if ask.what == "put":
            trace = context.put(target, ask.scenario, named=ask.named)
        else:
            trace = session.run(ask.scenario, target, ask.mutant)
        runs.append(Made(target, ask.scenario, trace))
        return Answer(len(runs) - 1, _raw(trace))
    except KNOWN as error:
        return Answer(error=type(error).__name__, message=str(error))


def _raw(trace: Trace) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(trace))


class _Process:
    """One process of a page, forked from the one that has imported what pages import."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair()
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._parent = _parent()
        with theirs:
            files = theirs.fileno(), self.errors.fileno()
            self.number = self._parent.fork(Fork(os.getcwd(), dict(os.environ)), files)
        self.end = weakref.finalize(self, _end, self._parent, self.number, self.channel, self.errors)

    def send(self, message: Execute | Answer, name: str) -> None:
        """Raises ``Died``."""
        try:
            send(self.channel, message)
        except OSError:
            raise self._died(name) from None

    def receive(self, deadline: float, name: str) -> Ask | Done:
        """The next message, by ``deadline`` (of the monotonic clock). Raises ``Died``."""
        while True:
            left = deadline - time.monotonic()
            if select.select([self.channel], [], [], max(0.0, min(left, LOOK_S)))[0]:
                try:
                    return receive(self.channel, Ask | Done, time.monotonic() + MESSAGE_S)  # type: ignore[arg-type]
                except (EOFError, OSError, ValueError):
                    raise self._died(name) from None
            if left <= 0:
                with contextlib.suppress(OSError):
                    os.kill(self.number, signal.SIGABRT)  # it says where it is
                time.sleep(0.1)
                line = self._last_line(name)
                self.end()
                raise Died(f"did not end within {BLOCK_TIMEOUT_S:.0f} s", line)
            if self._parent.look(self.number) is not None:
                raise self._died(name)

    def _died(self, name: str) -> Died:
        status = self._parent.look(self.number)
        if status is None:
            time.sleep(0.05)  # it has closed its channel and may be about to end
            status = self._parent.look(self.number)
        line = self._last_line(name)
        self.end()
        if status is None:
            return Died("this block closes the channel to the check, which a page has to leave open", line)
        how = f"with status {status}" if status >= 0 else f"by {signal.Signals(-status).name}"
        return Died(f"this block ends the process of its page, {how}", line)

    def _last_line(self, name: str) -> int | None:
        """Where a fatal error found the page, as the standard error says."""
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - ERROR_BYTES))
        found = re.search(rf'File "{re.escape(name)}", line (\d+)', self.errors.read().decode(errors="replace"))
        return int(found[1]) if found else None


def _end(parent: _Parent, number: int, channel: socket.socket, errors: IO[bytes]) -> None:
    channel.close()
    errors.close()
    parent.look(number, end=True)


class _Parent(Forks):
    """The process that pages are forked from."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        control, theirs = socket.socketpair()
        super().__init__(control)
        package = str(Path(spec_examples.__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH", ""))))
        command = [sys.executable, "-P", "-m", "spec_examples.execution.page_process", str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        """Whether this process has it, and it can be asked."""
        return self.owner == os.getpid() and self._process.poll() is None

    def close(self) -> None:
        """End it, and with it all processes of pages."""
        if self.owner == os.getpid():
            super().close()
            self._process.wait()


_parents: list[_Parent] = []
_one_at_a_time = threading.Lock()


def _parent() -> _Parent:
    """The one of this process; a new one where a page killed it."""
    with _one_at_a_time:
        if not _parents or not _parents[-1].alive:
            _parents.append(_Parent())
            atexit.register(_parents[-1].close)
        return _parents[-1]


def prepare() -> None:
    """Start the process that pages are forked from, without waiting for it."""
    _parent()
