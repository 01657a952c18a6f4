"""SARIF 2.1.0 for code scanning: clauses are rules, broken promises are results, what could not be asked is told apart.

Where the runner's source is what is under test, each broken promise is one result at the place where that source
preprocesses, with the examples as related places; otherwise each example is a result on its page.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from importlib import metadata
from typing import Any
from urllib.parse import quote

from spec_examples import pages
from spec_examples.conformance.known import PAGE
from spec_examples.contract.clauses import CLAUSES, Clause
from spec_examples.contract.consequences import CONSEQUENCES
from spec_examples.execution.result import Result
from spec_examples.gate.broken import Broken
from spec_examples.gate.check import CheckReport
from spec_examples.gate.places import Place, producer
from spec_examples.gate.row_report import target_json

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
PAGE_RULE = "PAGE"
"""The rule of an example that does not hold although no promise was seen broken."""

FINGERPRINT = "phaseContract/v1"
MOST_RELATED = 20


def render(report: CheckReport) -> str:
    """One run of one tool."""
    place = producer(report.target, report.environment)
    results = [_broken(each, place, report) for each in report.broken if place or not each.examples]
    results += _examples(report, all_of_them=place is None)
    run = {
        "tool": {"driver": _driver()},
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The folder that holds the change."}}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": results,
        "properties": {"target": target_json(report.environment), "summary": report.summary()},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _driver() -> dict[str, Any]:
    page = {
        "id": PAGE_RULE,
        "name": "PageAndRunnerDisagree",
        "shortDescription": {"text": "page and runner disagree"},
        "fullDescription": {"text": "What the page shows is not what the runner does, and no promise was seen broken."},
        "help": {"text": "Mend the page, or whatever changed what it shows."},
    }
    version = metadata.version("omni-phase-contract")
    return {"name": "phase-contract", "version": version, "rules": [*map(rule_of, CLAUSES.values()), page]}


def rule_of(clause: Clause) -> dict[str, Any]:
    """The clause as a rule, with a link to its page where the site has an address."""
    suffers = f" Where it is broken, {CONSEQUENCES[clause.id]}." if clause.id in CONSEQUENCES else ""
    rule: dict[str, Any] = {
        "id": clause.id,
        "name": "".join(word.capitalize() for word in clause.name.replace("_", " ").split()),
        "shortDescription": {"text": f"{clause.id}: {clause.name}"},
        "fullDescription": {"text": f"A {clause.kind} of the phase contract: {clause.name}.{suffers}"},
        "help": {"text": f"{clause.anchor} states it.{suffers}"},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["phase-contract", clause.kind]},
    }
    if site := pages.site_url():
        link = f"{site}{clause.page.removeprefix('docs/').removesuffix('.md')}/#{clause.id}"
        rule["helpUri"] = link
        rule["help"]["markdown"] = f"[{clause.id}]({link}) states it.{suffers}"
    return rule


def _broken(each: Broken, place: Place | None, report: CheckReport) -> dict[str, Any]:
    """One result at the runner's place, or at the clause's page if the runner's source is not part of the change."""
    place = producer(report.target, report.environment, each.clause) or place or Place(CLAUSES[each.clause].page, 1)
    text = f"{each.clause}, {each.name}, is violated: {each.suffers}. {each.message} ({each.anchor})"
    related = [{"id": n, **_location(r.path, r.line)} for n, r in enumerate(each.examples[:MOST_RELATED], start=1)]
    return {
        **_result(each.clause, text, _location(place.path, place.line), each.detail),
        "relatedLocations": related,
        "partialFingerprints": {FINGERPRINT: _digest(each.clause, place.path)},
        "properties": {"smallest": each.smallest},
    }


def _examples(report: CheckReport, *, all_of_them: bool) -> Iterator[dict[str, Any]]:
    """Red examples and known divergences; those that a result at the runner's place tells of already only on demand."""
    told = {result.id for each in report.broken for result in each.examples}
    smallest = {each.clause: each.smallest for each in report.broken}
    for page in report.pages:
        for number, result in enumerate(page.results):
            if result.outcome not in ("failed", "diverges") or (result.id in told and not all_of_them):
                continue
            for rule in _rules(result):
                yield {
                    **_result(rule, result.message, _location(result.path, result.line, result.column), result.detail),
                    "partialFingerprints": {FINGERPRINT: _digest(rule, result.path, result.kind, str(number))},
                    "properties": {"smallest": smallest.get(rule, "")},
                    **(_KNOWN if result.outcome == "diverges" else {}),
                }


_JUSTIFICATION = f"a known divergence: {PAGE}"
_KNOWN = {
    "level": "note",
    "suppressions": [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "a known divergence: docs/conformance/divergences.md",
        }
    ],
}


def _rules(result: Result) -> tuple[str, ...]:
    seen = tuple(dict.fromkeys(shown.clause for shown in result.shown))
    return seen or (result.clauses if result.outcome == "diverges" else ()) or (PAGE_RULE,)


def _result(rule: str, text: str, location: dict[str, Any], detail: str) -> dict[str, Any]:
    message = f"{text}\n{detail}" if detail else text
    order = [*CLAUSES, PAGE_RULE]
    return {
        "ruleId": rule,
        "ruleIndex": order.index(rule),
        "level": "error",
        "message": {"text": message},
        "locations": [location],
    }


def _location(path: str, line: int, column: int | None = None) -> dict[str, Any]:
    region = {"startLine": line} | ({"startColumn": column} if column else {})
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(path), "uriBaseId": "%SRCROOT%"}, "region": region}}


def _uri(path: str) -> str:
    return quote(path)


def _invocation(report: CheckReport) -> dict[str, Any]:
    asked = [result for result in report.results if result.outcome == "error"]
    invocation: dict[str, Any] = {"executionSuccessful": report.exit_code != 2, "exitCode": report.exit_code}
    if asked:
        invocation["toolExecutionNotifications"] = [
            {
                "level": "error",
                "message": {"text": result.message},
                "locations": [_location(result.path, result.line, result.column)],
            }
            for result in asked
        ]
    return invocation


def _digest(*parts: str) -> str:
    """Does not change with lines: an alert stays the same one when prose is added above it."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
