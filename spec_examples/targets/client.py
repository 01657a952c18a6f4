"""Talk to a worker process: start it, put scenarios to it one at a time, and bound how long it may take."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

import spec_examples
from spec_examples.scenario import Scenario
from spec_examples.targets.errors import TargetFailed, TargetUnavailable
from spec_examples.trace import Environment, Trace

START_TIMEOUT_S = 300.0
"""Importing the runner takes 9 to 20 s on an idle machine."""

SCENARIO_TIMEOUT_S = 60.0
"""A scenario takes some 20 ms."""


class _Answer(msgspec.Struct):
    ready: Environment | None = None
    trace: Trace | None = None
    unavailable: str | None = None


class Worker:
    """One worker process for one target; it is started at once and answers when it has imported the runner.

    ``folder`` is put first on the worker's path and has to be where ``vllm_omni`` comes from; ``None`` is the environment.
    """

    def __init__(self, runner: str, folder: Path | None, name: str) -> None:
        self.name = name
        self.environment: Environment | None = None
        self._unavailable: TargetUnavailable | None = None
        self._errors = tempfile.TemporaryFile()
        self._buffer = b""
        command = [sys.executable, "-P", "-m", "spec_examples.targets.worker", "--runner", runner]
        if folder is not None:
            command += ["--expect", str(folder)]
        package = str(Path(spec_examples.__file__).resolve().parent.parent)
        path = [str(folder)] if folder is not None else []
        path += [package, os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": ""},
        )

    def wait_until_ready(self) -> Environment:
        """What runs in the worker. Raises ``TargetUnavailable`` where it cannot be asked anything."""
        if self._unavailable:
            raise self._unavailable
        if self.environment is None:
            try:
                answer = self._read(START_TIMEOUT_S)
            except TargetFailed as error:
                self._unavailable = TargetUnavailable(str(error))
                raise self._unavailable from error
            if answer.ready is None:
                self._unavailable = TargetUnavailable(f"{self.name}: {answer.unavailable or 'no answer'}")
                raise self._unavailable
            self.environment = answer.ready
        return self.environment

    def run(self, scenario: Scenario) -> Trace:
        """The trace of ``scenario``.

        Raises ``TargetUnavailable`` where it could not be put to the runner, ``TargetFailed`` where the worker dies or hangs.
        """
        self.wait_until_ready()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(scenario.to_json().encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._died() from error
        answer = self._read(SCENARIO_TIMEOUT_S)
        if answer.trace is None:
            raise TargetUnavailable(f"{self.name}: {answer.unavailable or 'no answer'}")
        return answer.trace

    @property
    def alive(self) -> bool:
        """Whether the process can still be asked."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process; it is killed where it does not end by itself."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _read(self, timeout_s: float) -> _Answer:
        deadline = time.monotonic() + timeout_s
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([descriptor], [], [], remaining)[0]:
                self._process.kill()
                raise TargetFailed(f"{self.name}: no answer within {timeout_s:.0f} s")
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                raise self._died()
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            return msgspec.json.decode(line, type=_Answer)
        except msgspec.MsgspecError as error:
            self._process.kill()
            raise TargetFailed(f"{self.name}: the answer is no trace: {error}") from error

    def _died(self) -> TargetFailed:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        last = f": {lines[-1].strip()}" if lines else ""
        return TargetFailed(f"{self.name}: the process ended with status {code}{last}")
