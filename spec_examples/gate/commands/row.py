"""``phase-contract row``: how one row is routed, as the real runner does it."""

from __future__ import annotations

import argparse
from typing import TextIO

from rich.console import Console

from spec_examples.gate.commands.common import (
    AGREED,
    DISAGREED,
    Stop,
    add_output_options,
    add_target_options,
    output,
    python_for,
    session_for,
    target_of,
)
from spec_examples.running import Context, forced, put, running
from spec_examples.scenario import MAX_LEN, Row
from spec_examples.targets import Target


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n"
        "  phase-contract row --prompt-len 5 --computed 4 --span 1\n"
        "  phase-contract row --prompt-len 5 --computed 5 --span 1 --hook batched --beside 3,4,1 --beside 4,0,3\n"
        "  phase-contract row --prompt-len 1 --computed 0 --span 1 --vllm-omni 0.20.0"
    )
    parser.add_argument(
        "--prompt-len", type=int, required=True, metavar="P", help=f"tokens in the prompt, 1 to {MAX_LEN}"
    )
    parser.add_argument("--computed", type=int, required=True, metavar="C", help="tokens processed before the step")
    parser.add_argument("--span", type=int, required=True, metavar="S", help="tokens scheduled in the step")
    parser.add_argument(
        "--hook", choices=("scalar", "batched"), default="scalar", help="hooks that the talker offers (default: scalar)"
    )
    parser.add_argument("--no-mtp", action="store_true", help="a talker without MTP")
    parser.add_argument(
        "--beside",
        type=_neighbour,
        action="append",
        default=[],
        metavar="P,C,S",
        help="a row after it in the same step",
    )
    add_target_options(parser, default)
    add_output_options(parser)
    parser.set_defaults(run=_row)


def _neighbour(text: str) -> Row:
    try:
        prompt_len, computed, span = (int(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not P,C,S, such as 3,4,1") from error
    return Row(prompt_len, computed, span)


def _row(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    target = target_of(options)
    one = Row(options.prompt_len, options.computed, options.span)
    scenario = forced([[one, *options.beside]], options.hook + ("-no-mtp" if options.no_mtp else ""))
    progress = Console(stderr=True)
    python = python_for(options)
    with output(options.output, out) as stream, session_for(context, False, progress, python=python) as session:
        session.start([target])  # it imports, and this process meanwhile what puts the answer into words
        from spec_examples.gate.row_report import row_json, row_text
        from spec_examples.outcome import rows

        with (
            progress.status(f"importing {target}"),
            running(Context(session, target, made=context.made if context else [])),
        ):
            trace = put(scenario)
        seen = rows(trace)
        if not seen:
            raise Stop(DISAGREED, "the runner finished the step, and no row crossed the boundary")
        as_json = options.format == "json"
        stream.write(row_json(seen[0], trace.environment) if as_json else row_text(seen[0]))
    return AGREED
