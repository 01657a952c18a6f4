"""Execute pages against a target, and say what came of every example."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from spec_examples import pages
from spec_examples.conformance.checked import recorded_results
from spec_examples.conformance.control import excused
from spec_examples.conformance.known import PAGE, known
from spec_examples.conformance.record import Record
from spec_examples.contract.clauses import CLAUSES, MODEL_CLAUSES
from spec_examples.execution.page import PageExecution
from spec_examples.execution.result import Result, State
from spec_examples.exercised import Exercised
from spec_examples.gate.broken import Broken, broken_clauses
from spec_examples.lint.checked import recorded_models
from spec_examples.markdown import Page, PageError, check_unique, read
from spec_examples.markdown.includes import generated
from spec_examples.markdown.sybil_parser import PageDocument, regions
from spec_examples.mutants.checked import recorded_catches
from spec_examples.pages import NoPages
from spec_examples.targets import Session, Target
from spec_examples.trace import Environment

MOST_LANES = 4
"""Pages at once: each has a copy of the process that imported the runner."""

STATES = ("passed", "failed", "drifted", "diverges", "exempt", "error")
KINDS = ("block", "row", "admonition", "recorded")


@dataclass
class PageReport:
    """One page: its results in order, or the one line that says why it could not be read."""

    path: str
    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0
    exercised: Exercised = field(default_factory=Exercised)

    def count(self, kind: str) -> int:
        """Examples of one kind."""
        return sum(result.kind == kind for result in self.results)

    @property
    def worst(self) -> str:
        """The state that decides about the page."""
        states = {result.outcome for result in self.results}
        return next((s for s in ("failed", "error", "drifted", "diverges") if s in states), "passed")


@dataclass
class CheckReport:
    """A whole check: what ran, what the suite shows of each clause if it was asked, and what came of each page."""

    target: Target
    environment: Environment
    pages: list[PageReport] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Pages that were not executed, and why."""
    record: Record | None = None
    """The verdicts on the clauses, if they were judged."""
    broken: tuple[Broken, ...] = ()
    """The promises that the runner was seen to break, known divergences aside."""
    drift: str = "error"
    """How drift counts: as an ``error``, or as a line of the ``report``."""

    @property
    def results(self) -> list[Result]:
        """Every result, page by page."""
        return [result for page in self.pages for result in page.results]

    @property
    def exercised(self) -> Exercised:
        """What all pages together made of the runner under test; runs on other releases do not count."""
        return sum((page.exercised for page in self.pages), Exercised())

    def summary(self) -> dict[str, int]:
        """Counts by outcome and by kind, under the names of the JSON report."""
        states: Counter[str] = Counter(result.outcome for result in self.results)
        kinds: Counter[str] = Counter(result.kind for result in self.results)
        plural = {"block": "blocks", "row": "rows", "admonition": "admonitions", "recorded": "recorded"}
        return {**{s: states[s] for s in STATES}, **{plural[k]: kinds[k] for k in KINDS}}

    @property
    def exit_code(self) -> int:
        """0: kept, and agreed. 1: violated, or page and runner disagree. 2: could not be asked. 1 outranks 2."""
        if self.record and (self.record.violated() or self.record.stops):
            return 1
        states = {result.outcome for result in self.results}
        return 1 if "failed" in states else 2 if "error" in states else 0


def contract_pages() -> list[Path]:
    """The pages that a runner of any origin is held against: those of the contract itself."""
    return find_pages([str(pages.folder() / "contract")])


def find_pages(paths: Iterable[str]) -> list[Path]:
    """The Markdown files that ``paths`` name, folders searched; without any, all of ``docs/``. Raises ``NoPages``."""
    names = list(paths)
    given = [Path(name) for name in names] or [_default_folder()]
    wanted: list[Path] = []
    for path in given:
        if path == Path() and "" in names:
            raise NoPages("'' is no path")
        if (path / "vllm_omni" / "__init__.py").is_file():
            raise NoPages(f"{path} is a folder of vLLM-Omni: write check --vllm-omni {path} to judge its runner")
        if path.is_dir():
            found = sorted(path.rglob("*.md"))
            if not found:
                raise NoPages(f"{path}: no page (*.md) in this folder")
            wanted += found
        elif path.suffix == ".md" and path.is_file():
            wanted.append(path)
        elif path.is_file():
            raise NoPages(f"{path}: a page ends in .md")
        else:
            raise NoPages(f"{path}: no such file or folder")
    return list(dict.fromkeys(wanted))


AT_LINE = re.compile(r"(?P<path>.+\.md):(?P<line>[1-9]\d*)")
"""A page and one of its lines, as failures are printed."""


def find_examples(paths: Iterable[str]) -> tuple[list[Path], dict[Path, set[int]]]:
    """As ``find_pages``; and of pages that are named with a line, as in ``docs/index.md:41``, those lines alone."""
    lines: dict[Path, set[int]] = {}
    whole: list[str] = []
    for name in paths:
        found = AT_LINE.fullmatch(name)
        if found and not Path(name).exists():
            lines.setdefault(Path(found["path"]), set()).add(int(found["line"]))
        else:
            whole.append(name)
    asked = find_pages([*whole, *map(str, lines)])
    entire = set(find_pages(whole)) if whole else set()
    return asked, {path: numbers for path, numbers in lines.items() if path not in entire}


