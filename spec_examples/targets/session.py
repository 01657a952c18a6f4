"""Run scenarios on any number of targets, each in its own process, and keep what never changes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Self

from spec_examples.scenario import CONTROL, STUB_TALKERS, Scenario, Source
from spec_examples.targets import catalogue, install, kept
from spec_examples.targets.bounds import Bounds, from_environment
from spec_examples.targets.cache import cache_folder
from spec_examples.targets.client import WORKER, ForkingWorker, Program, Worker
from spec_examples.targets.errors import TargetBroken, TargetError, TargetFailed, TargetUnavailable
from spec_examples.targets.target import INSTALLED, PLAIN, WHOLE_V2, Target
from spec_examples.targets.whole_v2 import interpreter
from spec_examples.trace import Environment, Trace

HARNESS = (
    "scenario.py",
    "trace.py",
    "talker.py",
    "targets/drive.py",
    "targets/engine.py",
    "targets/model_runner_v2.py",
    "targets/recorder.py",
    "targets/scratch.py",
    "targets/stand_ins.py",
    "targets/worker.py",
    "variants.py",
)
"""The files that a trace depends on, besides the packages and the scenario."""

HARNESS_OF_WHOLE_V2 = ("targets/whole_v2/__main__.py", "targets/whole_v2/runner.py")
"""Those that a trace of the whole Model Runner V2 depends on as well."""

MOST_ROWS = 30_000
"""A table of thousands of rows is run without being kept whole."""

OUR_TALKERS = ("spec_examples.talker:", "spec_examples.variants:")
"""Modules of talkers that are among these files."""


class Runs:
    """What a session has run, up to so many rows: what was not asked for longest is forgotten first."""

    def __init__(self) -> None:
        self._traces: OrderedDict[tuple[Target, str, str], Trace] = OrderedDict()
        self._rows = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[Target, str, str]) -> Trace | None:
        """The trace that was kept under ``key``, if it still is."""
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
            return self._traces.get(key)

    def keep(self, key: tuple[Target, str, str], trace: Trace) -> Trace:
        """Keep ``trace`` under ``key``, and give it back."""
        with self._lock:
            if key not in self._traces:
                self._traces[key] = trace
                self._rows += _rows(trace)
            while self._rows > MOST_ROWS:
                _, oldest = self._traces.popitem(last=False)
                self._rows -= _rows(oldest)
        return trace


def _rows(trace: Trace) -> int:
    return sum(len(step.rows) for step in trace.steps)


class Session:
    """Workers by package, started when they are first needed and ended with the session.

    A published package never changes, so the trace of a scenario on it is kept in the user's cache under the hashes of
    its wheels, the scenario, the talker and the harness. ``live`` runs it all the same, unless it was made ``within_s``
    seconds ago or less, and renews what is kept. The installed runner, a checkout, a plugin's runner and a talker of a
    module always run. With ``forking`` they run in copies of a process that has imported them; ``renew`` has them
    replaced. With ``once`` a scenario is run once on a target, unless its talker lies in a file that may change.
    ``python`` runs the workers; its environment has torch and what a runner imports. Threads may share a session.
    """

    def __init__(
        self,
        *,
        live: bool = False,
        within_s: float = 0.0,
        say: Callable[[str], None] = lambda _: None,
        bounds: Bounds | None = None,
        forking: bool = False,
        once: bool = False,
        python: str = sys.executable,
    ) -> None:
        self.live = live
        self.python = python
        self.within_s = within_s
        self.forking = forking
        self.bounds = bounds or from_environment()
        self.say = say
        self.ran: dict[Target, int] = {}
        self._workers: dict[Target, Worker] = {}
        self._failed: dict[Target, TargetError] = {}
        self._gone: dict[Target, TargetError] = {}
        self._together: set[Target] = set()
        self._runs = Runs() if once else None
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End every worker."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def start(self, targets: Iterable[Target]) -> None:
        """Start workers that will be needed, without waiting for them: imports run side by side.

        A published release whose control is kept was asked before, and may need none.
        """
        self._start_all(target for target in targets if not self.is_recorded(CONTROL, target))

    def _start_all(self, targets: Iterable[Target]) -> None:
        for target in targets:
            with contextlib.suppress(TargetUnavailable):
                self._worker(target)

    def expect(self, targets: Iterable[Target]) -> None:
        """Targets that are needed together: the first that has to run starts them all, side by side."""
        self._together |= {_process_of(target) for target in targets} - self._workers.keys()

    def environment(self, target: Target) -> Environment:
        """What runs there; a published release that was asked before is not started.

        Raises ``TargetUnavailable`` where it cannot be asked, ``TargetBroken`` where its own code stops its import.
        """
        if self.is_recorded(CONTROL, target):
            return self.run(CONTROL, target).environment
        worker = self._worker(target)
        try:
            environment = worker.wait_until_ready(target.asked_as)
        except (TargetUnavailable, TargetBroken) as error:
            self._give_up(target, worker, error)
            if target.vllm and target.chosen_by and isinstance(error, TargetUnavailable):
                chosen = f"vLLM {target.vllm} was chosen ({target.chosen_by}); --vllm VERSION takes another"
                raise TargetUnavailable(f"{error}; {chosen}") from error
            raise
        if _trace_file(CONTROL, target, self.python):
            self.run(CONTROL, target)
        return environment

    def is_recorded(self, scenario: Scenario, target: Target) -> bool:
        """Whether ``run`` would need no process."""
        file = _trace_file(scenario, target, self.python)
        shipped = not self.live and shipped_trace(scenario, target) is not None
        return shipped or (file is not None and file.is_file() and self._counts(file))

    def run(self, scenario: Scenario, target: Target | None = None, mutant: str = "") -> Trace:
        """The trace of ``scenario`` on ``target`` (default: the installed AR runner).

        ``mutant`` names a known defect that the runner has meanwhile.

        Raises ``TargetUnavailable`` where it cannot be asked, ``TargetFailed`` where it dies or hangs meanwhile.
        """
        target = target or Target(INSTALLED)
        if self._runs is not None and is_ours(scenario.talker):
            key = target, scenario.digest, mutant
            return self._runs.get(key) or self._runs.keep(key, self._run(scenario, target, mutant))
        return self._run(scenario, target, mutant)

    def _run(self, scenario: Scenario, target: Target, mutant: str) -> Trace:
        file = None if mutant else _trace_file(scenario, target, self.python)
        if not mutant and (trace := self._recorded(scenario, target, file)):
            return trace
        with self._lock:
            together = self._together if _process_of(target) in self._together else set()
            self._together -= together
        self._start_all(together)
        worker = self._worker(target)
        if isinstance(worker, ForkingWorker) and not _is_the_stub(scenario.talker):
            worker.may_be_changed()
        try:
            trace = worker.run(scenario, target.asked_as, mutant)
        except (TargetUnavailable, TargetBroken) as error:
            self._give_up(target, worker, error)
            raise
        except BaseException as error:  # an interrupt too: its answer would be taken for that of the next scenario
            if not (isinstance(error, TargetFailed) and isinstance(worker, ForkingWorker) and worker.alive):
                self._workers.pop(_process_of(target)).close()
            raise
        self.ran[target] = self.ran.get(target, 0) + 1
        if file:
            _write(file, trace)
        return trace

    def run_plain(self, scenario: Scenario, target: Target) -> Trace:
        """The trace of ``scenario`` on vLLM's own runner, in the process of ``target``.

        Raises ``TargetUnavailable`` and ``TargetFailed`` as ``run`` does.
        """
        key = _process_of(target), scenario.digest, PLAIN
        if self._runs is not None and (trace := self._runs.get(key)):
            return trace
        worker = self._worker(target)
        try:
            trace = worker.run(scenario, PLAIN)
        except TargetFailed:
            if not (isinstance(worker, ForkingWorker) and worker.alive):
                self._workers.pop(_process_of(target)).close()
            raise
        return trace if self._runs is None else self._runs.keep(key, trace)

    def _recorded(self, scenario: Scenario, target: Target, file: Path | None) -> Trace | None:
        """The trace that is taken instead of a run: what the package carries, or what is kept."""
        if not self.live and (trace := shipped_trace(scenario, target)):
            return trace
        return _read(file) if file and self._counts(file) else None

    def _counts(self, file: Path) -> bool:
        """Whether a kept trace is young enough to stand for a run."""
        if not self.live:
            return True
        try:
            return time.time() - file.stat().st_mtime < self.within_s
        except OSError:
            return False

    def renew(self) -> None:
        """Let what a page's own talkers did to a process reach no other page, where processes are copied (``forking``).

        A published release has no such process: its runs are kept.
        """
        for worker in list(self._workers.values()):
            if isinstance(worker, ForkingWorker):
                worker.renew()

    def forget(self) -> None:
        """The runners have changed: import them anew, and make every run again."""
        self.close()
        self._runs = None if self._runs is None else Runs()
        self._failed.clear()
        self._gone.clear()

    def _worker(self, target: Target) -> Worker:
        with self._lock:
            return self._worker_of(target, _process_of(target))

    def _worker_of(self, target: Target, process: Target) -> Worker:
        if error := self._failed.get(process) or self._gone.get(target):
            raise error
        if process not in self._workers:
            try:
                folder, vllm = self._folder(target), self._vllm(target)
                program = _program(target, folder, self.python)
            except TargetUnavailable as refused:
                self._failed[process] = refused
                raise
            if self.forking and not target.is_release and program == (self.python, WORKER):
                self._workers[process] = ForkingWorker(folder, str(target), self.bounds, self.python, vllm)
            else:
                self._workers[process] = Worker(folder, str(target), self.bounds, program, vllm)
        return self._workers[process]

    def _give_up(self, target: Target, worker: Worker, error: TargetError) -> None:
        """A runner that takes the process with it in its control is not asked again; those beside it are."""
        if worker.imported and not worker.alive:
            self._gone[target] = error
            self._workers.pop(_process_of(target)).close()

    def _folder(self, target: Target) -> Path | None:
        if target.is_installed:
            return None
        release = catalogue.release(target.vllm_omni) if target.is_release else None
        if release is None:
            return Path(target.vllm_omni)
        if release.how == "read":
            raise TargetUnavailable(f"vLLM-Omni {release.vllm_omni} is not run here: its source can only be read")
        return install.install(release, self.say)

    def _vllm(self, target: Target) -> Path | None:
        """The folder of the vLLM that the target names, downloaded where it is not there."""
        published = catalogue.vllm(target.vllm)
        if published:
            return install.install_vllm(published, self.say)
        return Path(target.vllm) if target.vllm else None


def _process_of(target: Target) -> Target:
    """Runners of the package share one import; the whole V2, and those of a module from elsewhere, get their own."""
    module, _, cls = target.runner.partition(":")
    if cls and not module.startswith("spec_examples."):
        return Target(target.vllm_omni, module, target.vllm)
    return target if target.runner == WHOLE_V2 else Target(target.vllm_omni, vllm=target.vllm)


def _program(target: Target, folder: Path | None, python: str) -> Program:
    """What its worker runs. Raises ``TargetUnavailable`` where there is no such runner, or no Python with Triton."""
    if target.runner != WHOLE_V2:
        return python, WORKER
    if folder is not None and not (folder / "vllm_omni" / "worker_v2").is_dir():
        raise TargetUnavailable(f"{target}: this release has no Model Runner V2, which came with 0.30.0rc1")
    return interpreter.with_triton(), "spec_examples.targets.whole_v2"


@cache
def _underneath(runner: str, python: str) -> tuple[str, str]:
    """What a release runs on besides its own two packages."""
    if runner == WHOLE_V2:
        return interpreter.underneath()
    if python != sys.executable:  # an environment that this Python made
        return platform.python_version(), interpreter.torch_of(python)
    try:
        torch = metadata.version("torch")
    except metadata.PackageNotFoundError:
        torch = ""
    return platform.python_version(), torch


@cache
def harness_digest(runner: str = "") -> str:
    """SHA-256 over the files that a trace of the runner so called depends on; of all but the whole V2 these are one."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for name in (*HARNESS, *(HARNESS_OF_WHOLE_V2 if runner == WHOLE_V2 else ())):
        digest.update(name.encode() + b"\0" + (root / name).read_bytes() + b"\0")
    return digest.hexdigest()


