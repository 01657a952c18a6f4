"""``phase-contract targets``: what can be tested here."""

from __future__ import annotations

import argparse
from typing import TextIO

from spec_examples.gate import report
from spec_examples.gate.commands.common import AGREED, add_output_options, output
from spec_examples.running import Context
from spec_examples.targets import Target, install
from spec_examples.targets.catalogue import releases
from spec_examples.targets.published import new_releases
from spec_examples.targets.target import RUNNERS, installed_version


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n  phase-contract targets\n  phase-contract targets --new\n  phase-contract targets --format json"
    )
    parser.add_argument(
        "--new", action="store_true", help="list published releases that the catalogue lacks; asks the package index"
    )
    add_output_options(parser)
    parser.set_defaults(run=_targets)


def _targets(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    if options.new:
        return _new(options, out)
    version = installed_version()
    found = [{"vllm_omni": "installed", "version": version, "at_hand": version is not None}]
    found += [
        {"vllm_omni": r.vllm_omni, "vllm": r.vllm, "at_hand": install.installed_folder(r) is not None}
        for r in releases()
    ]
    with output(options.output, out) as stream:
        if options.format == "json":
            stream.write(report._json({"targets": found, "runners": list(RUNNERS)}))
            return AGREED
        none = "none: name a folder or a version with --vllm-omni, and add --setup"
        stream.write(f"installed   {f'vLLM-Omni {version}' if version else none}\n")
        for entry in found[1:]:
            state = "at hand" if entry["at_hand"] else "downloaded when first needed"
            stream.write(f"{entry['vllm_omni']:11} with vLLM {entry['vllm']}, {state}\n")
        stream.write(f"runners     {', '.join(RUNNERS)}, or package.module:Class\n")
        stream.write("a checkout  --vllm-omni PATH, a folder that contains vllm_omni/\n")
    return AGREED


def _new(options: argparse.Namespace, out: TextIO) -> int:
    """Raises ``TargetUnavailable`` where the package index does not answer."""
    found = new_releases()
    with output(options.output, out) as stream:
        if options.format == "json":
            stream.write(report._json({"new": list(found)}))
        elif found:
            stream.writelines(f"{version}\n" for version in found)
        else:
            stream.write(f"none: all {len(releases())} published releases are in the catalogue\n")
    return AGREED