def _default_folder() -> Path:
    """``docs`` here where it has the contract, else the package's own; other projects have a ``docs`` of theirs."""
    if all(Path(clause.page).is_file() for clause in CLAUSES.values()):
        return Path("docs")
    if pages.folder().is_dir():
        return pages.folder()
    raise NoPages("no pages of the contract here: name the pages to check")


def left_out(paths: Iterable[Path]) -> dict[Path, str]:
    """Of the package's own pages, those that need a clone, each with the reason. In a clone there are none."""
    found = {pages.root() / name: reason for name, reason in pages.NEEDS_CLONE.items()} if not pages.is_clone() else {}
    return {path: found[path] for path in paths if path in found}


def check(
    paths: Iterable[Path],
    session: Session,
    target: Target,
    *,
    complete: bool = False,
    lines: Mapping[Path, set[int]] | None = None,
    record: Record | None = None,
    judged: Sequence[Broken] = (),
    drift: str = "error",
    began: Callable[[Path], None] = lambda _: None,
    ended: Callable[[PageReport], None] = lambda _: None,
) -> CheckReport:
    """Execute every example of ``paths`` on ``target``, pages side by side.

    ``complete`` says that these are all pages, so that every clause has to stand on one of them. ``lines`` are those of
    the pages of which not all is asked. ``record`` is what the suite showed before, ``judged`` what it found violated.
    With ``drift="report"`` a page that disagrees although no clause is violated does not count. ``began`` is told of
    each page from the thread that executes it, ``ended`` in the order of the pages. Raises ``TargetUnavailable`` if
    the target cannot be asked at all.
    """
    session.start([target])
    paths = list(paths)
    out = left_out(paths)
    read_pages = list(_read_all((path for path in paths if path not in out), complete))
    without = {_shown(path): why for path, why in out.items()}
    report = CheckReport(target, session.environment(target), left_out=without, record=record, drift=drift)

    def checked(read: Read) -> PageReport:
        path, page, wrong = read
        began(path)
        done = _check_page(path, page, wrong, session, target, (lines or {}).get(path))
        if drift == "report":
            done.results = [drifted(result, session, target) for result in done.results]
        return done

    for done in _side_by_side(checked, read_pages):
        report.pages.append(done)
        ended(done)
    if complete:
        report.pages[-1].results += _gone(report)
    report.broken = broken_clauses(report.results, session, target, judged)
    return report


Read = tuple[Path, Page | None, list[Result]]
"""A page as it was read, and what is wrong with it as a page."""


def _side_by_side(checked: Callable[[Read], PageReport], read_pages: list[Read]) -> Iterator[PageReport]:
    """The reports of all pages in their order. As many are made at once as there are cores, the longest pages first.

    Each has a process of its own for its blocks, and another for its runs. An interrupt waits for none of them.
    """
    lanes = min(MOST_LANES, len(os.sched_getaffinity(0)), len(read_pages))
    if lanes < 2:
        yield from map(checked, read_pages)
        return
    reports: list[Future[PageReport]] = [Future() for _ in read_pages]
    left = sorted(range(len(read_pages)), key=lambda number: _weight(read_pages[number][1]))

    def lane() -> None:
        with suppress(IndexError):
            while True:
                number = left.pop()
                try:
                    reports[number].set_result(checked(read_pages[number]))
                except BaseException as error:
                    reports[number].set_exception(error)

    for _ in range(lanes):
        threading.Thread(target=lane, daemon=True).start()
    try:
        for report in reports:
            yield report.result()
    finally:
        left.clear()


def _weight(page: Page | None) -> int:
    """How long a page takes beside others: a command may run a whole suite."""
    return sum(20 if example.language == "console" else 1 for example in page.examples) if page else 0


def drifted(result: Result, session: Session, target: Target) -> Result:
    """The result, as drift if the page disagrees and none of its runs violates a clause or is stopped by the runner."""
    if result.outcome not in ("failed", "error") or result.shown:
        return result
    if any(stop is None or not excused(session, target, stop) for stop in result.stops):
        return result
    return replace(result, outcome="drifted")


def check_again(path: Path, session: Session, target: Target) -> PageReport:
    """One page anew, with a session that has the target. Raises ``TargetUnavailable``."""
    ((_, page, wrong),) = _read_all([path], complete=False)
    return _check_page(path, page, wrong, session, target, None)


