"""A report of lint as text, as JSON, as annotations of GitHub, and as SARIF."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from spec_examples.gate.formats import github
from spec_examples.gate.formats.sarif import FINGERPRINT, SCHEMA
from spec_examples.lint.finding import Finding
from spec_examples.lint.linting import Report
from spec_examples.lint.rules import RULES, Rule

FORMATS = ("text", "json", "github", "sarif")


def report(found: Report, form: str) -> str:
    """The whole report in one of ``FORMATS``, with a newline at its end."""
    return {"text": _text, "json": _json, "github": _github, "sarif": _sarif}[form](found)


def explained(rule: Rule) -> str:
    """What a rule looks for, why, and what to write instead."""
    clauses = f"\nclauses  {', '.join(rule.clauses)}" if rule.clauses else ""
    return f"{rule.id} {rule.name}\n\nfinds    {rule.what}\nwhy      {rule.why}\ninstead  {rule.instead}{clauses}\n"


def _counts(found: Report) -> str:
    """The last line: what was found, and in how much."""

    def many(count: int, what: str) -> str:
        return f"{count} {what}{'' if count == 1 else 's'}"

    allowed = f", {many(found.allowed, 'finding')} allowed" if found.allowed else ""
    allowed += f", {many(len(found.unreadable), 'file')} not read" if found.unreadable else ""
    return (
        f"{many(len(found.findings), 'finding')} in {many(found.files, 'file')}"
        f" ({many(found.hooks, 'hook')} followed{allowed})"
    )


def _text(found: Report) -> str:
    return "".join(f"{finding}\n" for finding in found.findings) + f"{_counts(found)}\n"


def _json(found: Report) -> str:
    findings = [
        {
            "path": finding.path,
            "line": finding.place.line,
            "column": finding.place.column,
            "end_line": finding.place.end_line,
            "end_column": finding.place.end_column,
            "rule": finding.rule,
            "name": finding.its_rule.name,
            "message": finding.message,
            "why": finding.its_rule.why,
            "clauses": list(finding.its_rule.clauses),
        }
        for finding in found.findings
    ]
    summary = {
        "files": found.files,
        "hooks": found.hooks,
        "findings": len(found.findings),
        "allowed": found.allowed,
        "unreadable": len(found.unreadable),
    }
    return json.dumps({"findings": findings, "summary": summary}, indent=2, ensure_ascii=False) + "\n"


def _github(found: Report) -> str:
    """A workflow command a finding, as GitHub shows them beside the lines of a change."""
    return "".join(f"{line}\n" for line in _commands(found))


def _commands(found: Report) -> Iterator[str]:
    for finding in found.findings:
        place = finding.place
        where = {"line": place.line, "col": place.column, "endLine": place.end_line, "endColumn": place.end_column}
        title = f"{finding.rule} {finding.its_rule.name}"
        yield github.command("error", finding.message, file=finding.path, **where, title=title)
    yield github.command("notice", _counts(found), title="phase-contract lint")


def _sarif(found: Report) -> str:
    rules = [rule for rule in RULES if rule.id in found.rules]
    described = [_descriptor(rule) for rule in rules]
    driver = {"name": "phase-contract lint", "version": metadata.version("omni-phase-contract"), "rules": described}
    order = {rule.id: position for position, rule in enumerate(rules)}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, order[finding.rule]) for finding in found.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _descriptor(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": f"{rule.what}."},
        "fullDescription": {"text": f"{rule.why}."},
        "help": {"text": f"Instead: {rule.instead}."},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": list(rule.clauses)},
    }


def _result(finding: Finding, position: int) -> dict[str, Any]:
    place = finding.place
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    location = {"artifactLocation": {"uri": _uri(finding.path)}, "region": region}
    return {
        "ruleId": finding.rule,
        "ruleIndex": position,
        "level": "error",
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {FINGERPRINT: _digest(finding)},
    }


def _uri(path: str) -> str:
    """A path inside the folder it was asked from, relative to it; any other in full."""
    absolute = Path(path).absolute()
    try:
        return quote(absolute.relative_to(Path.cwd()).as_posix())
    except ValueError:
        return absolute.as_uri()


def _digest(finding: Finding) -> str:
    """Does not change with lines: the rule, the file, and what stands there."""
    parts = (finding.rule, finding.path, finding.message)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
