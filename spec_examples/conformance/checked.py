"""Check what was recorded: every verdict against what it rests on, and this against today's code."""

from __future__ import annotations

import hashlib
from pathlib import Path

from spec_examples import contract
from spec_examples.conformance import record as recorded
from spec_examples.conformance.matrix import rejudged, unexpected
from spec_examples.conformance.record import Record
from spec_examples.execution.result import Result
from spec_examples.targets.install import cache_folder


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
        results += _of(record, path)
    return results


def _of(record: Record, path: Path) -> list[Result]:
    wrong = []
    if record.is_stale:
        message = f"stale: {record.changed} changed since it was recorded; run phase-contract matrix --record"
        wrong.append(_result(path.name, _line(path, "[made_with]"), "failed", message))
    try:
        wrong += _wrong_verdicts(record, path)
    except ValueError as error:
        return [*wrong, _result(path.name, 1, "error", str(error))]
    wrong += [_result(path.name, 1, "failed", line) for line in unexpected(record)]
    return wrong or [_result(path.name, 1, "passed", "")]


def _wrong_verdicts(record: Record, path: Path) -> list[Result]:
    """Each verdict that is not what its traces, or what was read, give today."""
    seen = _Agreed(path)
    if seen.known():
        return []
    wrong = []
    for clause, cell in rejudged(record).cells.items():
        written = record.cells.get(clause)
        if written != cell:
            rests_on = "its traces say" if record.how == "run" else "what was read says"
            said = f"{written.verdict}{_why(written.message)}" if written else "nothing"
            message = f"the record says {said}, {rests_on} {cell.verdict}{_why(cell.message)}"
            wrong.append(_result(path.name, _line(path, f"{clause} ="), "failed", message, (clause,)))
    if not wrong:
        seen.note()
    return wrong


def _why(message: str) -> str:
    return f" ({message})" if message else ""


class _Agreed:
    """A record and traces whose verdicts were once found right by today's judges need not be judged again.

    What is noted is a digest over all three, in the user's cache.
    """

    def __init__(self, path: Path) -> None:
        digest = hashlib.sha256(_judges())
        for file in (path, path.with_name(f"{path.stem}.traces.gz")):
            digest.update(recorded.content(file) + b"\0")
        self.file = cache_folder() / "judged" / digest.hexdigest()

    def known(self) -> bool:
        return self.file.is_file()

    def note(self) -> None:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.touch()
        except OSError:
            pass  # a cache that cannot be written costs time only


def _judges() -> bytes:
    """Everything that a verdict depends on besides the record: the judges, the suite, and what reads a trace."""
    here, package = Path(__file__).parent, Path(contract.__file__).parent
    files = [*sorted(package.glob("*.py")), *sorted(here.glob("*.py")), package.parent / "trace.py"]
    return b"\0".join(file.read_bytes() for file in files)


def _line(path: Path, start: str) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((i for i, line in enumerate(lines, start=1) if line.startswith(start)), 1)


def _result(name: str, line: int, outcome: str, message: str, clauses: tuple[str, ...] = ()) -> Result:
    path = f"spec_examples/conformance/results/{name}"
    return Result(f"{path}:{line}", "recorded", path, line, clauses, outcome, message)  # type: ignore[arg-type]
