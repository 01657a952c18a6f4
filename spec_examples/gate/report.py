"""Put reports into words: lines for a person, one JSON object for a machine."""

from __future__ import annotations

import json
from typing import Any

from spec_examples.exercised import in_json, in_words
from spec_examples.gate.broken import Broken
from spec_examples.gate.check import CheckReport, PageReport
from spec_examples.gate.watching import Rechecked
from spec_examples.outcome import Outcome
from spec_examples.trace import Environment

MARKS = {"passed": "ok", "failed": "FAILED", "error": "ERROR", "diverges": "diverges", "exempt": "exempt"}


def page_line(page: PageReport) -> str:
    """One line a page: its verdict, and how many blocks, rows and admonitions were executed."""
    counts = [
        f"{page.count(kind):3d} {name}"
        for kind, name in (("block", "blocks"), ("row", "rows"), ("admonition", "admonitions"))
    ]
    return f"{MARKS[page.worst]:8} {page.path:40} {', '.join(counts)}  {page.seconds:5.1f} s"


def check_text(report: CheckReport) -> str:
    """Failures first by place, then what they say of each promise, then the counts."""
    lines = []
    for result in report.results:
        if result.outcome in ("failed", "error", "diverges"):
            lines.append(str(result))
    for result in report.results:
        if result.outcome == "exempt":
            lines.append(f"{result.path}:{result.line}: exempt from execution: {result.message}")
    lines += [f"{path}: left out: {why}" for path, why in report.left_out.items()]
    for each in report.broken:
        lines += _broken_text(each)
    lines += [in_words(report.exercised), counts_line(report)]
    return "\n".join(lines) + "\n"


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
    """The last line of a check."""
    total = report.summary()
    run = f"{total['blocks']} blocks, {total['rows']} rows, {total['admonitions']} admonitions"
    states = ", ".join(
        f"{total[state]} {state}"
        for state in ("passed", "failed", "diverges", "exempt", "error")
        if total[state] or state in ("passed", "failed")
    )
    where = f"vLLM-Omni {report.environment.vllm_omni}, vLLM {report.environment.vllm}, {report.environment.runner}"
    return f"{run}: {states} ({where})"


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
            "broken": [
                {
                    "clause": each.clause,
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


def target_json(environment: Environment) -> dict[str, str]:
    """What ran, under the names of the JSON reports."""
    return {
        "vllm_omni": environment.vllm_omni,
        "vllm": environment.vllm,
        "runner": environment.runner,
        "torch": environment.torch,
        "python": environment.python,
    }


def row_json(outcome: Outcome, environment: Environment) -> str:
    """One row's outcome."""
    return _json(
        {
            "target": target_json(environment),
            "phase": outcome.phase,
            "hook": outcome.hook,
            "mtp": outcome.mtp,
            "embedding": outcome.embedding,
            "fields": dict(outcome.fields),
        }
    )


def row_text(outcome: Outcome) -> str:
    """One row's outcome, a line for each thing observed."""
    mtp = "yes" if outcome.mtp else "no MTP"
    reached = {
        "mtp": "the MTP embedding",
        "preprocess": "the embedding that the hook returned",
        "buffer": "what the runner's buffer held",
        "other": "another request's embedding",
    }.get(outcome.embedding, outcome.embedding)
    fields = ", ".join(f"{key}={value}" for key, value in outcome.fields.items()) or "none arrived"
    lines = [
        f"row      prompt {outcome.prompt_len}, computed {outcome.computed}, span {outcome.span}",
        f"phase    {outcome.phase or 'no flag arrived'}",
        f"hook     {outcome.hook or 'none'}",
        f"MTP      {mtp}",
        f"forward  {reached} reached forward",
        f"fields   {fields}",
    ]
    return "\n".join(lines) + "\n"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
