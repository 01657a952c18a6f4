"""``make bench``: what a check costs, as ratios of processor time to the import that it cannot avoid.

Every figure of one run is measured in that run, so a slow or busy machine changes both sides. ``--write FILE`` keeps
them.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.table import Table

from spec_examples.execution.tables import placements
from spec_examples.gate.check import check
from spec_examples.gate.commands.common import DISAGREED
from spec_examples.gate.watching import recheck
from spec_examples.mutants import mutants_of
from spec_examples.mutants.catching import Hunt
from spec_examples.running import forced
from spec_examples.targets import Session, Target, catalogue, install

IMPORT = "import vllm_omni, vllm_omni.worker.gpu_ar_model_runner"
COMMAND = [sys.executable, "-m", "spec_examples.gate.cli"]


@dataclass(frozen=True)
class Figure:
    """One line of the table. ``ratio`` is to the import, or the figure's own unit; ``bound`` what it has to keep."""

    name: str
    measured: str
    ratio: float | None
    bound: str


def _cost(command: list[str], status: int = 0, **environment: str) -> tuple[float, float]:
    """Processor and wall seconds of a command and all that it started. It has to end with ``status``."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "VLLM_TARGET_DEVICE": "cpu", "VLLM_LOGGING_LEVEL": "ERROR", **environment},
    )
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != status:
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def measure(say: Callable[[str], None]) -> list[Figure]:
    """Every figure. Takes a few minutes: old releases are run live."""
    say("importing the runner in a bare interpreter, three times")
    imports = sorted(_cost([sys.executable, "-c", IMPORT])[0] for _ in range(3))
    floor = imports[1]
    figures = [Figure("import of the runner (processor time)", f"{floor:.1f} s", 1.0, "the floor")]

    say("checking all pages, one release")
    _cost([*COMMAND, "check"])
    costs = sorted(_cost([*COMMAND, "check"]) for _ in range(3))
    cpu, wall = costs[1]
    figures.append(
        Figure("check, all pages (processor time)", f"{cpu:.1f} s, {wall:.1f} s wall", cpu / floor, "at most 1.25")
    )

    say("checking all pages, old releases live and in parallel")
    cpu, wall = _cost([*COMMAND, "check", "--live"])
    releases = _live_releases()
    cores = os.cpu_count() or 1
    floor_wall = (1 + releases) * floor / cores
    name = f"check --live, {releases} old releases in parallel"
    figures.append(Figure(name, f"{cpu:.1f} s, {wall:.1f} s wall", wall / floor_wall, "1.25, of imports ÷ cores"))

    say("reading the whole of vLLM-Omni with lint")
    costs = sorted(_cost(_lint_everything(), DISAGREED) for _ in range(3))
    cpu, wall = costs[1]
    name = "lint, all of vLLM-Omni (processor time)"
    figures.append(Figure(name, f"{cpu:.1f} s, {wall:.1f} s wall", cpu / 3, "at most 1 (3 s)"))
    figures += _matrix(say)

    say("judging forced rows on an imported runner")
    rate = _rows_a_second()
    figures.append(
        Figure(
            "forced rows on an imported runner", f"{rate:.0f} rows a second", rate / 300, "at least 1 (300 a second)"
        )
    )

    say("breaking the imported runner in each known way")
    seconds, defects = _first_catches()
    name = f"mutants: a defect to its first catch, mean of {defects}"
    figures.append(Figure(name, f"{seconds:.2f} s", seconds / 0.5, "at most 1 (0.5 s)"))

    say("checking a page again after an edit, the runner kept imported")
    again, cold = _recheck()
    name = "check --watch: a page again after an edit"
    figures.append(Figure(name, f"{again:.2f} s; a cold check {cold:.1f} s", again / cold, "under one second"))

    if Path("mkdocs.yml").is_file():
        say("building the site")
        cpu, wall = _cost(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", "build/bench-site"]
        )
        figures.append(Figure("mkdocs build --strict", f"{cpu:.1f} s, {wall:.1f} s wall", cpu / floor, ""))
    return figures


def _lint_everything() -> list[str]:
    """The command that lints the installed vLLM-Omni: it finds something, as the page about its models says."""
    spec = importlib.util.find_spec("vllm_omni")
    if spec is None or spec.origin is None:
        raise SystemExit("vLLM-Omni is not installed here")
    return [*COMMAND, "lint", str(Path(spec.origin).parent)]


MATRIX = [*COMMAND, "matrix"]
IN_ONE_IMPORT = ("ar", "generation", "v2")
"""Runners that share the import of a release; the whole V2 has an import of its own, and interprets its kernels."""

STALE_BOUND = "at most 1 (2 s)"


def _matrix(say: Callable[[str], None], only: Sequence[str] = ()) -> list[Figure]:
    """The matrix with nothing stale, and run anew, on all releases that are run or on those that are named."""
    say("the matrix, nothing stale")
    cpu, wall = min(_cost(MATRIX) for _ in range(3))
    figures = [
        Figure("matrix, nothing stale (processor time)", f"{cpu:.1f} s, {wall:.1f} s wall", cpu / 2, STALE_BOUND)
    ]
    versions = only or [release.vllm_omni for release in catalogue.releases() if release.how == "run"]
    folders = [install.install(release, say) for v in versions if (release := catalogue.release(v))]
    say(f"importing each of {len(versions)} releases, as many at once as the matrix does")
    floor = _imports(folders)
    say(f"the matrix, {len(versions)} releases live")
    chosen = [word for version in versions for word in ("--release", version)]
    chosen += [word for runner in IN_ONE_IMPORT for word in ("--runner", runner)]
    cpu, wall = _cost([*MATRIX, "--live", *chosen])
    name = f"matrix --live, {len(versions)} releases: {', '.join(IN_ONE_IMPORT)} (processor time)"
    bound = "at most 1.25, to the sum of their imports"
    return [*figures, Figure(name, f"{cpu:.1f} s, {wall:.1f} s wall", cpu / floor, bound)]


def _imports(folders: Sequence[Path]) -> float:
    """Processor seconds of an import of each, as many at once as there are cores: each takes longer beside another."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        list(pool.map(lambda folder: _cost([sys.executable, "-c", IMPORT], PYTHONPATH=str(folder)), folders))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _live_releases() -> int:
    from spec_examples.targets.catalogue import releases
    from spec_examples.targets.target import installed_version

    return sum(release.vllm_omni != installed_version() for release in releases() if release.how == "run")


