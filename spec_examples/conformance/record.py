"""Recorded results: one small text file a target to read in a diff, and beside it the traces that it was judged on.

Results are judged anew whenever they are read. A record is valid as long as the packages, the suite, the talker and
the harness are what it was made with.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import msgspec

from spec_examples.conformance import suite
from spec_examples.conformance.verdicts import Cell, form, judge_target
from spec_examples.targets import catalogue
from spec_examples.targets.session import harness_digest
from spec_examples.trace import Environment, Trace

RESULTS = Path(__file__).with_name("results")
"""``VERSION-RUNNER.toml``, and ``VERSION-RUNNER.traces.gz`` with the traces, one line of JSON each."""


@dataclass(frozen=True)
class Record:
    """What one release's runner was seen to do.

    ``how`` is ``run`` or ``read``. ``made_with`` holds SHA-256 digests of the packages' requirements, the suite and the
    harness. ``route_form`` is the form of ROUTE-1 that it shows.
    """

    vllm_omni: str
    vllm: str
    runner: str
    how: str
    recorded: str
    made_with: dict[str, str]
    cells: dict[str, Cell]
    environment: Environment = field(default_factory=Environment)
    route_form: str = ""
    traces: dict[str, Trace] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The stem of its files."""
        return f"{self.vllm_omni}-{self.runner}"

    @property
    def path(self) -> Path:
        """Its text file."""
        return RESULTS / f"{self.name}.toml"

    @property
    def traces_path(self) -> Path:
        """Its traces."""
        return RESULTS / f"{self.name}.traces.gz"

    @property
    def is_stale(self) -> bool:
        """Whether something that the traces depend on has changed since they were made."""
        return self.made_with != ingredients(self.vllm_omni)


def ingredients(version: str) -> dict[str, str]:
    """What a record of ``version`` has to have been made with to be valid now."""
    release = catalogue.release(version)
    packages = hashlib.sha256(release.requirements.encode()).hexdigest() if release else ""
    return {"packages": packages, "suite": suite.digest(), "harness": harness_digest()}


def record_of(version: str, runner: str, traces: Mapping[str, Trace]) -> Record:
    """The record of a run that has just been made."""
    release = catalogue.release(version)
    environment = next((trace.environment for trace in traces.values()), Environment())
    return Record(
        vllm_omni=version,
        vllm=release.vllm if release else environment.vllm,
        runner=runner,
        how="run",
        recorded=date.today().isoformat(),
        made_with=ingredients(version),
        cells=judge_target(traces),
        environment=environment,
        route_form=form(traces) or "",
        traces=dict(traces),
    )


def unrunnable(version: str, runner: str, how: str, reason: str, cells: Mapping[str, Cell] | None = None) -> Record:
    """The record of a target that could not be run, with the reason in every cell that was not read."""
    release = catalogue.release(version)
    blank = {clause: Cell(clause, "not-runnable", message=reason) for clause in judge_target({})}
    return Record(
        vllm_omni=version,
        vllm=release.vllm if release else "",
        runner=runner,
        how=how,
        recorded=date.today().isoformat(),
        made_with=ingredients(version),
        cells={**blank, **(cells or {})},
    )


def write(record: Record) -> None:
    """Both files, each whole or not at all."""
    RESULTS.mkdir(exist_ok=True)
    if record.traces:
        lines = "".join(
            json.dumps({"scenario": digest, "trace": json.loads(trace.to_json())}, sort_keys=True) + "\n"
            for digest, trace in sorted(record.traces.items())
        )
        _replace(record.traces_path, gzip.compress(lines.encode(), mtime=0))
    _replace(record.path, as_text(record).encode())


def as_text(record: Record) -> str:
    """The text file: TOML, a line a clause, so that a change in behaviour is a line in a diff."""
    lines = [
        "# Recorded by phase-contract matrix. What changes here is what changed in runner, suite or harness.",
        f"vllm_omni = {_quoted(record.vllm_omni)}",
        f"vllm = {_quoted(record.vllm)}",
        f"runner = {_quoted(record.runner)}",
        f"runner_class = {_quoted(record.environment.runner)}",
        f"producer = {_quoted(record.environment.preprocess_from)}",
        f"how = {_quoted(record.how)}",
        f"recorded = {_quoted(record.recorded)}",
        f"route_form = {_quoted(record.route_form)}",
        "",
        "[made_with]",
        *(f"{name} = {_quoted(value)}" for name, value in record.made_with.items()),
        "",
        "[verdicts]",
        *(f"{cell.clause} = {_quoted(cell.verdict)}" for cell in record.cells.values()),
        "",
        "[evidence]",
        *(f"{cell.clause} = {_quoted(cell.evidence)}" for cell in record.cells.values() if cell.evidence),
        "",
        "[messages]",
        *(f"{cell.clause} = {_quoted(cell.message)}" for cell in record.cells.values() if cell.message),
    ]
    return "\n".join(lines) + "\n"


def read_all() -> list[Record]:
    """Every committed record, oldest release first."""
    from packaging.version import Version

    found = [read(path) for path in RESULTS.glob("*.toml")]
    return sorted(found, key=lambda record: (Version(record.vllm_omni), record.runner))


def read(path: Path) -> Record:
    """The record in a text file, as committed. Raises ``ValueError`` with the file's name where it is damaged."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        verdicts, evidence, messages = data["verdicts"], data["evidence"], data["messages"]
        cells = {
            clause: Cell(clause, verdict, evidence.get(clause, ""), messages.get(clause, ""))
            for clause, verdict in verdicts.items()
        }
        return Record(
            vllm_omni=data["vllm_omni"],
            vllm=data["vllm"],
            runner=data["runner"],
            how=data["how"],
            recorded=data["recorded"],
            made_with=data["made_with"],
            cells=cells,
            environment=Environment(runner=data["runner_class"], preprocess_from=data["producer"]),
            route_form=data["route_form"],
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise ValueError(f"{path.name}: not a recorded result: {error}") from error


def traces_of(record: Record) -> dict[str, Trace]:
    """The traces that a record was judged on. Raises ``ValueError`` where they are missing or damaged."""
    path = record.traces_path
    try:
        lines = gzip.decompress(path.read_bytes()).splitlines()
        loaded = [msgspec.json.decode(line, type=_Line) for line in lines]
    except (OSError, EOFError, msgspec.MsgspecError) as error:
        raise ValueError(f"{path.name}: not recorded traces: {error}") from error
    return {line.scenario: line.trace for line in loaded}


class _Line(msgspec.Struct):
    scenario: str
    trace: Trace


def _quoted(text: str) -> str:
    """A basic TOML string; JSON's escapes are a subset of TOML's."""
    return json.dumps(text, ensure_ascii=False)


def _replace(path: Path, content: bytes) -> None:
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(part, 0o644)
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
