"""Put reports into words: lines for a person, one JSON object for a machine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

from spec_examples.conformance.known import PAGE
from spec_examples.conformance.record import Record
from spec_examples.conformance.verdicts import Cell
from spec_examples.contract.clauses import CLAUSES, PROMISES
from spec_examples.execution.result import Result
from spec_examples.exercised import in_json, in_words
from spec_examples.gate.broken import Broken
from spec_examples.gate.check import CheckReport, PageReport
from spec_examples.gate.places import Place, in_tree
from spec_examples.gate.row_report import target_json
from spec_examples.gate.watching import Rechecked
from spec_examples.targets import Target
from spec_examples.trace import Environment

MARKS = {
    "passed": "ok",
    "failed": "FAILED",
    "error": "ERROR",
    "drifted": "drifted",
    "diverges": "diverges",
    "exempt": "exempt",
}
PREDATES = "no phase fields, no guard: this tree predates vLLM-Omni 0.22.0 (pull request 3662), which brought both"
DRIFTED = "drifted: the page says something else than this runner does, and no clause is violated"


def page_line(page: PageReport) -> str:
    """One line a page: its verdict, and how many blocks, rows and admonitions were executed."""
    counts = [
        f"{page.count(kind):3d} {name}"
        for kind, name in (("block", "blocks"), ("row", "rows"), ("admonition", "admonitions"))
    ]
    return f"{MARKS[page.worst]:8} {page.path:40} {', '.join(counts)}  {page.seconds:5.1f} s"


def check_text(report: CheckReport) -> str:
    """The clauses first, then the pages."""
    clauses = clauses_text(report.record, report.broken, report.target) if report.record else ""
    return clauses + pages_text(report)


def _how(record: Record) -> str:
    """How the verdicts came about, if the suite was not run just now."""
    if record.how == "read":
        return " (read, not run)"
    today = date.today().isoformat()
    return "" if record.recorded == today else f" (recorded {record.recorded}; --live runs it anew)"


def clauses_text(record: Record, broken: Sequence[Broken], target: Target) -> str:
    """What the suite shows of each clause: the counts, a line per fault, and the run that shows each.

    A runner that is older than the contract has one fault, and one line of clauses.
    """
    judged = [each for each in broken if each.case or not each.examples]
    lines = [f"{_of(record)}: {_counts(record)}{_how(record)}", *_named(target)]
    if record.predates:
        lines += [PREDATES, f"VIOLATED {' '.join(clause for clause in CLAUSES if clause in record.violated())}"]
    else:
        lines += [_fault(each) for each in judged]
    lines += [f"stopped in {case!r}, outside of the runner's code: {error}" for case, error in record.stops.items()]
    diverging = record.diverging()
    for divergence in dict.fromkeys(diverging.values()):
        clauses = " ".join(clause for clause, known in diverging.items() if known == divergence)
        lines.append(f"known, and not red: {divergence.title} ({clauses}); {PAGE}#{divergence.id}")
    lines += [f"{clause} is kept: the known divergence {d.id!r} is gone here" for clause, d in record.gone().items()]
    for each in judged if not record.predates else ():
        lines += [] if each.follows else _shown(each, in_tree(target, record.environment, each.clause))
    return "\n".join(lines) + "\n"


def _of(record: Record) -> str:
    """What was judged: what ran, or the folder of which the source was read."""
    if record.environment.vllm_omni:
        return _where(record.environment)
    return f"vLLM-Omni in {record.vllm_omni}, {record.environment.runner}"


def _counts(record: Record) -> str:
    verdicts = Counter(cell.verdict for clause, cell in record.cells.items() if clause in PROMISES)
    counts = [f"{verdicts['passed']} promises kept", f"{len(record.violated())} violated"]
    counts += [f"{len(record.diverging())} diverging as known"] if record.diverging() else []
    counts += [f"{len(record.unexercised)} not exercised"] if record.unexercised else []
    return ", ".join(counts)


def _fault(each: Broken) -> str:
    follows = f" (follows from {each.follows})" if each.follows else ""
    return f"VIOLATED {each.clause}: {each.name}{follows}"


def _named(target: Target) -> list[str]:
    """The folder or commit that was judged, and why it ran on its vLLM."""
    if target.is_installed or target.is_release:
        return []
    vllm = f", on vLLM {target.vllm} ({target.chosen_by})" if target.vllm and target.chosen_by else ""
    return [f"judged   {target.name or target.vllm_omni}{vllm}"]


def _shown(each: Broken, place: Place | None) -> list[str]:
    """The run that shows a fault, what a model suffers from it, where to look, and where the clause stands."""
    lines = [f"{each.clause}, in the case {each.case!r}: {each.message}"]
    lines += [each.detail] if each.detail else []
    lines += [f"    then       {each.suffers}"]
    lines += [f"    look at    {place.path}:{place.line}"] if place else []
    lines += [f"    run again  {each.smallest}"] if each.smallest else []
    return [*lines, f"    stated in  {each.anchor}"]


def unexercised_lines(record: Record) -> list[str]:
    """The promises of which this runner showed nothing, with the reason."""
    by_reason: dict[str, list[str]] = {}
    for clause, cell in record.unexercised.items():
        by_reason.setdefault(cell.message, []).append(clause)
    silent = [f"not exercised: {' '.join(clauses)}: {reason}" for reason, clauses in by_reason.items()]
    return silent + [f"not run: {case!r}: {reason}" for case, reason in record.undriven.items()]


def pages_text(report: CheckReport) -> str:
    """Failures first by place, then what they say of each promise, then the counts and what was not exercised."""
    lines, same = [], 0
    for result in report.results:
        if result.outcome == "failed" and _is_told(result, report):
            same += 1
        elif result.outcome in ("failed", "error", "diverges"):
            lines.append(str(result))
    lines += [f"{same} examples of pages show the same clauses violated"] if same else []
    lines += _drifted_lines(report)
    for result in report.results:
        if result.outcome == "exempt":
            lines.append(f"{result.path}:{result.line}: exempt from execution: {result.message}")
    lines += [f"{path}: left out: {why}" for path, why in report.left_out.items()]
    for each in report.broken:
        lines += _broken_text(each) if each.examples and not each.case else []
    lines += unexercised_lines(report.record) if report.record else []
    lines += [in_words(report.exercised), counts_line(report)] if report.pages else []
    return "".join(f"{line}\n" for line in lines)


def _drifted_lines(report: CheckReport) -> list[str]:
    """Each place at which a page has drifted; if a clause is violated, their number, since that may be the cause."""
    drifted = [result for result in report.results if result.outcome == "drifted"]
    if drifted and report.broken:
        return [f"{len(drifted)} examples of pages differ too; clauses are violated, so this is not called drift"]
    lines = [f"{result.path}:{result.line}: drifted: {result.message}" for result in drifted]
    return [*lines, DRIFTED] if drifted else []


def _is_told(result: Result, report: CheckReport) -> bool:
    """Whether a page shows no more than what the suite has shown."""
    clauses = {shown.clause for shown in result.shown}
    return bool(clauses) and report.record is not None and clauses <= report.record.violated().keys()


def _broken_text(each: Broken) -> list[str]:
    """For the author of the runner: the promise, what a model suffers, the smallest run, and the page."""
    seen = f"in {len(each.examples)} example{'s' * (len(each.examples) != 1)}"
    lines = [f"{each.clause} is broken {seen}: {each.name}. Then {each.suffers}.", f"    stated in  {each.anchor}"]
    return [*lines, f"    run again  {each.smallest}"] if each.smallest else lines


def rechecked(again: Rechecked) -> str:
    """A page that was checked again: its line, what is red on it, and how many examples the edit touched."""
    red = [str(result) for result in again.page.results if result.outcome in ("failed", "error", "diverges")]
    touched = f"{len(again.touched)} of {len(again.page.results)} examples touched, {again.seconds:.2f} s"
    return "\n".join([page_line(again.page), *red, touched]) + "\n"


def counts_line(report: CheckReport) -> str:
    """The counts of a check's pages."""
    total = report.summary()
    run = f"{total['blocks']} blocks, {total['rows']} rows, {total['admonitions']} admonitions"
    states = ", ".join(
        f"{total[state]} {state}"
        for state in ("passed", "failed", "drifted", "diverges", "exempt", "error")
        if total[state] or state in ("passed", "failed")
    )
    return f"{run}: {states} ({_where(report.environment)})"


