"""Check what was recorded: every verdict against the traces that it rests on, and these against today's code."""

from __future__ import annotations

from spec_examples.conformance import record as recorded
from spec_examples.conformance.matrix import unexpected
from spec_examples.conformance.record import Record
from spec_examples.conformance.verdicts import judge_target
from spec_examples.execution.result import Result


def recorded_results() -> list[Result]:
    """One result a recorded target; nothing is run.

    A verdict that today's judges do not give, traces that are missing, damaged or stale, and a failure that is not
    known are red at their line.
    """
    results = []
    for path in sorted(recorded.RESULTS.glob("*.toml")):
        try:
            record = recorded.read(path)
        except ValueError as error:
            results.append(_result(path.name, 1, "error", str(error)))
            continue
        results += _of(record)
    return results


def _of(record: Record) -> list[Result]:
    name = record.path.name
    wrong = []
    if record.is_stale:
        now = recorded.ingredients(record.vllm_omni)
        changed = ", ".join(k for k in now if record.made_with.get(k) != now[k])
        message = f"stale: {changed} changed since it was recorded; run phase-contract matrix --record"
        wrong.append(_result(name, _line(record, "[made_with]"), "failed", message))
    elif record.how == "run" and record.environment.runner:
        try:
            cells = judge_target(recorded.traces_of(record))
        except ValueError as error:
            return [_result(name, 1, "error", str(error))]
        for clause, cell in cells.items():
            written = record.cells.get(clause)
            if written is None or written.verdict != cell.verdict:
                said = written.verdict if written else "nothing"
                message = f"the record says {said}, its traces say {cell.verdict}: {cell.message}"
                wrong.append(_result(name, _line(record, f"{clause} ="), "failed", message, (clause,)))
    wrong += [_result(name, 1, "failed", line) for line in unexpected(record)]
    return wrong or [_result(name, 1, "passed", "")]


def _line(record: Record, start: str) -> int:
    lines = record.path.read_text(encoding="utf-8").splitlines()
    return next((i for i, line in enumerate(lines, start=1) if line.startswith(start)), 1)


def _result(name: str, line: int, outcome: str, message: str, clauses: tuple[str, ...] = ()) -> Result:
    path = f"spec_examples/conformance/results/{name}"
    return Result(f"{path}:{line}", "recorded", path, line, clauses, outcome, message)  # type: ignore[arg-type]
