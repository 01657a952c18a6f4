"""Judges of the FIELD clauses: the three phase keys as they arrived at the per-row hooks."""

from __future__ import annotations

from collections.abc import Iterator

from spec_examples.contract import rows
from spec_examples.contract.alignment import ABSENT, absent, differs, misaligned, owner_of, taken_for
from spec_examples.contract.matching import HookMatch
from spec_examples.contract.reading import Reading, RowReading, StepReading
from spec_examples.contract.verdict import Finding, Violation
from spec_examples.trace import IS_PREFILL, NUM_COMPUTED, PROMPT_LEN, ScheduledRow, Value

Said = dict[str, dict[object, str]]
"""For each phase key the values that something other than the current step says, and where that was said."""


def prompt_length(reading: Reading) -> Finding:
    """FIELD-1: ``_omni_prompt_len`` is an ``int`` and the request's prompt length."""
    return _exactly(reading, PROMPT_LEN, int, "the prompt length")


def progress(reading: Reading) -> Finding:
    """FIELD-2: ``_omni_num_computed_tokens`` is an ``int`` and the progress before the step."""
    return _exactly(reading, NUM_COMPUTED, int, "the progress before the step")


def prefill_flag(reading: Reading) -> Finding:
    """FIELD-3: ``_omni_is_prefill`` is a ``bool`` and whether progress is below the prompt length."""
    return _exactly(reading, IS_PREFILL, bool, "progress below the prompt length")


def refreshed(reading: Reading) -> Finding:
    """FIELD-4: where an earlier step or a planted value says otherwise, the current step's values arrive."""
    judged, violations = 0, []
    said: dict[str, Said] = {}
    for step in reading.steps:
        for row in step.rows:
            before = said.setdefault(row.row.request, {})
            _say(before, step.state.get(row.row.request, {}), f"which stood in the state before step {step.number}")
            _say(before, step.planted.get(row.row.request, {}), _wrote(step.number))
            _say(before, step.step.planted.get(row.row.request, {}), f"which was planted before step {step.number}")
            if _otherwise(before, row.row):
                judged += len(row.hooks)
                violations += [v for found in row.hooks for v in _stale(row, found, before)]
        for row in step.rows:
            _remember(said[row.row.request], row)
    return Finding(judged, violations)


def batch_order(reading: Reading) -> Finding:
    """FIELD-5: in a step of several rows, each row's fields stand with its own tokens."""
    judged, violations = 0, []
    for step in reading.steps:
        for row, found in _hooked(step):
            if not any(_distinct(row.row, other.row) for other in step.rows):
                continue
            judged += 1
            problems = [problem for problem in (absent(found), *misaligned(found, row, step.rows)) if problem]
            if problems:
                violations.append(row.violation(f"its fields stand with its tokens, but {', and '.join(problems)}"))
    return Finding(judged, violations)


def nothing_latched(reading: Reading) -> Finding:
    """FIELD-6: once a request's progress fell back or its prompt changed, what was true before does not arrive."""
    judged, violations = 0, []
    last: dict[str, ScheduledRow] = {}
    before: dict[str, Said] = {}
    since: dict[str, Said] = {}
    for row in reading.rows:
        request = row.row.request
        change = _change(last.get(request), row.row)
        if change:
            _forget_flag(before.setdefault(request, {}))
            for key, values in since.pop(request, {}).items():
                before[request].setdefault(key, {}).update(values)
        if request in before:
            judged += len(row.hooks)
            violations += [v for found in row.hooks for v in _stale(row, found, before[request])]
        _remember(since.setdefault(request, {}), row)
        last[request] = row.row
    return Finding(judged, violations)


def overwriting(reading: Reading) -> Finding:
    """FIELD-7: what a model wrote over the phase keys does not arrive with the request's next row."""
    judged, violations = 0, []
    planted: dict[str, Said] = {}
    for step in reading.steps:
        for row in step.rows:
            before = planted.pop(row.row.request, {})
            if _otherwise(before, row.row):
                judged += len(row.hooks)
                violations += [v for found in row.hooks for v in _stale(row, found, before)]
        for row in step.rows:
            here = _wrote(step.number)
            wrote = planted.setdefault(row.row.request, {})
            _say(wrote, step.planted.get(row.row.request, {}), here)
            _say(wrote, row.planted, here)
    return Finding(judged, violations)


