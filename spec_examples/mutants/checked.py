"""Check the recorded catches: whether each is still that of today's defects, judges and harness. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterator

from spec_examples.execution.result import Result
from spec_examples.mutants import record as recorded
from spec_examples.mutants.catalogue import mutants_of
from spec_examples.mutants.record import CatchRecord


def invalid(record: CatchRecord) -> Iterator[tuple[int, str]]:
    """The line and what is wrong there: stale, a defect that is not recorded as it is, one that nothing catches."""
    if record.changed:
        yield 1, f"stale: {record.changed} changed since it was recorded; {record.again}"
    valid = record.valid
    for mutant in mutants_of(record.runner):
        caught = valid.get(mutant.name)
        if caught is None:
            yield record.line(mutant.name), f"{mutant.name} is new or was changed; {record.again} {mutant.name}"
        elif caught.state not in ("caught", "not-measurable"):
            why = caught.message or "nothing catches this defect"
            yield record.line(mutant.name), f"{mutant.name}: {caught.state}: {why}"
    for name in sorted(record.caught.keys() - {mutant.name for mutant in mutants_of(record.runner)}):
        yield record.line(name), f"{name} is no known defect any more; {record.again}"


def recorded_catches() -> list[Result]:
    """One result a record, red at its line where it is damaged, stale, or knows a defect that passes."""
    results = []
    for path in sorted(recorded.CATCHES.glob("*.toml")):
        shown = f"spec_examples/mutants/recorded/{path.name}"
        try:
            wrong = list(invalid(recorded.read(path)))
        except ValueError as error:
            results.append(Result(f"{shown}:1", "recorded", shown, 1, (), "error", str(error)))
            continue
        results += [Result(f"{shown}:{line}", "recorded", shown, line, (), "failed", said) for line, said in wrong]
        results += [] if wrong else [Result(f"{shown}:1", "recorded", shown, 1, (), "passed")]
    return results
