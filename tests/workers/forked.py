"""Start the workers of tests as forks of one process that has imported what vLLM stands on: see ``preloaded``."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from workers import preloaded

from spec_examples.targets.client import FORKING_WORKER, WORKER


class Preloaded:
    """The process that workers are forked from, started when the first one is needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, message: object, files: tuple[int, ...] = ()) -> dict:
        """What it answers."""
        with self._lock:
            if self._process is None:
                self._start()
            preloaded.send(self._control, message, files)
            return preloaded.receive(self._control)[0]

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", preloaded.__file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, "OMP_NUM_THREADS": "1", "TORCHDYNAMO_DISABLE": "1"},
                start_new_session=True,
            )

    def end(self) -> None:
        """End it; workers that are left end with it."""
        if self._process is not None:
            self._control.close()
            self._process.wait()
            self._process = None


class Fork:
    """A worker, with those parts of ``Popen`` that ``client.Worker`` uses."""

    def __init__(
        self,
        source: Preloaded,
        words: list[str],
        environment: dict[str, str],
        errors: io.IOBase,
        passed: tuple[int, ...],
    ) -> None:
        self._source = source
        theirs, ours = os.pipe()
        self.stdin = os.fdopen(ours, "wb")
        ours, answers = os.pipe()
        self.stdout = os.fdopen(ours, "rb")
        request = {"words": words, "environment": environment, "folder": str(Path.cwd()), "numbers": [0, 1, 2, *passed]}
        self.pid = source.ask(request, (theirs, answers, errors.fileno(), *passed))["process"]
        self.returncode: int | None = None
        os.close(theirs)
        os.close(answers)

    def poll(self) -> int | None:
        """The status that it ended with; ``None`` while it lives."""
        if self.returncode is None:
            self.returncode = self._source.ask({"look": self.pid})["status"]
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The status, once it has ended. Raises ``TimeoutExpired``."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(0.005)
        return status


class Subprocess:
    """What ``client`` sees as ``subprocess``: a worker of this Python is forked, and all else is as it is."""

    PIPE, TimeoutExpired = subprocess.PIPE, subprocess.TimeoutExpired

    def __init__(self, source: Preloaded) -> None:
        self._source = source

    def Popen(self, command: list[str], **options: object) -> object:
        """As ``subprocess.Popen`` does."""
        python, *flags, module = command[:4]
        if (python, flags) == (sys.executable, ["-P", "-m"]) and module in (WORKER, FORKING_WORKER):
            own = (options["env"], options["stderr"], options.get("pass_fds", ()))
            return Fork(self._source, command[3:], *own)  # type: ignore[arg-type]
        return subprocess.Popen(command, **options)  # type: ignore[call-overload]