def _exactly(reading: Reading, key: str, kind: type, meaning: str) -> Finding:
    judged, violations = 0, []
    for step in reading.steps:
        for row, found in _hooked(step):
            judged += 1
            truth = rows.fields(row.row)[key]
            problem = _problem(key, found.row.fields.get(key), truth, kind, row, step)
            if problem:
                violations.append(row.violation(f"{key} is {meaning}, {truth}, but {problem}"))
    return Finding(judged, violations)


def _problem(
    key: str, arrived: Value | None, truth: int | bool, kind: type, row: RowReading, step: StepReading
) -> str | None:
    """What is wrong with one value, or ``None``."""
    if arrived is None:
        return f"it {ABSENT}"
    if arrived.type != kind.__name__:
        return f"a {arrived.type} arrived ({arrived.value!r}), not exactly {kind.__name__}"
    if arrived.value == truth:
        return None
    if kind is bool:
        return f"{arrived.value} arrived in a {rows.phase(row.row)} row"
    hint = taken_for(key, arrived, row.row)
    if hint is None and (owner := owner_of(key, arrived, row, step.rows)):
        hint = f"row {owner}'s"
    return f"{arrived.value} arrived" + (f" ({hint})" if hint else "")


def _stale(row: RowReading, found: HookMatch, said: Said) -> Iterator[Violation]:
    """A violation where keys are missing, or where a value that is wrong now is one that was said elsewhere."""
    if problem := absent(found):
        yield row.violation(f"the fields are those of this step, but {problem}")
        return
    problems = []
    for key, truth in rows.fields(row.row).items():
        arrived = found.row.fields[key]
        if differs(arrived, truth) and arrived.value in said.get(key, {}):
            problems.append(f"{key} is {truth}, but {arrived.value} arrived, {said[key][arrived.value]}")
    if problems:
        yield row.violation("; ".join(problems))


def _hooked(step: StepReading) -> Iterator[tuple[RowReading, HookMatch]]:
    return ((row, found) for row in step.rows for found in row.hooks)


def _distinct(row: ScheduledRow, other: ScheduledRow) -> bool:
    """Whether a mix-up of the two rows could be seen."""
    return (row.prompt_len, row.computed, row.span, row.tokens) != (
        other.prompt_len,
        other.computed,
        other.span,
        other.tokens,
    )


def _change(last: ScheduledRow | None, row: ScheduledRow) -> bool:
    """Whether a request's progress fell back, or its prompt length changed, since its last row."""
    return last is not None and (row.computed <= last.computed or row.prompt_len != last.prompt_len)


def _say(said: Said, values: dict[str, Value], where: str) -> None:
    for key, value in values.items():
        said.setdefault(key, {})[value.value] = where


def _remember(said: Said, row: RowReading) -> None:
    """Add what was true in a row's step, and what its hook wrote, to what later steps may not be told.

    Of flags only the last is kept: both have been true of most requests, and a flag that is latched, or a step late,
    is the last one where it is first wrong.
    """
    _forget_flag(said)
    for key, value in rows.fields(row.row).items():
        said.setdefault(key, {})[value] = f"which was true in step {row.step}"
    said[NUM_COMPUTED].setdefault(row.row.computed + row.row.span, f"which was true after step {row.step}")
    _say(said, row.planted, _wrote(row.step))


def _forget_flag(said: Said) -> None:
    said.pop(IS_PREFILL, None)


def _wrote(step: int) -> str:
    return f"which the model wrote in step {step}"


def _otherwise(said: Said, row: ScheduledRow) -> bool:
    """Whether anything that was said differs from what is true of this row."""
    return any(value != truth for key, truth in rows.fields(row).items() for value in said.get(key, {}))
