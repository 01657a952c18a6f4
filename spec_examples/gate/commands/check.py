"""``phase-contract check``: execute pages against a runner."""

from __future__ import annotations

import argparse
import math
from contextlib import ExitStack
from typing import TextIO

from rich.console import Console

from spec_examples.gate import report
from spec_examples.gate.check import check, find_pages
from spec_examples.gate.commands.common import (
    NOT_ASKED,
    Commands,
    Stop,
    add_command,
    add_output_options,
    add_target_options,
    output,
    session_for,
)
from spec_examples.gate.formats import FORMATS
from spec_examples.running import Context
from spec_examples.targets import Target, resolve


def add(commands: Commands, default: Target) -> None:
    """Register the command."""
    parser = add_command(
        commands,
        "check",
        "execute pages against a runner",
        "  phase-contract check\n"
        "  phase-contract check docs/contract/routing.md --vllm-omni 0.20.0\n"
        "  phase-contract check --vllm-omni ../vllm-omni --format json --output report.json\n"
        "  phase-contract check --vllm-omni . --format github --also sarif=contract.sarif --also junit=contract.xml",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="pages or folders (default: all of docs/)")
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
    pages = find_pages(options.paths)
    target = resolve(options.vllm_omni, options.runner)
    progress = Console(stderr=True)
    if options.within and not options.live:
        raise Stop(NOT_ASKED, "--within says what counts as run, and needs --live")
    with ExitStack() as opened:
        stream = opened.enter_context(output(options.output, out))
        files = [(name, opened.enter_context(output(file, out))) for name, file in options.also]
        lent = session_for(context, options.live, progress, within_s=60 * options.within)
        session = opened.enter_context(lent)
        text = options.format == "text"
        with progress.status(f"importing {target}") as status:
            done = check(
                pages,
                session,
                target,
                complete=not options.paths,
                began=lambda path: status.update(f"executing {path}"),
                ended=lambda page: print(report.page_line(page), file=stream, flush=True) if text else None,
            )
        for name, file in [(options.format, stream), *files]:
            file.write(FORMATS[name](done))
    return done.exit_code
