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

LEVELS = {"failed": "error", "error": "error", "drifted": "notice", "diverges": "notice"}


def render(report: CheckReport) -> str:
    """Broken promises first, since a job shows a few annotations only; then each example on its line."""
    lines = [_broken(each, producer(report.target, report.environment, each.clause)) for each in report.broken]
    lines += _stops(report)
    lines += _examples(report)
    return "\n".join([*lines, counts_line(report)]) + "\n"


def _stops(report: CheckReport) -> Iterator[str]:
    """Runs that stopped outside of the runner's code, although vLLM's own runner gets through the same schedule."""
    for case, error in report.record.stops.items() if report.record else ():
        yield command("error", f"{case}: {error}", title="a run of the suite stopped")


def command(level: str, message: str, **properties: str | int) -> str:
    """One workflow command: ``::error file=…,line=…,title=…::message``, escaped."""
    given = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{level}{' ' if given else ''}{given}::{_data(message)}"


def _broken(each: Broken, place: Place | None) -> str:
    said = f"{each.case}: {each.message}" if each.case else each.message
    lines = [f"{each.name} ({each.anchor}). Then {each.suffers}.", said]
    lines += [f"This follows from {each.follows}."] if each.follows else []
    lines += [f"The smallest run: {each.smallest}"] if each.smallest else []
    lines += [each.detail] if each.detail else []
    where: dict[str, str | int] = {}
    if place is not None:
        where = {"file": place.path, "line": place.line}
    elif each.examples and is_in_workspace(each.examples[0].path):
        where = {"file": each.examples[0].path, "line": each.examples[0].line}
    return command("error", "\n".join(lines), **where, title=f"{each.clause} is broken")


def _examples(report: CheckReport) -> Iterator[str]:
    """What is wrong with the pages themselves, and every example in a workspace that has the pages."""
    told = {result.id for each in report.broken for result in each.examples}
    for result in report.results:
        level = LEVELS.get(result.outcome)
        in_workspace = is_in_workspace(result.path)
        if result.outcome == "drifted" and not in_workspace:
            continue  # a page of this package, which the change does not touch
        if level and (in_workspace or result.id not in told):
            yield _example(result, level, in_workspace)


def _example(result: Result, level: str, in_workspace: bool) -> str:
    where: dict[str, str | int] = {"file": result.path, "line": result.line} if in_workspace else {}
    if in_workspace and result.column:
        where["col"] = result.column
    said = result.message if in_workspace else f"{result.path}:{result.line}: {result.message}"
    title = {
        "failed": "page and runner disagree",
        "error": "could not be asked",
        "drifted": "this page has drifted",
        "diverges": "known divergence",
    }
    clauses = f"{' '.join(result.clauses)}: " if result.clauses and result.outcome != "error" else ""
    message = "\n".join(filter(None, (said, result.detail)))
    return command(level, message, **where, title=f"{clauses}{title[result.outcome]}")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
