"""Processes that are forked, when they are asked for, from one that has imported what they need.

The asker (``Forks``) and the process that forks (``serve``) hold the two ends of a socket. A new process gets its own
channel to the asker; the one that forked it says how it ended, and ends it where the asker wants that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence

import msgspec

from spec_examples.channel import receive, send


class Fork(msgspec.Struct, tag=True):
    """Fork a process; its channel, and what else it is given, come with the message."""

    folder: str = ""
    environment: dict[str, str] = {}


class Look(msgspec.Struct, tag=True):
    """Say whether a process is alive; ``end`` it, and all that it started, once it has had ``patience_s`` to end."""

    process: int
    end: bool = False
    patience_s: float = 0.0


class State(msgspec.Struct):
    """A process: its number, and the status that it ended with, ``None`` while it lives."""

    process: int
    status: int | None = None


def serve(control: socket.socket, child: Callable[[Fork, list[int]], None]) -> None:
    """Fork and look, as asked, until the asker is gone; then end what is left.

    ``child`` is called in each new process, which ends with it, with the message and the files that came with it.
    """
    living: set[int] = set()
    try:
        while True:
            message, files = _request(control)
            if isinstance(message, Fork):
                process = _fork(message, files, control, child)
                living.add(process)
                send(control, State(process))
            else:
                status = _status(message)
                if status is not None:
                    living.discard(message.process)
                send(control, State(message.process, status))
    except (EOFError, OSError):
        pass
    finally:
        for process in living:
            _status(Look(process, end=True))


def _request(control: socket.socket) -> tuple[Fork | Look, list[int]]:
    """A request comes in one piece behind its files, which come with the first byte."""
    first, files, _, _ = socket.recv_fds(control, 1, 2)
    if not first:
        raise EOFError
    return receive(control, Fork | Look), files  # type: ignore[arg-type]


def _fork(request: Fork, files: list[int], control: socket.socket, child: Callable[[Fork, list[int]], None]) -> int:
    process = os.fork()
    if process:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.setpgid(process, process)  # whichever of the two comes first
        for file in files:
            os.close(file)
        return process
    try:
        control.close()
        with contextlib.suppress(PermissionError):
            os.setpgid(0, 0)
        child(request, files)
    finally:
        os._exit(0)


def _status(look: Look) -> int | None:
    status = _waited(look.process, look.patience_s)
    if not look.end:
        return status
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(look.process, signal.SIGKILL)
    return _waited(look.process, None) if status is None else status


def _waited(process: int, patience_s: float | None) -> int | None:
    """The status of a process, waited for that long (``None``: to its end); of one that is unknown, 0."""
    deadline = time.monotonic() + (patience_s or 0.0)
    while True:
        try:
            found, status = os.waitpid(process, 0 if patience_s is None else os.WNOHANG)
        except ChildProcessError:
            return 0
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.002)


class Forks:
    """The asker's end."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._lock = threading.Lock()

    def fork(self, request: Fork, files: Sequence[int]) -> int:
        """The number of a new process. Raises ``OSError`` or ``EOFError`` where it cannot be had."""
        return self._ask(request, files).process

    def look(self, process: int, *, end: bool = False, patience_s: float = 0.0) -> int | None:
        """The status that a process ended with; ``None`` while it is alive."""
        try:
            return self._ask(Look(process, end, patience_s)).status
        except (EOFError, OSError, ValueError):
            return -signal.SIGKILL  # whoever ends the process that forks ends those that were forked

    def _ask(self, request: Fork | Look, files: Sequence[int] = ()) -> State:
        with self._lock:
            socket.send_fds(self._control, [b"."], list(files))
            send(self._control, request)
            return receive(self._control, State)

    def close(self) -> None:
        """Let the other end see that nobody asks any more."""
        self._control.close()