def is_ours(talker: str | Source) -> bool:
    """Whether a talker is the scenario's own text, or one of the stub's, which the harness digest covers."""
    return isinstance(talker, Source) or _is_the_stub(talker)


def _is_the_stub(talker: str | Source) -> bool:
    return talker in STUB_TALKERS or (isinstance(talker, str) and talker.startswith(OUR_TALKERS))


def shipped_trace(scenario: Scenario, target: Target) -> Trace | None:
    """The trace that comes with this package, whatever Python and torch are here; ``None`` where it has none."""
    release = catalogue.release(target.vllm_omni) if target.is_release and not target.vllm else None
    return kept.traces(release).get(shipped_key(scenario, release, target.runner)) if release else None


def shipped_key(scenario: Scenario, release: catalogue.Release, runner: str) -> str:
    """Under what a trace comes with this package: a digest of all that it depends on and that is known beforehand."""
    whose = _talker_digest(scenario.talker)
    parts = [release.requirements, runner, scenario.to_json(), harness_digest(runner), whose]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def may_be_shipped(talker: str | Source) -> bool:
    """Whether a talker is known to whoever has this package: the scenario's own text, or one of the package's."""
    return is_ours(talker) or (isinstance(talker, str) and talker.startswith("spec_examples."))


@cache
def _talker_digest(talker: str | Source) -> str:
    """SHA-256 of the module of a talker that comes with this package; empty where other digests cover it."""
    if is_ours(talker) or not may_be_shipped(talker):
        return ""
    module = str(talker).partition(":")[0].split(".")
    file = Path(__file__).resolve().parents[2].joinpath(*module).with_suffix(".py")
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _trace_file(scenario: Scenario, target: Target, python: str = sys.executable) -> Path | None:
    """Where the trace is kept, ``None`` where something that it depends on may change unseen."""
    release = catalogue.release(target.vllm_omni) if target.never_changes else None
    if release is None or not is_ours(scenario.talker):
        return None
    parts = [
        release.requirements,
        target.runner,
        scenario.to_json(),
        harness_digest(target.runner),
        *_underneath(target.runner, python),
    ]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return cache_folder() / "traces" / release.vllm_omni / f"{key}.json"


def _read(file: Path) -> Trace | None:
    """A kept trace; a damaged one counts as none."""
    try:
        return Trace.from_json(file.read_bytes())
    except (OSError, ValueError):
        return None


def _write(file: Path, trace: Trace) -> None:
    """Whole or not at all; a cache that cannot be written costs time, not the run."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as part:
            part.write(trace.to_json())
        os.replace(name, file)
    except OSError:
        pass
