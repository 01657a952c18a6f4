"""``phase-contract update``: write expected cells and outputs anew, as they were observed; as a diff first."""

from __future__ import annotations

import argparse
import json
from typing import TextIO

from rich.console import Console

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
from spec_examples.gate.updating import PageChanged, PageUpdate, update
from spec_examples.running import Context
from spec_examples.targets import Target


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n"
        "  phase-contract update docs/contract/routing.md\n  phase-contract update docs/contract/routing.md --write"
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="pages or folders (default: all of docs/)")
    parser.add_argument("--write", action="store_true", help="write the pages, each whole or not at all")
    add_target_options(parser, default)
    add_output_options(parser)
    parser.set_defaults(run=_update, live=False)


def _update(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    pages = find_pages(options.paths)
    target = target_of(options)
    progress = Console(stderr=True)
    python = python_for(options)
    with output(options.output, out) as stream, session_for(context, options.live, progress, python=python) as session:
        with progress.status(f"importing {target}") as status:
            updates = update(pages, session, target, began=lambda path: status.update(f"executing {path}"))
        if options.write:
            _write(updates)
        stream.write(_json(updates, options.write) if options.format == "json" else _text(updates, options.write))
    return _status(updates, options.write)


def _write(updates: list[PageUpdate]) -> None:
    for page in updates:
        try:
            page.write()
        except PageChanged as error:
            raise Stop(NOT_ASKED, str(error)) from error
        except OSError as error:
            raise Stop(NOT_ASKED, f"{page.path}: cannot be written: {error.strerror}") from error


def _status(updates: list[PageUpdate], written: bool) -> int:
    left = {result.outcome for page in updates for result in page.left}
    if "failed" in left or (not written and any(page.changes for page in updates)):
        return DISAGREED
    return NOT_ASKED if left else AGREED


def _name(page: PageUpdate) -> str:
    return page.changes[0].example.page if page.changes else page.path.as_posix()


def _text(updates: list[PageUpdate], written: bool) -> str:
    """The diff, a line for each change, and what stays red."""
    changes = [change for page in updates for change in page.changes]
    left = [result for page in updates for result in page.left]
    lines = [page.diff(_name(page)) for page in updates if page.changes]
    lines += [f"{change}\n" for change in changes]
    lines += [f"{result.path}:{result.line}: left: {result.message}\n" for result in left]
    pages = sum(bool(page.changes) for page in updates)
    what = f"{len(changes)} change{'s' * (len(changes) != 1)} on {pages} of {len(updates)} pages"
    done = "written" if written else "not written (--write does)" if changes else "nothing to write"
    return "".join([*lines, f"{what}, {done}; {len(left)} left\n"])


def _json(updates: list[PageUpdate], written: bool) -> str:
    changes = [
        {
            "path": change.example.page,
            "line": change.edit.line,
            "kind": change.example.kind,
            "clauses": list(change.example.clauses),
            "message": change.said,
            "from": page.before[change.edit.start : change.edit.end],
            "to": change.edit.text,
        }
        for page in updates
        for change in page.changes
    ]
    left = [
        {"path": r.path, "line": r.line, "kind": r.kind, "outcome": r.outcome, "message": r.message}
        for page in updates
        for r in page.left
    ]
    return json.dumps({"written": written, "changes": changes, "left": left}, indent=2, ensure_ascii=False) + "\n"
