"""Every figure that has a bound, and how it is measured. Each function measures one thing and what belongs to it."""

from __future__ import annotations

import importlib.util
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from spec_examples.bench import pages
from spec_examples.bench.figure import Figure, figure
from spec_examples.bench.measuring import COMMAND, IMPORT, Cost, Floor, cost, peaks_mib, surroundings, timed
from spec_examples.execution.page import PageExecution
from spec_examples.gate.commands.common import DISAGREED
from spec_examples.markdown import read
from spec_examples.mutants import mutants_of
from spec_examples.mutants.catching import Hunt
from spec_examples.scenario import CONTROL
from spec_examples.targets import Session, Target, catalogue, install

IMPORTS = "× import"
JUNIT = Path("build/junit.xml")
"""Where ``make test`` leaves what each test took, when it is measured."""


def imports(floor: Floor) -> list[Figure]:
    """The floor: the import of the runner in a bare interpreter."""
    floor.at_least(3)
    return [
        figure("import of the runner, processor time", "s", floor.cpu),
        figure("import of the runner, wall time", "s", floor.wall),
    ]


def start(floor: Floor) -> list[Figure]:
    """What the command line takes before a runner, and beside it."""
    floor.say("--help, nine times")
    helped = [cost((*COMMAND, "--help")) for _ in range(9)]
    row = (*COMMAND, "row", "--prompt-len", "5", "--computed", "4", "--span", "1")
    routed = floor.beside("row", row)
    beside = f"{routed[0][0]}"
    more = "phase-contract row, more than the import"
    return [
        figure("phase-contract --help, processor time", "s", [one.cpu for one in helped], floor.cpu, most=0.3),
        figure("phase-contract --help, wall time", "s", [one.wall for one in helped], floor.wall, most=0.3),
        figure(f"{more}, processor time", "s", [one.cpu - at.cpu for one, at in routed], most=0.5, beside=beside),
        figure(f"{more}, wall time", "s", [one.wall - at.wall for one, at in routed], most=0.5, beside=beside),
    ]


def check(floor: Floor) -> list[Figure]:
    """All pages on the installed runner; what older releases say is kept from the run before."""
    command = (*COMMAND, "check", "--drift=error")
    floor.say("check --drift=error, unmeasured: it fills the cache")
    cost(command)
    pairs = floor.beside("check --drift=error", command)
    beside = f"{pairs[0][0]}"
    cpu, wall = ([getattr(one, of) / getattr(at, of) for one, at in pairs] for of in ("cpu", "wall"))
    name = "check --drift=error, all pages"
    return [
        figure(f"{name}, processor time", IMPORTS, cpu, floor.cpu, most=1.6, beside=beside),
        figure(f"{name}, wall time", IMPORTS, wall, floor.wall, most=1.35, beside=beside),
    ]


def rows(floor: Floor) -> list[Figure]:
    """Rows a second on an imported runner, judged and compared, in the steps that a table of 300 rows asks for."""
    floor.say("rows on an imported runner")
    rates = []
    with tempfile.TemporaryDirectory() as folder, Session(forking=True) as session:
        page = read(pages.write(Path(folder), "rows.md", pages.table(300)))
        session.run(CONTROL)
        for _ in range(5):
            with PageExecution(page, session, Target()) as execution:
                started = time.monotonic()
                wrong = [str(result) for example in page.examples if (result := execution.evaluate(example)).message]
                took = time.monotonic() - started
                ran = execution.exercised.rows.total()
            if wrong:
                raise SystemExit(wrong[0])
            rates.append(ran / took)
    return [figure("rows on an imported runner", "rows a second", rates, least=2000, beside=f"{ran} rows")]


def table(floor: Floor) -> list[Figure]:
    """A page with a routing table of 5,000 rows: its time, the import included, and its memory."""
    floor.at_least(3)
    floor.say("a table of 5,000 rows")
    with tempfile.TemporaryDirectory() as folder:
        page = pages.write(Path(folder), "rows.md", pages.table(5000))
        wall, own, largest = peaks_mib((*COMMAND, "check", str(page)))
    name = "check, a page of 5,000 rows"
    return [
        figure(f"{name}, wall time with the import", "s", [wall], floor.wall, most=60),
        figure(f"{name}, peak of the command's own process", "MiB", [own], most=400),
        figure(f"{name}, peak of the largest process that it starts", "MiB", [largest]),
    ]


def watch(floor: Floor) -> list[Figure]:
    """From saving the largest page of the contract to the line with its verdict, as ``check --watch`` prints it."""
    first, later = [], []
    for number in range(3):
        floor.say(f"check --watch, started {number + 1} of 3")
        seconds = _saved(edits=4)
        first.append(seconds[0])
        later += seconds[1:]
    return [
        figure("check --watch, the first save to its verdict", "s", first, most=0.5),
        figure("check --watch, a later save to its verdict", "s", later, most=0.5),
    ]


