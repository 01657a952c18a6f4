"""Processor and wall time of commands, the import of the runner beside them, and the memory of processes."""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

IMPORT = "import vllm_omni, vllm_omni.worker.gpu_ar_model_runner"
COMMAND = (sys.executable, "-m", "spec_examples.gate.cli")
LOOK_S = 0.1
"""How often the memory of a process is looked at. The kernel keeps its peak, so little is missed."""


@dataclass(frozen=True)
class Cost:
    """Seconds of the processor, of a command and all that it started, and of the clock on the wall."""

    cpu: float
    wall: float

    def __str__(self) -> str:
        return f"{self.cpu:.1f} s, {self.wall:.1f} s wall"


@contextmanager
def timed() -> Iterator[list[Cost]]:
    """What the processes that end within the block cost; the list has it when the block has ended."""
    found: list[Cost] = []
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    yield found
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    found.append(Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall))


def cost(command: Sequence[str], status: int = 0, folder: Path | None = None, **environment: str) -> Cost:
    """What a command costs. Raises ``SystemExit`` with what it said, unless it ends with ``status``."""
    with timed() as found:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", cwd=folder, env=surroundings(**environment)
        )
    if done.returncode != status:
        said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{said}")
    return found[0]


def surroundings(**more: str) -> dict[str, str]:
    """The environment of a command that is measured."""
    return {**os.environ, "VLLM_TARGET_DEVICE": "cpu", "VLLM_LOGGING_LEVEL": "ERROR", **more}


@dataclass
class Floor:
    """Imports of the runner in a bare interpreter: what no command that runs it can do without."""

    say: Callable[[str], None]
    seen: list[Cost] = field(default_factory=list)

    @property
    def cpu(self) -> list[float]:
        """Processor seconds of each."""
        return [each.cpu for each in self.seen]

    @property
    def wall(self) -> list[float]:
        """Seconds on the wall of each."""
        return [each.wall for each in self.seen]

    def beside(self, what: str, command: Sequence[str], times: int = 3) -> list[tuple[Cost, Cost]]:
        """What a command costs, and the mean of an import before and one after it: the machine's speed drifts."""
        pairs = []
        before = self.again()
        for number in range(times):
            self.say(f"{what}, {number + 1} of {times}")
            one = cost(command)
            after = self.again()
            pairs.append((one, Cost((before.cpu + after.cpu) / 2, (before.wall + after.wall) / 2)))
            before = after
        return pairs

    def again(self) -> Cost:
        """One more import."""
        self.say("the import of the runner")
        self.seen.append(cost((sys.executable, "-c", IMPORT)))
        return self.seen[-1]

    def at_least(self, times: int) -> None:
        """Have so many imports, for their spread."""
        while len(self.seen) < times:
            self.again()


def peaks_mib(command: Sequence[str]) -> tuple[float, float, float]:
    """Seconds of a command, the peak of its own process, and of the largest that it started, in MiB."""
    peaks: dict[int, float] = {}
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=surroundings()) as process:
        while process.poll() is None:
            peaks.update(_peaks(process.pid))
            time.sleep(LOOK_S)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    own = peaks.pop(process.pid, 0.0)
    return time.monotonic() - started, own, max(peaks.values(), default=0.0)


def _peaks(top: int) -> dict[int, float]:
    """The peaks of a process and of all below it, in MiB."""
    seen = {}
    for file in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            facts = dict(line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)
            if "VmHWM" in facts:
                seen[int(facts["Pid"])] = int(facts["PPid"]), int(facts["VmHWM"].split()[0]) / 1024
    tree = {top}
    while more := {process for process, (parent, _) in seen.items() if parent in tree} - tree:
        tree |= more
    return {process: seen[process][1] for process in tree & seen.keys()}


def machine() -> str:
    """The machine in words."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    model = next(models, platform.processor() or platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, CPython {platform.python_version()}, no accelerator"
