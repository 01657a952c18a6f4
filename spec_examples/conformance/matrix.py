"""Judge every clause on every release and runner: read what is recorded and valid, run or read what is not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import Version

from spec_examples import proven
from spec_examples.conformance import by_reading, control
from spec_examples.conformance import record as recorded
from spec_examples.conformance.control import NOT_THE_RUNNER, asked_first
from spec_examples.conformance.record import Record
from spec_examples.conformance.suite import SUITE
from spec_examples.conformance.verdicts import judge_target
from spec_examples.contract.clauses import CLAUSES
from spec_examples.targets import Session, Target, TargetFailed, TargetUnavailable, catalogue
from spec_examples.targets.reading import read_release
from spec_examples.targets.target import WHOLE_V2
from spec_examples.targets.whole_v2 import interpreter
from spec_examples.trace import Environment, Trace

MATRIX_RUNNERS = ("ar", "generation", "v2", WHOLE_V2, "npu", "xpu")
SINCE = {"v2": "0.30.0rc1", WHOLE_V2: "0.30.0rc1", "xpu": "0.14.0"}
"""The first published release that has a runner, where it is not the first of all."""


@dataclass(frozen=True)
class Wanted:
    """One target of the matrix: a release, and the name of a runner."""

    vllm_omni: str
    runner: str

    @property
    def how(self) -> str:
        """Whether it is run here, or its source read."""
        release = catalogue.release(self.vllm_omni)
        read = self.runner in by_reading.PLATFORMS or (release is not None and release.how == "read")
        return "read" if read else "run"


def wanted(releases: Iterable[str] = (), runners: Iterable[str] = (), shard: tuple[int, int] = (1, 1)) -> list[Wanted]:
    """Targets by release, oldest first. A shard takes every N-th release, so that each imports as much.

    Raises ``TargetUnavailable`` for a release that is not in the catalogue.
    """
    chosen = list(dict.fromkeys(releases)) or [release.vllm_omni for release in catalogue.releases()]
    for version in chosen:
        if catalogue.release(version) is None:
            known = ", ".join(release.vllm_omni for release in catalogue.releases())
            raise TargetUnavailable(f"release {version} is not in the catalogue, which has {known}")
    index, count = shard
    return [
        Wanted(version, runner)
        for version in sorted(chosen, key=Version)[index - 1 :: count]
        for runner in runners or MATRIX_RUNNERS
        if Version(version) >= Version(SINCE.get(runner, "0"))
    ]


def can_run(target: Wanted) -> bool:
    """Whether some Python here can run it: the whole V2 needs one with Triton."""
    if target.runner != WHOLE_V2:
        return True
    try:
        interpreter.with_triton()
    except TargetUnavailable:
        return False
    return True


def valid(target: Wanted) -> Record | None:
    """The valid record of ``target`` judged anew, or ``None`` where there is none."""
    path = recorded.RESULTS / f"{target.vllm_omni}-{target.runner}.toml"
    if not path.is_file():
        return None
    try:
        record = recorded.read(path)
        return None if record.is_stale or record.how != target.how else judged_today(record, path)
    except ValueError:
        return None


def judged_today(record: Record, path: Path) -> Record:
    """The record in ``path`` with the cells that today's judges give.

    Where these were once seen to be the written ones, they are not asked again as long as neither the record nor any
    code has changed. Raises ``ValueError`` as ``rejudged`` does.
    """
    files = (path, path.with_name(f"{path.stem}.traces.xz"))
    content = [file.read_bytes() for file in files if file.is_file()]
    proof = proven.key("records", ("**/*.py", "**/*.toml"), ("msgspec",), content)
    if proof.exists():
        return record
    now = rejudged(record)
    if now.cells == record.cells:
        proven.keep(proof)
    return now


def rejudged(record: Record) -> Record:
    """The record with cells from today's judges. A target that could not be run keeps what was written.

    Raises ``ValueError`` where its traces are missing or damaged.
    """
    if record.how == "read":
        return replace(record, cells=by_reading.judge(record.source))
    if not record.environment.runner:
        return record
    return replace(record, cells=judge_target(recorded.traces_of(record), record.environment.preprocess_from))


def judge_runner(session: Session, target: Target) -> Record:
    """The record of a target: the whole suite, put to it in one process.

    A runner that stops costs its own cells only: failed once its control had finished, else not runnable.
    """
    try:
        environment = session.environment(target)
    except TargetUnavailable as error:
        return recorded.unrunnable(target.vllm_omni, target.runner, str(error))
    return record_of_run(session, target, environment)


def record_of_run(session: Session, target: Target, environment: Environment) -> Record:
    """The record of a target whose control has finished: the whole suite is put to it."""
    traces: dict[str, Trace] = {}
    undriven: dict[str, str] = {}
    stops: dict[str, str] = {}
    for case in SUITE:
        for scenario in case.scenarios:
            if asked_first(scenario) and (reason := control.undriven(session, target, scenario)):
                undriven[case.name] = reason
                continue
            try:
                trace = session.run(scenario, target)
            except TargetFailed as error:
                trace = Trace(environment=environment, error=str(error), error_at="runner")
            except TargetUnavailable:
                continue  # this scenario cannot be put to it: a release without asynchronous scheduling, for example
            if trace.error and trace.error_at in NOT_THE_RUNNER:
                if reason := control.excused(session, target, scenario):
                    undriven[case.name] = reason
                    continue
                stops[case.name] = trace.error
            traces[scenario.digest] = trace
    version = target.vllm_omni if target.is_release else environment.vllm_omni
    record = recorded.record_of(version, target.runner, traces)
    return replace(record, undriven=undriven, stops=stops)


def judge_release_source(target: Wanted, say: Callable[[str], None] = lambda _: None) -> Record:
    """The record of a release whose source is read. Raises ``TargetUnavailable`` where it cannot be fetched."""
    return recorded.record_of_source(
        target.vllm_omni, target.runner, by_reading.of(target.runner, read_release(target.vllm_omni, say))
    )


def renew(version: str, runners: Iterable[Wanted], say: Callable[[str], None]) -> list[Record]:
    """A new record for each runner of one release: run in one session, or read."""
    records = []
    with Session(live=True, say=say) as session:
        for wanted in runners:
            say(f"vLLM-Omni {version}, runner {wanted.runner}")
            if wanted.how == "run":
                records.append(judge_runner(session, Target(version, wanted.runner)))
                continue
            try:
                records.append(judge_release_source(wanted, say))
            except TargetUnavailable as error:
                records.append(recorded.unrunnable(version, wanted.runner, str(error)))
    return records


def run_all(
    targets: list[Wanted],
    *,
    live: bool = False,
    say: Callable[[str], None] = lambda _: None,
    done: Callable[[Record], None] = lambda _: None,
    made: Callable[[Record], None] = lambda _: None,
) -> list[Record]:
    """A record for every target: the committed one where it is valid, else a new one, which ``made`` gets as well.

    As many releases at once as there are cores, those with most to run first.
    """
    records: dict[Wanted, Record] = {}
    if not live:
        records = {target: record for target in targets if (record := valid(target)) is not None}
        for record in records.values():
            done(record)
    missing: dict[str, list[Wanted]] = {}
    for target in targets:
        if target not in records:
            missing.setdefault(target.vllm_omni, []).append(target)
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        longest_first = sorted(missing.items(), key=lambda item: -sum(_cost(target) for target in item[1]))
        for found in pool.map(lambda item: renew(item[0], item[1], say), longest_first):
            for record in found:
                records[Wanted(record.vllm_omni, record.runner)] = record
                made(record)
                done(record)
    return [records[target] for target in targets]


def _cost(target: Wanted) -> int:
    """How long a target takes beside the others of a release: V2's kernels are interpreted."""
    return {"read": 0, "run": 8 if target.runner == WHOLE_V2 else 1}[target.how]


