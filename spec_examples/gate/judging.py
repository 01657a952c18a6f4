"""Judge a runner by the clauses: by what is recorded of a published release, else by running the suite."""

from __future__ import annotations

from spec_examples.conformance.matrix import MATRIX_RUNNERS, Wanted, record_of_run, valid
from spec_examples.conformance.record import Record, traces_of
from spec_examples.targets import Session, Target


def recorded_of(target: Target, session: Session) -> Record | None:
    """What is recorded of a published release's own runner, if that is valid and nothing is to be run anew."""
    if session.live or not target.never_changes or target.runner not in MATRIX_RUNNERS:
        return None
    record = valid(Wanted(target.vllm_omni, target.runner))
    if record is not None and record.how == "run":
        record.traces.update(traces_of(record))
    return record


def judge_clauses(session: Session, target: Target) -> Record:
    """What the suite shows of each clause. Raises ``TargetUnavailable`` if the target cannot be asked at all."""
    return recorded_of(target, session) or record_of_run(session, target, session.environment(target))
