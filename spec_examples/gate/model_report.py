"""What ``phase-contract model`` found, as text, JSON, annotations of GitHub, JUnit XML and SARIF."""

from __future__ import annotations

import ast
import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as Xml

from spec_examples.contract.clauses import MODEL_CLAUSES
from spec_examples.gate.formats.github import command
from spec_examples.gate.formats.junit import clean
from spec_examples.gate.formats.sarif import FINGERPRINT, SCHEMA, rule_of
from spec_examples.gate.row_report import target_json
from spec_examples.model_check.check import ModelReport, ModelVerdict
from spec_examples.model_check.promises import MODEL_PROMISES

MARKS = {"passed": "kept", "failed": "BROKEN", "not-applicable": "–"}


def _as_text(found: ModelReport, runner: str) -> str:
    lines = [f"{found.model} on runner {runner}"]  # as asked: a page shows it beside any class and version
    for verdict in found.verdicts:
        lines.append(f"{verdict.promise}  {MARKS[verdict.outcome]:6}  {_said(verdict)}")
        if verdict.run:
            lines.append(f"{'':17}shown by {verdict.run}")
    counts = {mark: sum(MARKS[v.outcome] == mark for v in found.verdicts) for mark in MARKS.values()}
    lines.append(f"{counts['kept']} kept, {counts['BROKEN']} broken, {counts['–']} not applicable")
    return "".join(f"{line}\n" for line in lines)


def _said(verdict: ModelVerdict) -> str:
    name = MODEL_PROMISES[verdict.promise]
    return f"{name}: {verdict.message}" if verdict.outcome != "failed" else verdict.message


def _shown(verdict: ModelVerdict) -> str:
    """What is wrong, and the run that shows it, where there is one."""
    return "\n".join(filter(None, (verdict.message, verdict.run and f"shown by {verdict.run}")))


def _as_json(found: ModelReport, _: str) -> str:
    results = [
        {"promise": v.promise, "verdict": v.outcome, "message": v.message, "judged": v.judged, "run": v.run}
        for v in found.verdicts
    ]
    report = {"model": found.model, "target": target_json(found.environment), "runs": found.runs, "results": results}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _as_github(found: ModelReport, runner: str) -> str:
    """An annotation for each broken promise, and the text report after them, which a job's log shows."""
    broken = [verdict for verdict in found.verdicts if verdict.outcome == "failed"]
    annotations = [
        command(
            "error",
            _shown(v),
            title=f"{v.promise} is broken by {found.model}",
        )
        for v in broken
    ]
    return "".join(f"{line}\n" for line in annotations) + _as_text(found, runner)


def _as_junit(found: ModelReport, _: str) -> str:
    """A suite for the model, a case for each promise; one that no row speaks of is skipped."""
    outcomes = [verdict.outcome for verdict in found.verdicts]
    counts = {"tests": len(outcomes), "failures": outcomes.count("failed"), "skipped": outcomes.count("not-applicable")}
    told = {name: str(count) for name, count in counts.items()} | {"errors": "0"}
    suite = Xml.Element("testsuite", {"name": clean(found.model), **told})
    properties = Xml.SubElement(suite, "properties")
    for name, text in target_json(found.environment).items():
        Xml.SubElement(properties, "property", {"name": name, "value": clean(text)})
    for verdict in found.verdicts:
        name = f"{verdict.promise} {MODEL_PROMISES[verdict.promise]}"
        case = Xml.SubElement(suite, "testcase", {"classname": clean(found.model), "name": name})
        message = {"message": clean(verdict.message)}
        if verdict.outcome == "failed":
            Xml.SubElement(case, "failure", {**message, "type": "broken promise"}).text = clean(_shown(verdict))
        elif verdict.outcome == "not-applicable":
            Xml.SubElement(case, "skipped", message)
    root = Xml.Element("testsuites", {"name": "phase-contract model", **told})
    root.append(suite)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _as_sarif(found: ModelReport, _: str) -> str:
    """A result for each broken promise, at the line of the class where the model is in a file that was named."""
    order = list(MODEL_CLAUSES)
    rules = [rule_of(clause) for clause in MODEL_CLAUSES.values()]
    version = metadata.version("omni-phase-contract")
    run = {
        "tool": {"driver": {"name": "phase-contract model", "version": version, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [
            {
                "ruleId": verdict.promise,
                "ruleIndex": order.index(verdict.promise),
                "level": "error",
                "message": {"text": _shown(verdict)},
                "locations": [_location(found.model)],
                "partialFingerprints": {FINGERPRINT: _digest(found.model, verdict.promise)},
            }
            for verdict in found.verdicts
            if verdict.outcome == "failed"
        ],
        "properties": {"target": target_json(found.environment)},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _location(model: str) -> dict[str, Any]:
    """The class by its name, and where it is in a file by its line: a module is not looked for."""
    where, _, name = model.rpartition(":")
    found: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": model, "kind": "type"}]}
    if where.endswith(".py"):
        region = {"startLine": _line(Path(where), name)}
        found["physicalLocation"] = {"artifactLocation": {"uri": quote(where)}, "region": region}
    return found


def _line(file: Path, name: str) -> int:
    """The line of a class in a file, or the first line where it is not found: a page shows files that are nowhere."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return 1
    return next((each.lineno for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name), 1)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


REPORTS = {"text": _as_text, "json": _as_json, "github": _as_github, "junit": _as_junit, "sarif": _as_sarif}
"""By the name of the format: each is given what was found, and the runner as it was asked for."""
