"""Check what was recorded: every verdict against what it rests on, and this against today's code."""

from __future__ import annotations

from pathlib import Path

from spec_examples.conformance import record as recorded
from spec_examples.conformance.matrix import judged_today, unexpected
from spec_examples.conformance.record import Record
from spec_examples.execution.result import Result


def recorded_results() -> list[Result]:
    """One result a recorded target; nothing is run.

    A verdict that today's judges do not give, traces that are missing, damaged or stale, and a failure that is not
    known are red at their line.
    """
    results = []
    stale: dict[str, list[Path]] = {}
    for path in sorted(recorded.RESULTS.glob("*.toml")):
        try:
            record = recorded.read(path)
        except ValueError as error:
            results.append(_result(path.name, 1, "error", str(error)))
            continue
        if record.is_stale:
            stale.setdefault(record.changed, []).append(path)
        results += _of(record, path)
    return [_stale(changed, paths) for changed, paths in stale.items()] + results


def _stale(changed: str, paths: list[Path]) -> Result:
    """One line for all results that are stale for the same reason."""
    others = f" (and {', '.join(path.stem for path in paths[1:])})" if paths[1:] else ""
    message = f"stale: {changed} changed since it was recorded{others}; run phase-contract matrix --record"
    return _result(paths[0].name, _line(paths[0], "[made_with]"), "failed", message)


def _of(record: Record, path: Path) -> list[Result]:
    wrong = []
    try:
        wrong += _wrong_verdicts(record, path)
    except ValueError as error:
        return [*wrong, _result(path.name, 1, "error", str(error))]
    wrong += [_result(path.name, 1, "failed", line) for line in unexpected(record)]
    return wrong or [_result(path.name, 1, "passed", "")]


def _wrong_verdicts(record: Record, path: Path) -> list[Result]:
    """Each verdict that is not what its traces, or what was read, give today."""
    wrong = []
    for clause, cell in judged_today(record, path).cells.items():
        written = record.cells.get(clause)
        if written != cell:
            rests_on = "its traces say" if record.how == "run" else "what was read says"
            said = f"{written.verdict}{_why(written.message)}" if written else "nothing"
            message = f"the record says {said}, {rests_on} {cell.verdict}{_why(cell.message)}"
            wrong.append(_result(path.name, _line(path, f"{clause} ="), "failed", message, (clause,)))
    return wrong


def _why(message: str) -> str:
    return f" ({message})" if message else ""


def _line(path: Path, start: str) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((i for i, line in enumerate(lines, start=1) if line.startswith(start)), 1)


def _result(name: str, line: int, outcome: str, message: str, clauses: tuple[str, ...] = ()) -> Result:
    path = f"spec_examples/conformance/results/{name}"
    return Result(f"{path}:{line}", "recorded", path, line, clauses, outcome, message)  # type: ignore[arg-type]
