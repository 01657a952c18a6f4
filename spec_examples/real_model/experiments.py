"""A run as plain data, and the process that does it: ``python -m spec_examples.real_model.experiments`` serves lines.

One JSON line in is a ``StubExperiment`` or a ``TinyExperiment``, one line out its ``Run``. A process of its own, as a
runner leaves threads and process groups behind that outlive the interpreter; many runs in it, as it takes longer to
import a runner than to run it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import msgspec

from spec_examples.real_model.run import Run
from spec_examples.scenario import Scenario
from spec_examples.targets import scratch
from spec_examples.targets.target import WHOLE_V2_CLASS
from spec_examples.targets.whole_v2.__main__ import interpret_kernels

RUN_TIMEOUT_S = 300.0
"""Bounds a run, and the import of the runner that the first one waits for."""

AR = "ar"
WITHOUT_SCALAR_GUARD = "spec_examples.real_model.guards:WithoutScalarGuard"
WITHOUT_BATCHED_GUARD = "spec_examples.real_model.guards:WithoutBatchedGuard"
WHOLE_V2 = WHOLE_V2_CLASS


@dataclass(frozen=True)
class StubExperiment:
    """The stub talker, probed. ``scenario`` has requests and one of the stub talkers' names.

    ``defect`` names one of ``spec_examples.mutants`` that the runner has meanwhile.
    """

    scenario: Scenario
    runner: str = AR
    defect: str = ""


@dataclass(frozen=True)
class Utterance:
    """A request to the talker: ``text`` to be spoken, and the number of tokens to generate (a frame less)."""

    request: str
    text: str
    max_tokens: int


@dataclass(frozen=True)
class TinyExperiment:
    """The tiny Qwen3-TTS through its pipeline, audio included where ``audio`` is set.

    ``budget`` is in tokens a step, ``blocks`` counts KV blocks of 32 tokens. ``defect`` names one of
    ``spec_examples.mutants`` that the talker's runner has meanwhile.
    """

    utterances: tuple[Utterance, ...]
    budget: int
    blocks: int = 64
    runner: str = AR
    audio: bool = True
    defect: str = ""


Experiment = StubExperiment | TinyExperiment


SHARED, V2 = "shared", "v2"
"""The two kinds of processes."""


class _Wire(msgspec.Struct):
    stub: StubExperiment | None = None
    tiny: TinyExperiment | None = None


class _Answer(msgspec.Struct):
    run: Run | None = None
    error: str | None = None


class ExperimentFailed(RuntimeError):
    """The run could not be made; the message is the process's own."""


class Laboratory:
    """The processes that run experiments, started when they are first asked. Each experiment runs once.

    Model Runner V2 has one of its own: what it needs on a CPU is set up before anything is imported.
    """

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self.say = say
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (open as long as the processes)
        self._runs: dict[Experiment, Run] = {}

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def run(self, experiment: Experiment) -> Run:
        """What an experiment comes to. Raises ``ExperimentFailed``."""
        if experiment not in self._runs:
            begun = time.monotonic()
            self._runs[experiment] = self._ask(experiment)
            steps = len(self._runs[experiment].trace.steps)
            self.say(f"{_title(experiment)}: {steps} steps, {time.monotonic() - begun:.1f} s")
        return self._runs[experiment]

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        self._errors.close()

    def _process(self, experiment: Experiment) -> subprocess.Popen[str]:
        kind = V2 if experiment.runner == WHOLE_V2 else SHARED
        if kind not in self._processes:
            self.say("importing the runner")
            self._processes[kind] = subprocess.Popen(
                [sys.executable, "-m", "spec_examples.real_model.experiments", kind],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
            )
        return self._processes[kind]

    def _ask(self, experiment: Experiment) -> Run:
        process = self._process(experiment)
        assert process.stdin is not None
        assert process.stdout is not None
        hung = threading.Timer(RUN_TIMEOUT_S, process.kill)
        hung.start()
        wire = _Wire(stub=experiment) if isinstance(experiment, StubExperiment) else _Wire(tiny=experiment)
        try:
            process.stdin.write(msgspec.json.encode(wire).decode() + "\n")
            process.stdin.flush()
            answer = msgspec.json.decode(process.stdout.readline(), type=_Answer)
        except (OSError, msgspec.DecodeError) as error:
            self._errors.seek(0)
            last = self._errors.read().strip().splitlines()[-1:]
            raise ExperimentFailed(f"the process of the run died or hung: {' '.join(last) or error}") from error
        finally:
            hung.cancel()
        if answer.run is None:
            raise ExperimentFailed(answer.error or "no answer")
        return answer.run


def _title(experiment: Experiment) -> str:
    name = experiment.runner.rpartition(":")[2] + (f" with {experiment.defect}" if experiment.defect else "")
    if isinstance(experiment, StubExperiment):
        return f"stub {experiment.scenario.talker}, runner {name}, budget {experiment.scenario.limits.budget}"
    return f"tiny Qwen3-TTS, runner {name}, budget {experiment.budget}, {experiment.blocks} blocks"


def serve() -> None:
    """Answer until the standard input ends. Never returns: threads of the process group outlive the interpreter."""
    if sys.argv[1:] == [V2]:
        interpret_kernels()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print
    for line in sys.stdin:
        wire = msgspec.json.decode(line, type=_Wire)
        try:
            answer: Any = {"run": msgspec.to_builtins(_run(wire.stub or wire.tiny))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    _remove_folders()
    os._exit(0)


def _run(experiment: Experiment | None) -> Run:
    assert experiment is not None
    from spec_examples.mutants.in_place import with_defect

    with with_defect(experiment.runner, experiment.defect):
        if isinstance(experiment, StubExperiment):
            from spec_examples.real_model.stub import run_stub

            return run_stub(experiment)
        from spec_examples.real_model.tiny.pipeline import run_tiny

        return run_tiny(experiment)


def _remove_folders() -> None:
    scratch.remove()
    checkpoint = sys.modules.get("spec_examples.real_model.tiny.checkpoint")
    for folder in checkpoint.folders() if checkpoint else ():
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    serve()
