"""``phase-contract mutants``: the known defects of a runner, and which examples catch each."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table

from spec_examples.execution.result import Result
from spec_examples.gate.check import find_pages
from spec_examples.gate.commands.common import (
    AGREED,
    DISAGREED,
    NOT_ASKED,
    Stop,
    add_output_options,
    add_target_options,
    output,
    python_for,
    session_for,
    target_of,
)
from spec_examples.gate.row_report import target_json
from spec_examples.mutants import MUTANTS, Mutant, mutants_of, recording
from spec_examples.mutants.catching import Catch, Hunt
from spec_examples.running import Context
from spec_examples.targets import Target
from spec_examples.trace import Environment

WRONG = ("passed", "not-applicable-here")
"""States with which the command ends with 1: a defect that nothing catches, and one that cannot be put in."""


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n"
        "  phase-contract mutants\n"
        "  phase-contract mutants boundary-late scalar-guard-dropped --all\n"
        "  phase-contract mutants --runner v2 --format json --output mutants.json\n"
        "  phase-contract mutants --record --all"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="defects (default: all of the runner's)")
    parser.add_argument(
        "--all", action="store_true", help="name every example that catches a defect, not only the first"
    )
    parser.add_argument(
        "--record", action="store_true", help="write what caught each to the committed catches; with --all, all that do"
    )
    add_target_options(parser, default)
    add_output_options(parser)
    parser.set_defaults(run=_mutants)


def _mutants(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    target = target_of(options)
    mutants = _chosen(options.names, target)
    if options.record and (":" in target.runner or not (target.is_installed or target.is_release)):
        raise Stop(NOT_ASKED, "--record is for a published vLLM-Omni, installed or by its version, and its own runners")
    progress = Console(stderr=True)
    python = python_for(options)
    with output(options.output, out) as stream, session_for(context, False, progress, python=python) as session:
        with progress.status(f"importing {target}") as status:
            environment = session.environment(target)
            status.update("executing the contract's pages without any defect")
            hunt = Hunt(find_pages(_contract_pages()), session, target, anew=options.record)
            hunt.run_control()
            before = recording.earlier(hunt, environment) if options.record and options.all else None
            known, asked = (before.valid, before.examples.keys()) if before else ({}, ())
            catches = []
            for number, mutant in enumerate(mutants, start=1):
                status.update(f"{number} of {len(mutants)}: {mutant.name}")
                found = hunt.hunt(mutant, all_examples=options.all, earlier=known.get(mutant.name), asked=asked)
                catches.append(found)
            if options.record and not hunt.red:
                recording.record(catches, hunt, environment, every=options.all)
        if options.format == "json":
            stream.write(_as_json(catches, hunt.red, environment))
        else:
            _print(catches, hunt.red, environment, stream)
    return DISAGREED if hunt.red or any(catch.state in WRONG for catch in catches) else AGREED


def _contract_pages() -> list[str]:
    """The pages of the contract, wherever ``docs/`` lies."""
    folders = {page.parent for page in find_pages([]) if page.parent.name == "contract"}
    return sorted(folder.as_posix() for folder in folders)


def _chosen(names: Sequence[str], target: Target) -> tuple[Mutant, ...]:
    """The defects that are named, all of them the runner's own."""
    own = mutants_of(target.runner)
    for name in names:
        if name not in MUTANTS:
            names = [mutant.name for mutant in own]
            near = difflib.get_close_matches(name, names, n=3, cutoff=0.3) or names[:3]
            raise Stop(
                NOT_ASKED, f"no defect is called {name!r}; this runner has {len(names)}, among them {', '.join(near)}"
            )
        if MUTANTS[name] not in own:
            other = "v2" if MUTANTS[name].kind == "v2" else "ar"
            raise Stop(NOT_ASKED, f"{name} is no defect of runner {target.runner}: add --runner {other}")
    return tuple(MUTANTS[name] for name in dict.fromkeys(names)) or own


def _as_json(catches: Sequence[Catch], red: Sequence[Result], environment: Environment) -> str:
    """One object; names are stable, more keys may be added."""
    mutants = [
        {
            "name": catch.mutant.name,
            "state": catch.state,
            "by": list(catch.by),
            "clauses": list(catch.clauses),
            "what": catch.mutant.what,
            "breaks": list(catch.mutant.clauses),
            "message": catch.message,
        }
        for catch in catches
    ]
    report = {
        "target": target_json(environment),
        "mutants": mutants,
        "red_without_defect": [result.id for result in red],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _by_page(ids: Sequence[str]) -> list[str]:
    """Ids with the lines of one page together: ``docs/contract/routing.md:16 25 87``."""
    lines: dict[str, list[str]] = {}
    for each in ids:
        page, _, line = each.rpartition(":")
        lines.setdefault(page, []).append(line)
    return [f"{page}:{' '.join(sorted(found, key=lambda line: (len(line), line)))}" for page, found in lines.items()]


def _print(catches: Sequence[Catch], red: Sequence[Result], environment: Environment, stream: TextIO) -> None:
    table = Table("defect", "breaks", "caught by", "what was done")
    for catch in catches:
        by = "\n".join(_by_page(catch.by)) or catch.state
        table.add_row(catch.mutant.name, " ".join(catch.mutant.clauses), by, catch.mutant.what)
    Console(file=stream, width=200, highlight=False).print(table)
    for catch in catches:
        if catch.state in WRONG:
            why = catch.message or "no example of the contract's pages goes red"
            stream.write(f"{catch.mutant.name}: {' '.join(catch.mutant.clauses)} {catch.state}: {why}\n")
    for result in red:
        stream.write(f"{result.id}: red without any defect, so it shows none: {result.message}\n")
    states = ("caught", "passed", "not-measurable", "not-applicable-here")
    counts = {state: sum(catch.state == state for catch in catches) for state in states}
    shown = ", ".join(f"{count} {state}" for state, count in counts.items() if count or state == "caught")
    stream.write(f"{len(catches)} defects: {shown} (vLLM-Omni {environment.vllm_omni}, {environment.runner})\n")
