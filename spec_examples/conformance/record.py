"""Recorded results: one small text file a target to read in a diff, and beside it the traces that it was judged on.

Results are judged anew whenever they are read. A record of a run is valid as long as the packages, the suite, the
talker and the harness are what it was made with; one of what was read, as long as the packages and the reader are.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from spec_examples.conformance import by_reading, suite
from spec_examples.conformance.known import Divergence, known
from spec_examples.conformance.verdicts import Cell, form, judge_target
from spec_examples.contract.alignment import NOTHING_ARRIVED
from spec_examples.contract.clauses import CLAUSES, PROMISES
from spec_examples.scenario import Scenario
from spec_examples.targets import catalogue
from spec_examples.targets.reading import Definition, Guard, ReadRunner
from spec_examples.targets.session import harness_digest
from spec_examples.trace import Environment, Trace
from spec_examples.whole_files import write_whole

RECORDED = tuple(clause for clause, each in CLAUSES.items() if each.kind == "promise" or clause == "OWN-1")
"""The clauses that a target has verdicts on."""

RESULTS = Path(__file__).with_name("results")
"""``VERSION-RUNNER.toml``, and ``VERSION-RUNNER.traces.xz`` with the traces: a scenario's digest and JSON a line."""


@dataclass(frozen=True)
class Record:
    """What one release's runner was seen to do.

    ``how`` is ``run`` or ``read``. ``made_with`` holds SHA-256 digests of the packages' requirements and of what made
    the record. ``route_form`` is the form of ROUTE-1 that it shows. ``traces`` are by scenario digest; ``source`` is
    what was read of each class. ``undriven`` has the cases that vLLM itself cannot be driven through, with the reason;
    ``stops`` those in which the run stopped in code that is not the runner's although vLLM's own runner gets through.
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
    source: tuple[ReadRunner, ...] = ()
    undriven: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    stops: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def known(self, *, gate: bool = False) -> dict[str, Divergence]:
        """The clauses that the code under test is known to break, and the divergence that says so.

        ``gate`` asks for those with which a check stays green.
        """
        return known(self.vllm_omni, self.runner, self.environment.preprocess_from, gate=gate)

    def violated(self, *, gate: bool = True) -> dict[str, Cell]:
        """The clauses that it breaks and is not known to, causes before what follows from them."""
        expected = self.known(gate=gate)
        found = {c: cell for c, cell in self.cells.items() if cell.verdict == "failed" and c not in expected}
        return dict(sorted(found.items(), key=lambda item: bool(item[1].follows)))

    def diverging(self, *, gate: bool = True) -> dict[str, Divergence]:
        """The clauses that it breaks as it is known to."""
        return {c: known for c, known in self.known(gate=gate).items() if self.cells[c].verdict == "failed"}

    def gone(self, *, gate: bool = True) -> dict[str, Divergence]:
        """The clauses that it is known to break, and keeps."""
        return {c: known for c, known in self.known(gate=gate).items() if self.cells[c].verdict == "passed"}

    @property
    def unexercised(self) -> dict[str, Cell]:
        """The promises of which nothing was seen here, each cell with the reason."""
        silent = ("not-applicable", "not-runnable")
        return {c: cell for c, cell in self.cells.items() if c in PROMISES and cell.verdict in silent}

    @property
    def predates(self) -> bool:
        """Whether no phase key ever arrived, and no guard keeps a prefill row from MTP: older than the contract."""
        if not all(self.cells[c].verdict == "failed" for c in ("FIELD-1", "FIELD-2", "FIELD-3")):
            return False
        if self.how == "read":
            return self.cells["ROUTE-3"].verdict != "passed"
        return self.cells["ROUTE-3"].verdict == "failed" and NOTHING_ARRIVED in self.cells["FIELD-4"].message

    @property
    def place(self) -> str:
        """The target, as a line of a report begins."""
        return f"vLLM-Omni {self.vllm_omni}, runner {self.runner}"

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
        return RESULTS / f"{self.name}.traces.xz"

    @property
    def is_stale(self) -> bool:
        """Whether something that the traces depend on has changed since they were made."""
        return self.made_with != ingredients(self.vllm_omni, self.how, self.runner)

    @property
    def changed(self) -> str:
        """Which of these changed since, in words; empty where the record is valid."""
        now = ingredients(self.vllm_omni, self.how, self.runner)
        return ", ".join(name for name in now if self.made_with.get(name) != now[name])


def ingredients(version: str, how: str, runner: str = "") -> dict[str, str]:
    """What a record of ``version`` and ``runner`` has to have been made with to be valid now."""
    release = catalogue.release(version)
    packages = {"packages": hashlib.sha256(release.requirements.encode()).hexdigest() if release else ""}
    if how == "read":
        return {**packages, "reader": by_reading.digest()}
    return {**packages, "suite": suite.digest(), "harness": harness_digest(runner)}


def record_of(version: str, runner: str, traces: Mapping[str, Trace]) -> Record:
    """The record of a run that has just been made."""
    environment = next((trace.environment for trace in traces.values() if trace.environment.runner), Environment())
    cells = judge_target(traces, environment.preprocess_from)
    record = _made_today(version, runner, "run", cells, environment)
    return replace(record, route_form=form(traces) or "", traces=dict(traces))


def record_of_source(version: str, runner: str, found: tuple[ReadRunner, ...]) -> Record:
    """The record of a runner that has just been read."""
    name = ", ".join(each.name for each in found)
    release = catalogue.release(version)
    versions = {"vllm_omni": version, "vllm": release.vllm} if release else {}
    environment = Environment(runner=name, **versions)
    return replace(_made_today(version, runner, "read", by_reading.judge(found), environment), source=found)


def unrunnable(version: str, runner: str, reason: str) -> Record:
    """The record of a target that could not be run, with the reason in every cell of a promise."""
    cells = {clause: Cell(clause, "not-runnable", message=reason) for clause in RECORDED}
    return _made_today(version, runner, "run", {**_elsewhere(), **cells}, Environment())


def _made_today(version: str, runner: str, how: str, cells: dict[str, Cell], environment: Environment) -> Record:
    release = catalogue.release(version)
    return Record(
        vllm_omni=version,
        vllm=release.vllm if release else environment.vllm,
        runner=runner,
        how=how,
        recorded=date.today().isoformat(),
        made_with=ingredients(version, how, runner),
        cells=cells,
        environment=environment,
    )


def _elsewhere() -> dict[str, Cell]:
    """Every clause in its order, and a cell for those that are no matter of a target: they are run on their pages."""
    return {
        each.id: Cell(each.id, "not-applicable", message=f"a {each.kind}: it is run on its page")
        for each in CLAUSES.values()
    }


def write(record: Record) -> bool:
    """Both files, each whole or not at all. Whether anything but the date is new; if nothing is, they stay."""
    RESULTS.mkdir(exist_ok=True)
    packed = _packed(record.traces)
    if record.path.is_file() and (not packed or packed == content(record.traces_path)):
        before = content(record.path).decode(errors="replace")
        if _undated(before) == _undated(as_text(record)):
            return False
    if packed:
        write_whole(record.traces_path, packed)
    write_whole(record.path, as_text(record))
    return True


def _packed(traces: Mapping[str, Trace]) -> bytes:
    """The content of a file of traces: equal traces give equal bytes. What ran them stands in the text file."""
    lines = "".join(
        f"{digest} {replace(trace, environment=Environment()).to_json()}\n" for digest, trace in sorted(traces.items())
    )
    return lzma.compress(lines.encode()) if lines else b""


def content(path: Path) -> bytes:
    """A file's bytes; none where it is not there."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _undated(text: str) -> str:
    return re.sub(r"^recorded = .*$", "", text, flags=re.MULTILINE)


