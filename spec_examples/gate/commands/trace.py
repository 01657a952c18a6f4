"""``phase-contract trace``: the real scheduler's steps, row by row."""

from __future__ import annotations

import argparse
from typing import TextIO

from rich.console import Console

from spec_examples.gate import timeline
from spec_examples.gate.commands.common import (
    AGREED,
    DISAGREED,
    Commands,
    add_command,
    add_output_options,
    add_target_options,
    output,
    session_for,
)
from spec_examples.running import Context, Made
from spec_examples.scenario import STUB_TALKERS, Limits, Request, Scenario
from spec_examples.targets import Target, resolve

DEFAULTS = Limits()


def add(commands: Commands, default: Target) -> None:
    """Register the command."""
    parser = add_command(
        commands,
        "trace",
        "show what the real scheduler makes of requests, step by step",
        "  phase-contract trace --request 5 --request 1 --budget 4\n"
        "  phase-contract trace --request 5:8 --request 5:8 --budget 8 --block-size 4 --blocks 6\n"
        "  phase-contract trace --request 5 --budget 4 --vllm-omni 0.20.0 --format json",
    )
    parser.add_argument(
        "--request",
        type=_request,
        action="append",
        required=True,
        metavar="P[:G[@STEP]]",
        help="prompt tokens, tokens to generate (default 3), and the step before which it arrives (default 0)",
    )
    parser.add_argument("--budget", type=int, default=DEFAULTS.budget, metavar="N", help="tokens a step (default: 8)")
    parser.add_argument(
        "--sequences",
        type=int,
        metavar="N",
        help="requests that run at once (default: 4, or the budget if it is smaller)",
    )
    parser.add_argument("--blocks", type=int, default=DEFAULTS.blocks, metavar="N", help="KV blocks (default: 64)")
    parser.add_argument(
        "--block-size", type=int, default=DEFAULTS.block_size, metavar="N", help="tokens a KV block (default: 4)"
    )
    parser.add_argument("--no-chunked-prefill", action="store_true", help="do not cut prompts")
    parser.add_argument("--talker", choices=STUB_TALKERS, default="scalar", help="the stub talker (default: scalar)")
    add_target_options(parser, default)
    add_output_options(parser)
    parser.set_defaults(run=_trace)


def _request(text: str) -> Request:
    body, at, arrives = text.partition("@")
    prompt, colon, generate = body.partition(":")
    try:
        return Request(int(prompt), int(generate) if colon else 3, arrives=int(arrives) if at else 0)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not P, P:G or P:G@STEP, such as 5:8") from error


def _trace(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    target = resolve(options.vllm_omni, options.runner)
    limits = Limits(
        budget=options.budget,
        sequences=options.sequences or min(DEFAULTS.sequences, max(1, options.budget)),
        blocks=options.blocks,
        block_size=options.block_size,
        chunked_prefill=not options.no_chunked_prefill,
    )
    scenario = Scenario(options.talker, requests=tuple(options.request), limits=limits)
    progress = Console(stderr=True)
    with output(options.output, out) as stream, session_for(context, False, progress) as session:
        with progress.status(f"importing {target}"):
            trace = session.run(scenario, target)
            if context is not None:
                context.made.append(Made(target, scenario, trace))
        if options.format == "json":
            stream.write(timeline.as_json(trace))
        else:
            timeline.print_table(trace, stream)
    return DISAGREED if trace.error else AGREED
