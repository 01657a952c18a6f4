"""Annotations for GitHub Actions: workflow commands, one a line, and the counts after them.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands has the grammar.
"""

from __future__ import annotations

from collections.abc import Iterator

from spec_examples.execution.result import Result
from spec_examples.gate.broken import Broken
from spec_examples.gate.check import CheckReport
from spec_examples.gate.places import Place, is_in_workspace, producer
from spec_examples.gate.report import counts_line

LEVELS = {"failed": "error", "error": "error", "diverges": "notice"}


def render(report: CheckReport) -> str:
    """Broken promises first, since a job shows a few annotations only; then each example on its line."""
    lines = [_broken(each, producer(report.target, report.environment, each.clause)) for each in report.broken]
    lines += _examples(report)
    return "\n".join([*lines, counts_line(report)]) + "\n"


def command(level: str, message: str, **properties: str | int) -> str:
    """One workflow command: ``::error file=…,line=…,title=…::message``, escaped."""
    given = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{level}{' ' if given else ''}{given}::{_data(message)}"


def _broken(each: Broken, place: Place | None) -> str:
    first = each.examples[0]
    lines = [f"{each.name} ({each.anchor}). Then {each.suffers}.", f"{first.id}: {first.message}"]
    lines += [f"The smallest run: {each.smallest}"] if each.smallest else []
    lines += [first.detail] if first.detail else []
    where: dict[str, str | int] = {}
    if place is not None:
        where = {"file": place.path, "line": place.line}
    elif is_in_workspace(first.path):
        where = {"file": first.path, "line": first.line}
    return command("error", "\n".join(lines), **where, title=f"{each.clause} is broken")


def _examples(report: CheckReport) -> Iterator[str]:
    """What is wrong with the pages themselves, and every example in a workspace that has the pages."""
    told = {result.id for each in report.broken for result in each.examples}
    for result in report.results:
        level = LEVELS.get(result.outcome)
        in_workspace = is_in_workspace(result.path)
        if level and (in_workspace or result.id not in told):
            yield _example(result, level, in_workspace)


def _example(result: Result, level: str, in_workspace: bool) -> str:
    where: dict[str, str | int] = {"file": result.path, "line": result.line} if in_workspace else {}
    if in_workspace and result.column:
        where["col"] = result.column
    said = result.message if in_workspace else f"{result.path}:{result.line}: {result.message}"
    title = {"failed": "page and runner disagree", "error": "could not be asked", "diverges": "known divergence"}
    clauses = f"{' '.join(result.clauses)}: " if result.clauses and result.outcome != "error" else ""
    message = "\n".join(filter(None, (said, result.detail)))
    return command(level, message, **where, title=f"{clauses}{title[result.outcome]}")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