def _recheck() -> tuple[float, float]:
    """Wall seconds of a page again after an edit that needs a new run, and of a check of that page from nothing."""
    original = Path("docs/contract/fields.md").resolve()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "docs" / "contract" / original.name
        page.parent.mkdir(parents=True)
        shutil.copy("mkdocs.yml", folder)
        text = original.read_text(encoding="utf-8")
        page.write_text(text, encoding="utf-8")
        cold = _cost([*COMMAND, "check", str(page)])[1]
        seconds = []
        with Session(forking=True, once=True) as session:
            (before,) = check([page], session, Target()).pages
            for edit in range(5):
                added = f"from spec_examples import Row, run\n\nassert run(Row(7, {7 + edit}, 1)).mtp"
                page.write_text(f"{text}\n```python\n{added}\n```\n", encoding="utf-8")
                seconds.append(recheck(page, before, session, Target()).seconds)
        return sorted(seconds)[2], cold


def _rows_a_second() -> float:
    """Rows of the routing table's placements, alone and between neighbours, through either hook."""
    with Session() as session:
        session.environment(Target())
        scenarios = [
            forced(placements(prompt_len, computed, span), hook)
            for prompt_len, computed, span in ((5, 0, 4), (5, 4, 1), (5, 5, 1), (5, 6, 1), (1, 0, 1), (5, 5, 2))
            for hook in ("scalar", "batched")
        ]
        for scenario in scenarios:
            session.run(scenario)
        started, rows = time.monotonic(), 0
        for _ in range(5):
            rows += sum(len(step.rows) for scenario in scenarios for step in session.run(scenario).steps)
        return rows / (time.monotonic() - started)


def _first_catches() -> tuple[float, int]:
    """Wall seconds of a defect of the shared runner to the first example that catches it, and how many there are."""
    with Session() as session:
        hunt = Hunt(sorted(Path("docs/contract").glob("*.md")), session, Target())
        hunt.run_control()
        defects, started = mutants_of("ar"), time.monotonic()
        passed = [mutant.name for mutant in defects if hunt.hunt(mutant).state != "caught"]
        if passed:
            raise SystemExit(f"nothing catches {', '.join(passed)}")
        return (time.monotonic() - started) / len(defects), len(defects)


def _machine() -> str:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor() or platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, CPython {platform.python_version()}, no accelerator"


def main() -> None:
    """Measure, print, and with ``--write FILE`` keep the figures."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--write", metavar="FILE", help="a Markdown file to keep the figures in")
    parser.add_argument(
        "--matrix", nargs="+", default=[], metavar="RELEASE", help="measure the matrix alone, on these releases"
    )
    options = parser.parse_args()
    progress = Console(stderr=True)

    def say(line: str) -> None:
        progress.print(f"… {line}", highlight=False)

    figures = _matrix(say, options.matrix) if options.matrix else measure(say)
    table = Table("what", "measured", "ratio", "to keep")
    for figure in figures:
        table.add_row(
            figure.name, figure.measured, f"{figure.ratio:.2f}" if figure.ratio is not None else "", figure.bound
        )
    Console(width=120).print(table)
    if options.write:
        lines = [
            "# Speed",
            "",
            f"Measured by `make bench` on {date.today().isoformat()}: {_machine()}.",
            "Ratios are to the import of the runner, measured in the same run, unless the last column says otherwise.",
            "",
            "| What | Measured | Ratio | To keep |",
            "| --- | --- | --- | --- |",
        ]
        lines += [
            f"| {f.name} | {f.measured} | {f'{f.ratio:.2f}' if f.ratio is not None else ''} | {f.bound} |"
            for f in figures
        ]
        Path(options.write).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
