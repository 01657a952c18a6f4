"""``phase-contract model``: which of its promises to the runner a model keeps."""

from __future__ import annotations

import argparse
from typing import TextIO

from rich.console import Console

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
from spec_examples.gate.model_report import REPORTS
from spec_examples.model_check.check import DRAWN, check
from spec_examples.model_check.promises import MODEL_PROMISES
from spec_examples.model_check.subject import named
from spec_examples.running import Context, Made, meant
from spec_examples.scenario import Scenario
from spec_examples.targets import Target
from spec_examples.trace import Trace


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n"
        "  phase-contract model my_package.talker:MyTalker\n"
        "  phase-contract model my_package.talker:MyTalker --factory my_package.tiny:build\n"
        "  phase-contract model my_talker.py:MyTalker --promise MODEL-2 --runner v2\n"
        "  phase-contract model my_talker.py:MyTalker --vllm-omni 0.22.0 --format json\n"
        "  phase-contract model my_talker.py:MyTalker --format sarif --output model.sarif"
    )
    parser.add_argument("model", metavar="package.module:Class|file.py:Class", help="the class that has the hooks")
    parser.add_argument(
        "--factory",
        default="",
        metavar="package.module:function",
        help="builds the model, given a VllmConfig (default: the class is called as vLLM calls it)",
    )
    parser.add_argument(
        "--promise",
        action="append",
        choices=tuple(MODEL_PROMISES),
        default=[],
        metavar="MODEL-N",
        help="judge this promise alone; may be repeated (default: all)",
    )
    parser.add_argument(
        "--search",
        type=_count,
        default=DRAWN,
        metavar="N",
        help=f"schedules that are drawn for a model that keeps all promises in the fixed runs (default: {DRAWN})",
    )
    add_target_options(parser, default)
    add_output_options(parser, tuple(REPORTS))
    parser.set_defaults(run=_model)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of schedules, 0 to 10000")
    return int(text)


def _model(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    target = _target(options, context)
    subject = named(options.model, options.factory, context.files if context else None)
    progress = Console(stderr=True)

    def made(scenario: Scenario, trace: Trace) -> None:
        if context is not None:
            context.made.append(Made(target, scenario, trace, named=True))

    python = python_for(options)
    with output(options.output, out) as stream, session_for(context, False, progress, python=python) as session:
        with progress.status(f"importing {target}") as status:
            promises = options.promise or tuple(MODEL_PROMISES)
            found = check(session, target, subject, made, status.update, promises, options.search)
        stream.write(REPORTS[options.format](found, options.runner))
    return DISAGREED if found.broken else AGREED


def _target(options: argparse.Namespace, context: Context | None) -> Target:
    """Return the target that was asked for. On a page that is what ``run`` would take with the same names."""
    if context is not None and options.vllm_omni == context.target.vllm_omni:
        return context.target.with_runner(meant(context.target, options.runner))
    return target_of(options)