def unexpected(record: Record) -> list[str]:
    """One line for each failure that is not known, and for each known one that is gone."""
    lines = []
    for clause, cell in record.violated(gate=False).items():
        follows = f" (follows from {cell.follows})" if cell.follows else ""
        lines.append(f"{record.place}: {clause} fails, which is not known{follows}: {cell.message}")
    lines += [f"{record.place}: the run stopped in {case!r}: {error}" for case, error in record.stops.items()]
    if catalogue.release(record.vllm_omni) and record.runner in MATRIX_RUNNERS:
        lines += [
            f"{record.place}: {clause} passes, so the known divergence {divergence.id!r} is gone"
            for clause, divergence in record.gone(gate=False).items()
        ]
    return lines


def contradicted(record: Record) -> list[str]:
    """One line for each verdict of a run that is not the committed one, where that is valid."""
    committed = valid(Wanted(record.vllm_omni, record.runner))
    if committed is None or record.cells == committed.cells:
        return []
    lines = []
    for clause, cell in record.cells.items():
        before = committed.cells[clause]
        if cell != before:
            said = "; ".join(filter(None, (cell.verdict, cell.evidence, cell.message)))
            was = "; ".join(filter(None, (before.verdict, before.evidence, before.message)))
            where = f"vLLM-Omni {record.vllm_omni}, runner {record.runner}: {clause}"
            lines.append(
                f"{where} is recorded as {was!r}, and was {said!r} now; phase-contract matrix --record writes it"
            )
    return lines


def first_kept(records: Iterable[Record]) -> dict[str, str]:
    """For each clause that the shared runner keeps on the newest release: since which release it has kept it.

    The shared runner is AR and generation, where run. A release on which neither can break a clause is passed over.
    """
    shared: dict[str, list[Record]] = {}
    for record in records:
        if record.runner in ("ar", "generation") and record.how == "run":
            shared.setdefault(record.vllm_omni, []).append(record)
    since: dict[str, str] = {}
    for version in sorted(shared, key=Version):
        for clause in CLAUSES:
            verdicts = {record.cells[clause].verdict for record in shared[version]}
            if verdicts <= {"passed", "not-applicable"}:
                if "passed" in verdicts:
                    since.setdefault(clause, version)
            else:
                since.pop(clause, None)
    return since
