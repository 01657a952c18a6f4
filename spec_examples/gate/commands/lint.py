"""``phase-contract lint``: whether the source of a model uses the contract rightly."""

from __future__ import annotations

import argparse
from typing import TextIO

from spec_examples.gate.commands.common import (
    AGREED,
    DISAGREED,
    NOT_ASKED,
    Stop,
    add_output_options,
    output,
)
from spec_examples.gate.lint_report import FORMATS, explained, report
from spec_examples.lint.linting import lint_paths
from spec_examples.lint.rules import RULES, UnknownRule, chosen, rule
from spec_examples.lint.source import BadSource
from spec_examples.running import Context
from spec_examples.targets import Target


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n"
        "  phase-contract lint my_model.py\n"
        "  phase-contract lint src --ignore PHASE009 --format sarif --output lint.sarif\n"
        "  phase-contract lint --explain phase-from-span\n\n"
        "an exception, on the line or above it:\n"
        "  # phase-contract: allow[phase-from-span] why it is right here"
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, and folders with all Python files in them")
    parser.add_argument(
        "--select", action="append", metavar="RULE", help="these rules alone: ids, beginnings of ids, or names"
    )
    parser.add_argument("--ignore", action="append", metavar="RULE", help="not these rules")
    parser.add_argument("--explain", metavar="RULE", help="say what a rule finds and why; all says it of every rule")
    add_output_options(parser, FORMATS)
    parser.set_defaults(run=_lint)


def _lint(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    try:
        if options.explain:
            rules = RULES if options.explain == "all" else (rule(options.explain),)
            with output(options.output, out) as stream:
                stream.write("\n".join(explained(each) for each in rules))
            return AGREED
        if not options.paths:
            raise Stop(NOT_ASKED, "lint: name a file or a folder; see phase-contract lint --help")
        shown = {name: source.text for name, source in context.files.items()} if context else {}
        found = lint_paths(options.paths, chosen(options.select, options.ignore), shown)
    except (BadSource, UnknownRule) as error:
        raise Stop(NOT_ASKED, str(error)) from error
    if len(found.unreadable) == found.files:
        raise Stop(NOT_ASKED, found.unreadable[0])
    with output(options.output, out) as stream:
        stream.write(report(found, options.format))
    for line in found.unreadable:
        print(f"phase-contract: {line}", file=options.errors)
    return DISAGREED if found.findings else NOT_ASKED if found.unreadable else AGREED
