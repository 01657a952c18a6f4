"""``phase-contract trace``: the real scheduler's steps, row by row."""

from __future__ import annotations

import argparse
from typing import TextIO

from rich.console import Console

from spec_examples.gate import timeline
from spec_examples.gate.commands.common import (
    AGREED,
    DISAGREED,
    add_output_options,
    add_target_options,
    output,
    python_for,
    session_for,
    target_of,
)
from spec_examples.gate.words import plant_of, request_of
from spec_examples.running import Context, Made
from spec_examples.scenario import STUB_TALKERS, Limits, Scenario
from spec_examples.targets import Target

DEFAULTS = Limits()


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n"
        "  phase-contract trace --request 5 --request 1 --budget 4\n"
        "  phase-contract trace --request 5:8 --request 5:8 --budget 8 --block-size 4 --blocks 6\n"
        "  phase-contract trace --request 5 --budget 4 --vllm-omni 0.20.0 --format json\n"
        "  phase-contract trace --request 9:2 --request 12:2@2,same=a:9 --budget 16 --prefix-caching\n"
        "  phase-contract trace --request 5:3,grow=6:2@4 --request 3:9,abort=6 --budget 4 --plant a@2"
    )
    parser.add_argument(
        "--request",
        type=request_of,
        action="append",
        required=True,
        metavar="P[:G[@STEP]][,…]",
        help="prompt tokens, tokens to generate (default 3), and the step before which it arrives (default 0, the "
        "first); then any of id=NAME (default a, b, …), abort=STEP, same=NAME:N (its first N tokens are those of that "
        "request), cycle=N (the prompt repeats N tokens), grow=P:G@STEP (the prompt grows), embeds (no token ids)",
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
    parser.add_argument("--prefix-caching", action="store_true", help="reuse whole blocks of prompts served before")
    parser.add_argument(
        "--long-prefill-threshold",
        type=int,
        default=DEFAULTS.long_prefill_threshold,
        metavar="N",
        help="tokens of one request a step while it is behind (default: no limit but the budget)",
    )
    parser.add_argument("--drafts", type=int, default=0, metavar="N", help="draft N tokens a step, and verify them")
    parser.add_argument("--async", dest="asynchronous", action="store_true", help="keep two steps in flight")
    parser.add_argument("--prompt-embeds", action="store_true", help="let prompts be embeddings")
    parser.add_argument(
        "--plant",
        type=plant_of,
        action="append",
        default=[],
        metavar="NAME@STEP[:P:C:PHASE]",
        help="write wrong phase keys into the request's state before that step (default: 99:98:decode)",
    )
    parser.add_argument(
        "--talker",
        default="scalar",
        metavar="|".join((*STUB_TALKERS, "package.module:Class")),
        help="the talker (default: scalar)",
    )
    add_target_options(parser, default)
    add_output_options(parser)
    parser.set_defaults(run=_trace)


def _scenario_of(options: argparse.Namespace) -> Scenario:
    """The scenario that the options describe."""
    limits = Limits(
        budget=options.budget,
        sequences=_sequences(options),
        blocks=options.blocks,
        block_size=options.block_size,
        chunked_prefill=not options.no_chunked_prefill,
        prefix_caching=options.prefix_caching,
        long_prefill_threshold=options.long_prefill_threshold,
        async_scheduling=options.asynchronous,
        speculative_tokens=options.drafts,
        prompt_embeds=options.prompt_embeds,
    )
    return Scenario(options.talker, requests=tuple(options.request), limits=limits, planted=tuple(options.plant))


def _sequences(options: argparse.Namespace) -> int:
    """What was asked for, zero included, which is refused; else as many as the budget allows."""
    if options.sequences is not None:
        return int(options.sequences)
    return min(DEFAULTS.sequences, max(1, options.budget))


def _trace(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    target = target_of(options)
    scenario = _scenario_of(options)
    progress = Console(stderr=True)
    python = python_for(options)
    with output(options.output, out) as stream, session_for(context, False, progress, python=python) as session:
        with progress.status(f"importing {target}"):
            trace = session.run(scenario, target)
            if context is not None:
                context.made.append(Made(target, scenario, trace))
        if options.format == "json":
            stream.write(timeline.as_json(trace))
        else:
            timeline.print_table(trace, stream)
    return DISAGREED if trace.error else AGREED