def _check_page(
    path: Path, page: Page | None, wrong: list[Result], session: Session, target: Target, lines: set[int] | None
) -> PageReport:
    started = time.monotonic()
    if page is None:
        done = PageReport(_shown(path), wrong)
    elif lines is not None:
        done = PageReport(page.examples[0].page if page.examples else _shown(path), [*wrong])
        with PageExecution(page, session, target) as execution:
            done.results += [_of_line(page, execution, line) for line in sorted(lines)]
            done.exercised = execution.exercised
    else:
        name = page.examples[0].page if page.examples else _shown(path)
        done = PageReport(name, wrong)
        done.results += [*_execute(page, session, target, done), *_recorded(page)]
    session.renew()
    done.seconds = time.monotonic() - started
    return done


def _of_line(page: Page, execution: PageExecution, line: int) -> Result:
    """The example at a line, behind those before it of which it may need something."""
    for example in page.examples:
        if example.line <= line <= example.end_line:
            return execution.evaluate(example)
    nearest = sorted({example.line for example in page.examples}, key=lambda other: abs(other - line))[:2]
    near = f"; the nearest are at {' and '.join(map(str, sorted(nearest)))}" if nearest else ""
    return _wrong_at(page.path, line, f"no example is at this line{near}")


def _recorded(page: Page) -> list[Result]:
    """What the page takes in of recorded results is checked, once: where the table of each stands."""
    taken_in = generated(page.includes)
    return [
        *(recorded_results() if "matrix.md" in taken_in else ()),
        *(recorded_models() if "lint-models.md" in taken_in else ()),
        *(recorded_catches() if "mutants.md" in taken_in else ()),
    ]


def _gone(report: CheckReport) -> list[Result]:
    """A known divergence that no example shows any more is red too: its page has to be changed."""
    environment = report.environment
    expected = known(environment.vllm_omni, report.target.runner, environment.preprocess_from, gate=True)
    seen = {clause for result in report.results if result.outcome == "diverges" for clause in result.clauses}
    return [
        _wrong_at(
            Path(PAGE),
            1,
            f"{clause} is kept here, so the known divergence {divergence.id!r} is gone: in "
            "spec_examples/conformance/divergences.toml give its last release as until, and say so in its section here",
            "failed",
        )
        for clause, divergence in expected.items()
        if clause not in seen
    ]


def _execute(page: Page, session: Session, target: Target, done: PageReport) -> Iterator[Result]:
    """Sybil walks the page; the execution keeps what came of each example, and ``done`` what was exercised."""
    with PageExecution(page, session, target) as execution:
        document = PageDocument(page.text, str(page.path))
        for region in regions(page, lambda example: _evaluate(execution, example)):
            document.add(region)
        for example in document.examples():
            example.evaluate()
            yield execution.results[example.parsed.id]
        done.exercised = execution.exercised


def _evaluate(execution: PageExecution, example: object) -> None:
    execution.evaluate(example.parsed)  # type: ignore[attr-defined]


def _read_all(paths: Iterable[Path], complete: bool) -> Iterator[tuple[Path, Page | None, list[Result]]]:
    """Every page with what is wrong with it as a page; clause ids have to be known, and to stand in one place."""
    found: list[tuple[Path, Page | None, list[Result]]] = []
    for path in paths:
        try:
            page = read(path)
            found.append((path, page, _unknown_clauses(page)))
        except PageError as error:
            found.append((path, None, [_page_error(error)]))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            found.append((path, None, [_wrong_at(path, 1, f"cannot be read: {reason}")]))
    whole = [page for _, page, _ in found if page is not None]
    try:
        check_unique(whole)
    except PageError as error:
        found[0][2].append(_page_error(error))
    if complete and all(page is not None for _, page, _ in found):
        anchored = {clause for page in whole for clause in page.clauses}
        for clause in (CLAUSES | MODEL_CLAUSES).values():
            if clause.id not in anchored:
                home = next((wrong for path, _, wrong in found if path.as_posix().endswith(clause.page)), found[0][2])
                home.append(_wrong_at(Path(clause.page), 1, f"{clause.id} has no anchor on this page"))
    yield from found


def _unknown_clauses(page: Page) -> list[Result]:
    wrong, known = [], CLAUSES | MODEL_CLAUSES
    for clause, line in page.clauses.items():
        if clause not in known:
            wrong.append(_wrong_at(page.path, line, f"{clause} is no clause of this contract"))
        elif not page.path.as_posix().endswith(known[clause].page.rpartition("/")[2]):
            wrong.append(_wrong_at(page.path, line, f"{clause} stands on {known[clause].page}"))
    return wrong


def _page_error(error: PageError) -> Result:
    return _wrong_at(error.path, error.line, error.message, column=error.column)


def _wrong_at(path: Path, line: int, message: str, outcome: State = "error", column: int | None = None) -> Result:
    shown = _shown(path)
    return Result(f"{shown}:{line}", "block", shown, line, (), outcome, message, column=column)


def _shown(path: Path) -> str:
    """A path as a person would type it from here; a page of the package's own, as the repository has it."""
    whole = Path(os.path.realpath(path))  # of links in a circle, as far as it goes
    above = next((folder for folder in (Path.cwd(), pages.root()) if whole.is_relative_to(folder)), None)
    return (whole.relative_to(above) if above else path).as_posix()