def _saved(edits: int) -> list[float]:
    """Seconds to the verdict of each edit, which adds a block with a run that was not made before."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree("docs", Path(folder, "docs"))
        for name in ("mkdocs.yml", "CHANGELOG.md"):
            shutil.copy(name, folder)
        page = max(Path(folder, "docs", "contract").glob("*.md"), key=lambda path: path.stat().st_size)
        text = page.read_text(encoding="utf-8")
        said: queue.Queue[str] = queue.Queue()
        with subprocess.Popen(
            (*COMMAND, "check", "--watch", str(page.parent)), stdout=subprocess.PIPE, text=True, env=surroundings()
        ) as process:
            assert process.stdout is not None
            threading.Thread(target=lambda out: [*map(said.put, out)], args=(process.stdout,), daemon=True).start()
            _wait_for("watching", said)
            seconds = []
            for edit in range(edits):
                time.sleep(0.5)  # a person has read the verdict
                added = f"from spec_examples import Row, run\n\nassert run(Row(7, {107 + edit}, 1)).mtp"
                started = time.monotonic()
                page.write_text(f"{text}\n```python\n{added}\n```\n", encoding="utf-8")
                _wait_for("touched", said)
                seconds.append(time.monotonic() - started)
            process.terminate()
    return seconds


def _wait_for(word: str, said: queue.Queue[str]) -> None:
    while word not in said.get(timeout=600):
        pass


def lint(floor: Floor) -> list[Figure]:
    """The whole of the installed vLLM-Omni, read. It finds something, as the page about its models says."""
    spec = importlib.util.find_spec("vllm_omni")
    if spec is None or spec.origin is None:
        raise SystemExit("vLLM-Omni is not installed here")
    floor.say("lint, all of vLLM-Omni")
    costs = [cost((*COMMAND, "lint", str(Path(spec.origin).parent)), DISAGREED) for _ in range(3)]
    return [figure("lint, all of vLLM-Omni, processor time", "s", [one.cpu for one in costs], most=3)]


MATRIX = (*COMMAND, "matrix")
IN_ONE_IMPORT = ("ar", "generation", "v2")
"""Runners that share the import of a release; the whole V2 has an import of its own, and interprets its kernels."""


def matrix(floor: Floor) -> list[Figure]:
    """The matrix where nothing is stale."""
    floor.say("the matrix, nothing stale")
    costs = [cost(MATRIX) for _ in range(3)]
    return [figure("matrix, nothing stale, processor time", "s", [one.cpu for one in costs], most=2)]


def live(floor: Floor) -> list[Figure]:
    """The matrix run anew on every release, beside an import of each."""
    versions = [release.vllm_omni for release in catalogue.releases() if release.how == "run"]
    folders = [install.install(release, floor.say) for v in versions if (release := catalogue.release(v))]
    floor.at_least(3)
    before = _imports(folders, floor.say)
    ran = run_live(versions, floor.say)
    floor_cpu = (before + _imports(folders, floor.say)) / 2
    name = f"matrix --live, {len(versions)} releases ({', '.join(IN_ONE_IMPORT)}), processor time"
    return [figure(name, "× their imports", [ran.cpu / floor_cpu], floor.cpu, most=1.25, beside=str(ran))]


def run_live(versions: Sequence[str], say: Callable[[str], None]) -> Cost:
    """What it costs to judge these releases anew."""
    say(f"the matrix, {len(versions)} releases live")
    chosen = [word for version in versions for word in ("--release", version)]
    chosen += [word for runner in IN_ONE_IMPORT for word in ("--runner", runner)]
    return cost((*MATRIX, "--live", *chosen))


def _imports(folders: Sequence[Path], say: Callable[[str], None]) -> float:
    """Processor seconds of an import of each, as many at once as there are cores: each takes longer beside another."""
    say(f"importing each of {len(folders)} releases, as many at once as the matrix does")
    with timed() as found, ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        list(pool.map(lambda folder: cost((sys.executable, "-c", IMPORT), PYTHONPATH=str(folder)), folders))
    return found[0].cpu


def mutants(floor: Floor) -> list[Figure]:
    """A defect of the shared runner to the first example that catches it, the runner imported."""
    floor.at_least(3)
    floor.say("breaking the imported runner in each known way")
    with Session() as session:
        defects = len(mutants_of("ar"))
        seconds = first_catches(hunt(session), defects)
    name = f"mutants, a defect to its first catch, mean of {defects}"
    return [figure(name, "s", [seconds / defects], floor.wall, most=0.5)]


def hunt(session: Session) -> Hunt:
    """The examples of the contract, which have been executed on the runner as it is."""
    control = Hunt(sorted(Path("docs/contract").glob("*.md")), session, Target())
    control.run_control()
    return control


def first_catches(hunt: Hunt, count: int) -> float:
    """Wall seconds until each of the first ``count`` defects is caught."""
    defects, started = mutants_of("ar")[:count], time.monotonic()
    passed = [mutant.name for mutant in defects if hunt.hunt(mutant).state != "caught"]
    if passed:
        raise SystemExit(f"nothing catches {', '.join(passed)}")
    return time.monotonic() - started


def site(floor: Floor) -> list[Figure]:
    """The site, built."""
    floor.say("building the site")
    build = (sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", "build/bench-site")
    one = cost(build)
    return [figure("mkdocs build --strict, processor time", "s", [one.cpu], floor.cpu, beside=str(one))]


def whole(floor: Floor) -> list[Figure]:
    """``make test`` and ``make ci``, once set up."""
    floor.at_least(3)
    floor.say("make test")
    test = cost(("make", "test"), PYTEST_ADDOPTS=f"--junit-xml={JUNIT.resolve()}")
    floor.say("make ci")
    ci = cost(("make", "ci"))
    return [
        figure("make test, wall time", "min", [test.wall / 60], floor.wall, most=6, beside=str(test)),
        figure("make ci, wall time", "min", [ci.wall / 60], floor.wall, most=30, beside=str(ci)),
    ]


FIGURES: dict[str, Callable[[Floor], list[Figure]]] = {
    "import": imports,
    "start": start,
    "check": check,
    "rows": rows,
    "table": table,
    "watch": watch,
    "lint": lint,
    "matrix": matrix,
    "live": live,
    "mutants": mutants,
    "site": site,
    "whole": whole,
}
"""By the name that ``--only`` takes, in the order of the table."""
