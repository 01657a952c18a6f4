"""``phase-contract check``: execute pages against a runner."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TextIO

from rich.console import Console

from spec_examples.gate import report
from spec_examples.gate.check import PageReport, check, find_examples
from spec_examples.gate.commands.common import (
    NOT_ASKED,
    Commands,
    Stop,
    add_command,
    add_output_options,
    add_target_options,
    output,
    session_for,
    target_of,
)
from spec_examples.gate.formats import FORMATS
from spec_examples.gate.watching import WarmSession, changes, recheck
from spec_examples.running import Context
from spec_examples.targets import Target


def add(commands: Commands, default: Target) -> None:
    """Register the command."""
    parser = add_command(
        commands,
        "check",
        "execute pages against a runner",
        "  phase-contract check\n"
        "  phase-contract check docs/contract/routing.md --vllm-omni 0.20.0\n"
        "  phase-contract check docs/contract/fields.md:120\n"
        "  phase-contract check --watch docs/contract\n"
        "  phase-contract check --vllm-omni ../vllm-omni --format json --output report.json\n"
        "  phase-contract check --vllm-omni . --format github --also sarif=contract.sarif --also junit=contract.xml",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="pages, PAGE:LINE, or folders (default: all of docs/)")
    add_target_options(parser, default)
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
    pages, lines = find_examples(options.paths)
    target = target_of(options)
    progress = Console(stderr=True)
    if options.within and not options.live:
        raise Stop(NOT_ASKED, "--within says what counts as run, and needs --live")
    with ExitStack() as opened:
        stream = opened.enter_context(output(options.output, out))
        files = [(name, opened.enter_context(output(file, out))) for name, file in options.also]
        lent = session_for(context, options.live, progress, within_s=60 * options.within, forking=True)
        session = opened.enter_context(lent)
        text = options.format == "text"
        with progress.status(f"importing {target}") as status:
            done = check(
                pages,
                session,
                target,
                complete=not options.paths,
                lines=lines,
                began=lambda path: status.update(f"executing {path}"),
                ended=lambda page: print(report.page_line(page), file=stream, flush=True) if text else None,
            )
        for name, file in [(options.format, stream), *files]:
            file.write(FORMATS[name](done))
    return done.exit_code


def _watch(options: argparse.Namespace, out: TextIO) -> int:
    """Check all once, then each page that changes, until interrupted. The status is that of the last state."""
    if options.format != "text" or options.output or options.also or options.live:
        raise Stop(NOT_ASKED, "--watch prints text as it goes: leave --format, --output, --also and --live out")
    pages, lines = find_examples(options.paths)
    if lines:
        raise Stop(NOT_ASKED, "--watch takes whole pages: leave the line out")
    target = target_of(options)
    progress = Console(stderr=True)

    def write(text: str) -> None:
        out.write(text)
        out.flush()

    with WarmSession(say=lambda line: progress.print(line, highlight=False)) as session:
        with progress.status(f"importing {target}"):
            done = check(pages, session, target, ended=lambda page: write(f"{report.page_line(page)}\n"))
        write(report.check_text(done))
        state = {path.resolve(): page for path, page in zip(pages, done.pages, strict=True)}
        with suppress(KeyboardInterrupt):
            _keep_watching(state, session, target, write)
        done.pages = list(state.values())
        return done.exit_code


def _keep_watching(
    state: dict[Path, PageReport], session: WarmSession, target: Target, write: Callable[[str], None]
) -> None:
    """Check again what changes; a runner in a folder is imported anew when one of its files changes."""
    runner = [] if target.is_installed or target.is_release else [Path(target.vllm_omni).resolve()]
    watched = [*{path.parent for path in state}, *(folder / "vllm_omni" for folder in runner)]
    saved = changes(watched, (".md", ".py"))  # noticed before it is said that they are
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