def _where(environment: Environment) -> str:
    return f"vLLM-Omni {environment.vllm_omni}, vLLM {environment.vllm}, {environment.runner}"


def check_json(report: CheckReport) -> str:
    """One object; names are stable, more keys may be added."""
    return _json(
        {
            "target": target_json(report.environment),
            "examples": [
                {
                    "id": r.id,
                    "path": r.path,
                    "line": r.line,
                    "kind": r.kind,
                    "clauses": list(r.clauses),
                    "outcome": r.outcome,
                    "message": r.message,
                    "detail": r.detail,
                }
                for r in report.results
            ],
            "summary": report.summary(),
            "clauses": [_clause_json(report.record, cell) for cell in report.record.cells.values()]
            if report.record
            else [],
            "stops": report.record.stops if report.record else {},
            "undriven": report.record.undriven if report.record else {},
            "predates": bool(report.record and report.record.predates),
            "broken": [
                {
                    "clause": each.clause,
                    "case": each.case,
                    "message": each.message,
                    "follows": each.follows,
                    "name": each.name,
                    "anchor": each.anchor,
                    "suffers": each.suffers,
                    "smallest": each.smallest,
                    "examples": [result.id for result in each.examples],
                }
                for each in report.broken
            ],
            "left_out": report.left_out,
            "exercised": in_json(report.exercised),
        }
    )


def _clause_json(record: Record, cell: Cell) -> dict[str, Any]:
    return {
        "clause": cell.clause,
        "verdict": cell.verdict,
        "how": record.how,
        "known": cell.clause in record.diverging(),
        "evidence": cell.evidence,
        "message": cell.message,
        "follows": cell.follows,
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
