"""Judges of the HOOK clauses: how the phase keys reach each of the two per-row hooks."""

from __future__ import annotations

from collections.abc import Iterator

from spec_examples.contract import rows
from spec_examples.contract.alignment import absent, differs, misaligned
from spec_examples.contract.matching import HookMatch
from spec_examples.contract.reading import Reading, RowReading, StepReading
from spec_examples.contract.verdict import Finding, Violation
from spec_examples.trace import IS_PREFILL, PHASE_KEYS


def keywords(reading: Reading) -> Finding:
    """HOOK-1: every call of ``preprocess`` gets the three keys as keyword arguments."""
    judged, violations = 0, []
    for row in reading.rows:
        for found in row.hooks:
            if found.hook != "preprocess":
                continue
            judged += 1
            elsewhere = [key for key in PHASE_KEYS if key in found.row.fields and key not in found.row.keywords]
            otherwise = f"{', '.join(elsewhere)} arrived otherwise" if elsewhere else None
            problems = [problem for problem in (absent(found), otherwise) if problem]
            if problems:
                violations.append(
                    row.violation(f"preprocess gets the fields as keywords, but {', and '.join(problems)}")
                )
    return Finding(judged, violations)


def batched_entries(reading: Reading) -> Finding:
    """HOOK-2: every entry of ``preprocess_decode_batch`` carries the keys, is aligned with its input, and is decode."""
    judged, violations = 0, []
    for step in reading.steps:
        for row in step.rows:
            for found in row.hooks:
                if found.hook == "preprocess_decode_batch":
                    judged += 1
                    problems = list(_entry_problems(found, row, step))
                    if problems:
                        violations.append(row.violation(f"in preprocess_decode_batch, {', and '.join(problems)}"))
        for stray in step.match.strays:
            if stray.hook == "preprocess_decode_batch":
                judged += 1
                whose = f"an entry of {stray.row.request}, which has no row"
                message = f"step {step.number}: preprocess_decode_batch got {whose}"
                violations.append(Violation(step.number, stray.row.request, message))
    return Finding(judged, violations)


def _entry_problems(found: HookMatch, row: RowReading, step: StepReading) -> Iterator[str]:
    if problem := absent(found):
        yield f"each entry carries the fields, but {problem}"
    together = [other for other in step.rows if any(each.call == found.call for each in other.hooks)]
    yield from misaligned(found, row, together)
    flag = found.row.fields.get(IS_PREFILL)
    if rows.is_prefill(row.row):
        yield "every entry is decode, but this row is prefill"
    elif flag is not None and differs(flag, False):
        yield f"every entry is decode, but {IS_PREFILL} {flag.value} arrived"