def as_text(record: Record) -> str:
    """The text file: TOML, a line a clause, so that a change in behaviour is a line in a diff."""
    cells = [record.cells[clause] for clause in RECORDED]
    lines = [
        "# Written by phase-contract matrix --record. A line that changes is a behaviour that changed.",
        f"vllm_omni = {_quoted(record.vllm_omni)}",
        f"vllm = {_quoted(record.vllm)}",
        f"runner = {_quoted(record.runner)}",
        f"runner_class = {_quoted(record.environment.runner)}",
        f"producer = {_quoted(record.environment.preprocess_from)}",
        f"mtp_caller = {_quoted(record.environment.mtp_from)}",
        f"how = {_quoted(record.how)}",
        f"recorded = {_quoted(record.recorded)}",
        f"route_form = {_quoted(record.route_form)}",
        f"torch = {_quoted(record.environment.torch)}",
        f"python = {_quoted(record.environment.python)}",
        "",
        "[made_with]",
        *(f"{name} = {_quoted(value)}" for name, value in record.made_with.items()),
        "",
        "[verdicts]",
        *(f"{cell.clause} = {_quoted(cell.verdict)}" for cell in cells),
        "",
        "[evidence]",
        *(f"{cell.clause} = {_quoted(cell.evidence)}" for cell in cells if cell.evidence),
        "",
        "[messages]",
        *(f"{cell.clause} = {_quoted(cell.message)}" for cell in cells if cell.message),
        *(line for runner in record.source for line in _source_lines(runner)),
    ]
    return "\n".join(lines) + "\n"


