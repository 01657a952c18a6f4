"""``phase-contract probe``: whether a runtime has the phase fields and the guard."""

from __future__ import annotations

import argparse
import json
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
from spec_examples.gate.row_report import target_json
from spec_examples.probing import Probe, probe
from spec_examples.running import Context, running
from spec_examples.targets import Target
from spec_examples.trace import Environment

METADATA = {
    True: "yes: the three keys arrive on every row, and say prefill for a one-token tail and a one-token prompt",
    False: "no: a key is missing on some row, or a one-token tail or a one-token prompt is not called prefill",
}
GUARD = {
    True: "yes: a one-token tail and a one-token prompt keep their embedding, while decode rows take MTP",
    False: "no: a one-token tail or a one-token prompt loses its embedding, or no decode row takes MTP",
}


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n"
        "  phase-contract probe\n"
        "  phase-contract probe --vllm-omni ../vllm-omni\n"
        "  phase-contract probe --runner my_plugin.runner:MyModelRunner --format json"
    )
    add_target_options(parser, default)
    add_output_options(parser)
    parser.set_defaults(run=_probe)


def _probe(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    target = target_of(options)
    progress = Console(stderr=True)
    python = python_for(options)
    with output(options.output, out) as stream, session_for(context, False, progress, python=python) as session:
        asked = Context(session, target, made=context.made if context else [])
        with progress.status(f"importing {target}"), running(asked):
            found = probe()
        environment = asked.made[-1].trace.environment
        stream.write(_as_json(found, environment) if options.format == "json" else _as_text(found, environment))
    return AGREED if found.conforms else DISAGREED


def _as_text(found: Probe, environment: Environment) -> str:
    lines = [
        f"runtime   vLLM-Omni {environment.vllm_omni}, vLLM {environment.vllm}, {environment.runner}",
        f"metadata  {METADATA[found.metadata]}",
        f"guard     {GUARD[found.guard]}",
        f"conforms  {'yes' if found.conforms else 'no: a model may not rely on the contract here'}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _as_json(found: Probe, environment: Environment) -> str:
    report = {
        "target": target_json(environment),
        "metadata": found.metadata,
        "guard": found.guard,
        "conforms": found.conforms,
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
