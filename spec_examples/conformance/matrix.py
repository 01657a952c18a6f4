"""Run the suite on targets and judge it: every clause on every release and runner."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from spec_examples.conformance import record as recorded
from spec_examples.conformance.known import known
from spec_examples.conformance.record import Record
from spec_examples.conformance.suite import SUITE
from spec_examples.conformance.verdicts import judge_target
from spec_examples.targets import Session, Target, TargetFailed, TargetUnavailable, catalogue
from spec_examples.trace import Trace

MATRIX_RUNNERS = ("ar", "generation", "v2")
V2_SINCE = "0.30.0rc1"


@dataclass(frozen=True)
class Wanted:
    """One target of the matrix."""

    vllm_omni: str
    runner: str


def wanted(releases: Iterable[str] = (), runners: Iterable[str] = (), shard: tuple[int, int] = (1, 1)) -> list[Wanted]:
    """Targets by release, oldest first. A shard takes every N-th release, so that each imports as much.

    Raises ``TargetUnavailable`` for a release that is not in the catalogue.
    """
    from packaging.version import Version

    chosen = list(releases) or [release.vllm_omni for release in catalogue.releases()]
    for version in chosen:
        if catalogue.release(version) is None:
            raise TargetUnavailable(f"release {version} is not in the catalogue")
    index, count = shard
    targets = []
    for version in chosen[index - 1 :: count]:
        for runner in runners or MATRIX_RUNNERS:
            if runner != "v2" or Version(version) >= Version(V2_SINCE):
                targets.append(Wanted(version, runner))
    return targets


def stale(target: Wanted) -> Record | None:
    """The valid record of ``target`` judged anew, or ``None`` where it has to be run."""
    path = recorded.RESULTS / f"{target.vllm_omni}-{target.runner}.toml"
    if not path.is_file():
        return None
    try:
        record = recorded.read(path)
        return None if record.is_stale else rejudged(record)
    except ValueError:
        return None


def rejudged(record: Record) -> Record:
    """The record with cells from today's judges. A target that was not run keeps what was written."""
    if record.how != "run" or not record.traces_path.is_file():
        return record
    from dataclasses import replace

    return replace(record, cells=judge_target(recorded.traces_of(record)))


def run_release(version: str, runners: Iterable[str], say: Callable[[str], None]) -> list[Record]:
    """Every runner of one release, in one session. A runner that cannot be run costs its own cells only."""
    release = catalogue.release(version)
    records = []
    with Session(live=True, say=say) as session:
        for runner in runners:
            if release is not None and release.how == "read":
                records.append(recorded.unrunnable(version, runner, "read", "not run: it does not import here"))
                continue
            say(f"vLLM-Omni {version}, runner {runner}")
            records.append(_run(session, version, runner))
    return records


def _run(session: Session, version: str, runner: str) -> Record:
    target, traces = Target(version, runner), {}
    try:
        session.environment(target)
    except TargetUnavailable as error:
        return recorded.unrunnable(version, runner, "run", str(error))
    for case in SUITE:
        for scenario in case.scenarios:
            try:
                traces[scenario.digest] = session.run(scenario, target)
            except (TargetFailed, TargetUnavailable) as error:
                traces[scenario.digest] = Trace(error=str(error))
    return recorded.record_of(version, runner, traces)


def run_all(
    targets: list[Wanted],
    *,
    live: bool = False,
    say: Callable[[str], None] = lambda _: None,
    done: Callable[[Record], None] = lambda _: None,
) -> list[Record]:
    """A record for every target: read where it is valid, else run, as many releases at once as there are cores."""
    records: dict[Wanted, Record] = {}
    if not live:
        records = {target: record for target in targets if (record := stale(target)) is not None}
        for record in records.values():
            done(record)
    missing: dict[str, list[str]] = {}
    for target in targets:
        if target not in records:
            missing.setdefault(target.vllm_omni, []).append(target.runner)
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for found in pool.map(lambda item: run_release(item[0], item[1], say), missing.items()):
            for record in found:
                records[Wanted(record.vllm_omni, record.runner)] = record
                done(record)
    return [records[target] for target in targets]


def unexpected(record: Record) -> list[str]:
    """One line for each failure that is not known, and for each known one that is gone."""
    expected = known(record.vllm_omni, record.runner)
    lines = []
    for clause, cell in record.cells.items():
        where = f"vLLM-Omni {record.vllm_omni}, runner {record.runner}: {clause}"
        if cell.verdict == "failed" and clause not in expected:
            lines.append(f"{where} fails, which is not known: {cell.message}")
        elif clause in expected and cell.verdict == "passed":
            lines.append(f"{where} passes, so the known divergence {expected[clause].id!r} is gone")
    return lines
