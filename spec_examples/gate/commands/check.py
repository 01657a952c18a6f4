"""``phase-contract check``: execute pages against a runner."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich.console import Console

from spec_examples.conformance.record import Record
from spec_examples.execution import interpreter
from spec_examples.gate import report
from spec_examples.gate.broken import Broken, violated_clauses
from spec_examples.gate.check import CheckReport, PageReport, check, contract_pages, find_examples, find_pages
from spec_examples.gate.commands.common import (
    NOT_ASKED,
    Stop,
    add_output_options,
    add_target_options,
    output,
    python_for,
    session_for,
    target_of,
)
from spec_examples.gate.formats import FORMATS
from spec_examples.gate.judging import judge_clauses, judge_source
from spec_examples.gate.watching import changes, make_copy_ready, make_renderer_ready, recheck
from spec_examples.running import Context
from spec_examples.targets import Session, Target
from spec_examples.targets.errors import TargetOnlyRead
from spec_examples.targets.target import RUNNERS


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n"
        "  phase-contract check\n"
        "  phase-contract check --vllm-omni ../vllm-omni\n"
        "  phase-contract check --clauses --runner my_plugin.runner:MyModelRunner\n"
        "  phase-contract check --drift=error\n"
        "  phase-contract check docs/contract/routing.md --vllm-omni 0.20.0\n"
        "  phase-contract check docs/contract/fields.md:120\n"
        "  phase-contract check --watch docs/contract\n"
        "  phase-contract check --vllm-omni ../vllm-omni --format json --output report.json\n"
        "  phase-contract check --vllm-omni . --format github --also sarif=contract.sarif --also junit=contract.xml"
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="pages, PAGE:LINE, or folders: these are executed, and nothing else (default: judge the runner by the "
        "clauses, then execute the pages of the contract)",
    )
    add_target_options(parser, default)
    parser.add_argument("--clauses", action="store_true", help="judge the runner by the clauses, and execute no page")
    parser.add_argument(
        "--drift",
        choices=("report", "error"),
        help="what it is that a page says something else than a runner does that violates no clause: reported (the "
        "default), or an error (the default for a PATH). Without a PATH, error executes the guides and the reference "
        "on the installed runner as well: the pages have to follow it",
    )
    add_output_options(parser, FORMATS)
    parser.add_argument(
        "--also",
        type=_also,
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help="write the report in a further format to a file, from the same run; may be repeated",
    )
    parser.add_argument(
        "--live", action="store_true", help="run published releases again instead of reading kept traces"
    )
    parser.add_argument(
        "--within",
        type=_minutes,
        default=0.0,
        metavar="MINUTES",
        help="with --live: what ran on a published release within MINUTES is not run again",
    )
    parser.add_argument(
        "--watch", action="store_true", help="keep the runner imported, and check a page again when it changes"
    )
    parser.set_defaults(run=_check)


def _also(text: str) -> tuple[str, str]:
    name, equals, file = text.partition("=")
    if name not in FORMATS or not equals or not file:
        raise argparse.ArgumentTypeError(f"{text!r} is not FORMAT=FILE, with one of {', '.join(FORMATS)}")
    return name, file


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of minutes") from error
    if not 0 <= minutes < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: minutes are 0 or more")
    return minutes


def _check(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    if options.watch:
        return _watch(options, out)
    if options.within and not options.live:
        raise Stop(NOT_ASKED, "--within says what counts as run, and needs --live")
    if options.clauses and options.paths:
        raise Stop(NOT_ASKED, "--clauses executes no page: leave the PATH out")
    try:
        target = target_of(options)
    except TargetOnlyRead as older:
        if options.paths:
            raise
        return _report_what_was_read(older, options, out)
    plan = _plan(options, target)
    python = python_for(options)
    progress = Console(stderr=True)
    with ExitStack() as opened:
        stream, files = _opened(opened, options, out)
        lent = session_for(context, options.live, progress, within_s=60 * options.within, forking=True, python=python)
        session = opened.enter_context(lent)
        text = options.format == "text"

        def say(said: str) -> None:
            if text:
                stream.write(said)
                stream.flush()

        with progress.status(f"importing {target}") as status:
            done = _carry_out(plan, session, target, status.update, say)
        stream.write(report.pages_text(done) if text else FORMATS[options.format](done))
        for name, file in files:
            file.write(FORMATS[name](done))
    return done.exit_code


def _opened(opened: ExitStack, options: argparse.Namespace, out: TextIO) -> tuple[TextIO, list[tuple[str, TextIO]]]:
    """The stream of the report, and those of its further formats."""
    stream = opened.enter_context(output(options.output, out))
    return stream, [(name, opened.enter_context(output(file, out))) for name, file in options.also]


def _report_what_was_read(older: TargetOnlyRead, options: argparse.Namespace, out: TextIO) -> int:
    """A folder that is older than what runs here: its source decides, as far as it can be read."""
    record = judge_source(older, options.runner)
    broken = tuple(Broken(clause, message=cell.message) for clause, cell in record.violated().items())
    done = CheckReport(Target(older.folder, options.runner), record.environment, record=record, broken=broken)
    with ExitStack() as opened:
        stream, files = _opened(opened, options, out)
        for name, file in [(options.format, stream), *files]:
            file.write(FORMATS[name](done))
    return done.exit_code


@dataclass(frozen=True)
class _Plan:
    """The parts of a check: judging the clauses, executing ``pages``, or both."""

    judged: bool
    pages: tuple[Path, ...]
    lines: dict[Path, set[int]]
    complete: bool
    drift: str


def _plan(options: argparse.Namespace, target: Target) -> _Plan:
    """A PATH asks about pages, no PATH about the runner; ``--drift=error`` asks whether all pages follow it."""
    if options.paths:
        pages, lines = find_examples(options.paths)
        return _Plan(False, tuple(pages), lines, False, options.drift or "error")
    drift = options.drift or "report"
    if options.clauses:
        return _Plan(True, (), {}, False, drift)
    keeps_pages = drift == "error" and target.is_installed and target.runner in RUNNERS
    pages = find_pages([]) if keeps_pages else contract_pages()
    return _Plan(True, tuple(pages), {}, keeps_pages, drift)


def _carry_out(
    plan: _Plan, session: Session, target: Target, status: Callable[[str], None], say: Callable[[str], None]
) -> CheckReport:
    """Judge the clauses, then execute the pages; a runner that is older than the contract has none to agree with."""
    session.start([target])
    interpreter.prepare()  # both import what they need at the same time
    record: Record | None = None
    judged: tuple[Broken, ...] = ()
    if plan.judged:
        record = judge_clauses(session, target)
        judged = violated_clauses(record, session, target)
        say(report.clauses_text(record, judged, target))
        if not plan.pages or record.predates or record.how == "read":
            return CheckReport(target, record.environment, record=record, broken=judged, drift=plan.drift)
    return check(
        plan.pages,
        session,
        target,
        complete=plan.complete,
        lines=plan.lines,
        record=record,
        judged=judged,
        drift=plan.drift,
        began=lambda path: status(f"executing {path}"),
        ended=lambda page: say(f"{report.page_line(page)}\n"),
    )


def _watch(options: argparse.Namespace, out: TextIO) -> int:
    """Check all once, then each page that changes, until interrupted. The status is that of the last state."""
    if options.format != "text" or options.output or options.also or options.live:
        raise Stop(NOT_ASKED, "--watch prints text as it goes: leave --format, --output, --also and --live out")
    pages, lines = find_examples(options.paths)
    if lines:
        raise Stop(NOT_ASKED, "--watch takes whole pages: leave the line out")
    target = target_of(options)
    python = python_for(options)
    progress = Console(stderr=True)

    def write(text: str) -> None:
        out.write(text)
        out.flush()

    with Session(
        say=lambda line: progress.print(line, highlight=False), forking=True, once=True, python=python
    ) as session:
        with progress.status(f"importing {target}"):
            done = check(pages, session, target, ended=lambda page: write(f"{report.page_line(page)}\n"))
        write(report.check_text(done))
        state = {path.resolve(): page for path, page in zip(pages, done.pages, strict=True)}
        with suppress(KeyboardInterrupt):
            _keep_watching(state, session, target, write)
        done.pages = list(state.values())
        return done.exit_code


def _keep_watching(
    state: dict[Path, PageReport], session: Session, target: Target, write: Callable[[str], None]
) -> None:
    """Check again what changes; a runner in a folder is imported anew when one of its files changes."""
    runner = [] if target.is_installed or target.is_release else [Path(target.vllm_omni).resolve()]
    watched = [*{path.parent for path in state}, *(folder / "vllm_omni" for folder in runner)]
    saved = changes(watched, (".md", ".py"))  # noticed before it is said that they are
    make_renderer_ready(state)
    make_copy_ready(session, target)
    write(f"watching {len(state)} page{'s' * (len(state) != 1)}; interrupt to end\n")
    for changed in saved:
        if any(path.suffix == ".py" and path.is_relative_to(folder) for path in changed for folder in runner):
            session.forget()
            changed |= state.keys()
        for path in sorted(changed & state.keys()):
            if path.is_file():
                found = recheck(path, state[path], session, target)
                state[path] = found.page
                write(report.rechecked(found))
        make_copy_ready(session, target)