def _source_lines(runner: ReadRunner) -> list[str]:
    """What was read of one class."""
    return [
        "",
        "[[source]]",
        f"name = {_quoted(runner.name)}",
        f"path = {_quoted(runner.path)}",
        f"platform = {_quoted(runner.platform)}",
        f"bases = {_list(runner.bases)}",
        f"preprocess = {_place(runner.preprocess)}",
        f"mtp = {_place(runner.mtp)}",
        f"outside = {_list(runner.outside)}",
        f"keys = {_list(runner.keys)}",
        f"guards = {_list(f'{guard.line}: {guard.text}' for guard in runner.guards)}",
        f"ask_for_prefill = {json.dumps([guard.asks_for_prefill for guard in runner.guards])}",
    ]


def _source(entry: dict[str, Any]) -> ReadRunner:
    guards = [
        (text.partition(": "), asks) for text, asks in zip(entry["guards"], entry["ask_for_prefill"], strict=True)
    ]
    return ReadRunner(
        name=entry["name"],
        path=entry["path"],
        platform=entry["platform"],
        bases=tuple(entry["bases"]),
        outside=tuple(entry["outside"]),
        keys=tuple(entry["keys"]),
        guards=tuple(Guard(text, int(line), asks) for (line, _, text), asks in guards),
        preprocess=Definition(*entry["preprocess"]) if entry["preprocess"] else None,
        mtp=Definition(*entry["mtp"]) if entry["mtp"] else None,
    )


def _place(found: Definition | None) -> str:
    return json.dumps([found.cls, found.path, found.line] if found else [])


def _list(items: Iterable[str]) -> str:
    return json.dumps(list(items), ensure_ascii=False)


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
            cells={**_elsewhere(), **cells},
            environment=Environment(
                vllm_omni=data["vllm_omni"],
                vllm=data["vllm"],
                torch=data["torch"],
                python=data["python"],
                runner=data["runner_class"],
                preprocess_from=data["producer"],
                mtp_from=data["mtp_caller"],
            ),
            route_form=data["route_form"],
            source=tuple(_source(entry) for entry in data.get("source", ())),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path.name}: not a recorded result: {error}") from error


def traces_of(record: Record) -> dict[str, Trace]:
    """The traces that a record was judged on, without what ran them: traces that are equal are the same object.

    Raises ``ValueError`` where they are missing or damaged.
    """
    path = record.traces_path
    try:
        return {digest: _decoded(text) for digest, text in _lines(path).items()}
    except ValueError as error:
        raise ValueError(f"{path.name}: not recorded traces: {error}") from error


def _lines(path: Path) -> dict[str, bytes]:
    """Each recorded trace as text, by the digest of its scenario. Raises ``ValueError``."""
    try:
        lines = [line.partition(b" ") for line in lzma.decompress(path.read_bytes()).splitlines()]
        found = {digest.decode(): text for digest, _, text in lines}
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise ValueError(str(error)) from error
    if not found:
        raise ValueError("there are none in it")
    return found


@cache
def _decoded(text: bytes) -> Trace:
    return Trace.from_json(text)


def recorded_trace(version: str, runner: str, scenario: Scenario) -> Trace | None:
    """The committed trace of a scenario on a release's runner; ``None`` where there is none that is valid."""
    path = RESULTS / f"{version}-{runner}.toml"
    environment, lines = _valid_lines(path) if path.is_file() else (Environment(), {})
    text = lines.get(scenario.digest)
    try:
        return replace(Trace.from_json(text), environment=environment) if text else None
    except ValueError:
        return None


@lru_cache(maxsize=4)
def _valid_lines(path: Path) -> tuple[Environment, dict[str, bytes]]:
    try:
        record = read(path)
        if record.is_stale or record.how != "run":
            return Environment(), {}
        return record.environment, _lines(record.traces_path)
    except ValueError:
        return Environment(), {}


def _quoted(text: str) -> str:
    """A basic TOML string; JSON's escapes are a subset of TOML's."""
    return json.dumps(text, ensure_ascii=False)
