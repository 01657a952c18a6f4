"""JUnit XML: a test suite a page, a test case an example. Known divergences and exemptions are skipped, and say why."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from spec_examples.conformance.record import Record
from spec_examples.contract.clauses import CLAUSES, PROMISES
from spec_examples.execution.result import Result
from spec_examples.gate.check import CheckReport, PageReport
from spec_examples.gate.row_report import target_json

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document may hold, not even escaped."""


def render(report: CheckReport) -> str:
    """The document, with its declaration."""
    suites = [_clauses(report.record, report)] if report.record else []
    suites += [_suite(page, report) for page in report.pages]
    suites += [_left_out(path, why) for path, why in report.left_out.items()]
    root = Xml.Element("testsuites", {"name": "phase-contract", **_sums(suites)})
    root.extend(suites)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _suite(page: PageReport, report: CheckReport) -> Xml.Element:
    outcomes = [result.outcome for result in page.results]
    suite = Xml.Element(
        "testsuite",
        {
            "name": page.path,
            "tests": str(len(outcomes)),
            "failures": str(outcomes.count("failed")),
            "errors": str(outcomes.count("error")),
            "skipped": str(sum(outcomes.count(state) for state in ("drifted", "diverges", "exempt"))),
            "time": f"{page.seconds:.3f}",
        },
    )
    _properties(suite, report)
    suite.extend(_case(result) for result in page.results)
    return suite


def _properties(suite: Xml.Element, report: CheckReport) -> None:
    properties = Xml.SubElement(suite, "properties")
    for name, value in target_json(report.environment).items():
        Xml.SubElement(properties, "property", {"name": name, "value": clean(value)})


def _clauses(record: Record, report: CheckReport) -> Xml.Element:
    """A suite with a case for each promise, as the conformance suite judges it."""
    suite = Xml.Element("testsuite", {"name": "clauses"})
    _properties(suite, report)
    told = {each.clause: each for each in report.broken}
    for clause in PROMISES:
        cell = record.cells[clause]
        case = Xml.SubElement(suite, "testcase", {"classname": "clauses", "name": f"{clause} {CLAUSES[clause].name}"})
        case.set("time", "0")
        if clause in record.violated():
            failure = Xml.SubElement(case, "failure", {"message": clean(cell.message), "type": "violated"})
            failure.text = clean(told[clause].detail) if clause in told else ""
        elif clause in record.diverging():
            Xml.SubElement(case, "skipped", {"message": clean(f"known divergence: {cell.message}")})
        elif clause in record.unexercised:
            Xml.SubElement(case, "skipped", {"message": clean(f"not exercised: {cell.message}")})
    for name, error in record.stops.items():
        case = Xml.SubElement(suite, "testcase", {"classname": "clauses", "name": clean(f"runs {name}"), "time": "0"})
        Xml.SubElement(case, "failure", {"message": clean(error), "type": "stopped"})
    counts = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error"}
    suite.attrib |= {name: str(len(suite.findall(found))) for name, found in counts.items()}
    suite.attrib |= {"skipped": str(len(suite.findall("testcase/skipped"))), "time": "0"}
    return suite


def _case(result: Result) -> Xml.Element:
    clauses = f" ({' '.join(result.clauses)})" if result.clauses else ""
    name = f"{result.kind} at line {result.id.rpartition(':')[2]}{clauses}"
    case = Xml.Element("testcase", {"classname": result.path, "name": clean(name), "time": "0"})
    told = {"message": clean(result.message)}
    if result.outcome == "failed":
        Xml.SubElement(case, "failure", {**told, "type": "disagreement"}).text = clean(str(result))
    elif result.outcome == "error":
        Xml.SubElement(case, "error", {**told, "type": "not asked"}).text = clean(str(result))
    elif result.outcome == "drifted":
        Xml.SubElement(case, "skipped", {"message": clean(f"drifted: {result.message}")})
    elif result.outcome == "diverges":
        Xml.SubElement(case, "skipped", {"message": clean(f"known divergence: {result.message}")})
    elif result.outcome == "exempt":
        Xml.SubElement(case, "skipped", {"message": clean(f"exempt from execution: {result.message}")})
    return case


def _left_out(path: str, why: str) -> Xml.Element:
    counts = {"tests": "1", "failures": "0", "errors": "0", "skipped": "1", "time": "0"}
    suite = Xml.Element("testsuite", {"name": path, **counts})
    case = Xml.SubElement(suite, "testcase", {"classname": path, "name": "the whole page", "time": "0"})
    Xml.SubElement(case, "skipped", {"message": clean(f"left out: {why}")})
    return suite


def _sums(suites: list[Xml.Element]) -> dict[str, str]:
    # Not the skipped ones: Jenkins' xUnit plugin refuses a root that has this attribute.
    counts = ("tests", "failures", "errors")
    totals = {name: str(sum(int(suite.attrib[name]) for suite in suites)) for name in counts}
    return {**totals, "time": f"{sum(float(suite.attrib['time']) for suite in suites):.3f}"}


def clean(text: str) -> str:
    """The text without the characters that no XML document may hold."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
