"""A page for a job's summary: the counts, the promises that broke, and the examples that are red."""

from __future__ import annotations

from collections.abc import Iterator

from spec_examples.execution.result import Result
from spec_examples.gate.broken import Broken
from spec_examples.gate.check import CheckReport
from spec_examples.gate.report import PREDATES, counts_line, unexercised_lines

MOST_EXAMPLES = 50
"""A summary that is too long is not shown at all."""


def render(report: CheckReport) -> str:
    """GitHub's Markdown."""
    verdict = {0: "kept", 1: "broken", 2: "could not be judged"}[report.exit_code]
    lines = [f"## The phase contract: {verdict}", "", counts_line(report), ""]
    lines += [f"{PREDATES}.", ""] if report.record and report.record.predates else []
    for each in report.broken:
        lines += _broken(each)
    lines += _table("Examples that are red", [r for r in report.results if r.outcome in ("failed", "error")])
    lines += _table("Known divergences, which are not red", [r for r in report.results if r.outcome == "diverges"])
    lines += _table("Pages that have drifted, which is not red", [r for r in report.results if r.outcome == "drifted"])
    lines += [f"- {_escaped(line)}" for line in unexercised_lines(report.record)] if report.record else []
    lines += [f"- `{path}` was left out: {why}." for path, why in report.left_out.items()]
    return "\n".join(lines).rstrip() + "\n"


def _broken(each: Broken) -> Iterator[str]:
    seen = [f"the case {each.case!r}"] if each.case else []
    seen += [_count(len(each.examples), "example")] if each.examples else []
    yield f"### {each.clause}: {each.name}"
    yield ""
    yield f"Stated in `{each.anchor}`. Violated in {_escaped(' and '.join(seen))}: {each.suffers}."
    yield f"This follows from {each.follows}." if each.follows else ""
    yield ""
    yield _escaped(each.message)
    yield ""
    yield from _fenced(each.detail)
    if each.smallest:
        yield "The smallest run that shows it:"
        yield ""
        yield from _fenced(each.smallest)


def _table(title: str, results: list[Result]) -> Iterator[str]:
    if not results:
        return
    yield f"### {title}"
    yield ""
    yield "| Where | Clauses | What |"
    yield "| --- | --- | --- |"
    for result in results[:MOST_EXAMPLES]:
        clauses = " ".join(result.clauses)
        yield f"| `{result.path}:{result.line}` | {clauses} | {_escaped(result.message)} |"
    if len(results) > MOST_EXAMPLES:
        yield f"| | | and {len(results) - MOST_EXAMPLES} more |"
    yield ""


def _fenced(text: str) -> Iterator[str]:
    """A block whose fence is longer than any in it."""
    if not text:
        return
    fence = "```"
    while fence in text:
        fence += "`"
    yield from (f"{fence}text", *text.splitlines(), fence, "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _escaped(text: str) -> str:
    """Plain text in one line, with nothing in it that Markdown or HTML would take for its own."""
    flat = " ".join(text.split())
    for mark in "\\`*_[]|~":
        flat = flat.replace(mark, f"\\{mark}")
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
