"""Judge a runner by the clauses: by what is recorded of a published release, else by running the suite."""

from __future__ import annotations

from pathlib import Path

from spec_examples.conformance import by_reading
from spec_examples.conformance.matrix import MATRIX_RUNNERS, Wanted, judge_release_source, record_of_run, valid
from spec_examples.conformance.record import Record, record_of_source, traces_of
from spec_examples.targets import Session, Target
from spec_examples.targets.errors import TargetOnlyRead
from spec_examples.targets.reading import read_runners


def recorded_of(target: Target, session: Session) -> Record | None:
    """What is recorded of a published release's own runner, if that is valid and nothing is to be run anew."""
    if session.live or not target.never_changes or target.runner not in MATRIX_RUNNERS:
        return None
    record = valid(Wanted(target.vllm_omni, target.runner))
    if record is not None and record.how == "run":
        record.traces.update(traces_of(record))
    return record


def judge_clauses(session: Session, target: Target) -> Record:
    """What the suite shows of each clause, or the source says of a release that is not run here.

    Raises ``TargetUnavailable`` if the target cannot be asked at all.
    """
    if record := recorded_of(target, session):
        return record
    if target.never_changes and target.runner in MATRIX_RUNNERS:
        wanted = Wanted(target.vllm_omni, target.runner)
        if wanted.how == "read":
            return judge_release_source(wanted)
    return record_of_run(session, target, session.environment(target))


def judge_source(older: TargetOnlyRead, runner: str) -> Record:
    """What the source of a folder says that is not run here. Raises ``older`` if its runner cannot be read either."""
    if runner not in by_reading.CLASSES:
        raise older
    found = by_reading.of(runner, read_runners(Path(older.folder)))
    if not found:
        raise older
    return record_of_source(Path(older.folder).name, runner, found)
