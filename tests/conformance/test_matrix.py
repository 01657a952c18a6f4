"""The matrix as it is run: what cannot be fetched is one line, a runner that stops costs its own cells."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spec_examples.conformance import by_reading, matrix
from spec_examples.conformance import record as recorded
from spec_examples.conformance.suite import SUITE, in_words
from spec_examples.conformance.verdicts import judge_target
from spec_examples.contract.clauses import CLAUSES, PROMISES
from spec_examples.gate.cli import main
from spec_examples.targets import Target, TargetFailed, TargetUnavailable
from spec_examples.targets.reading import Definition, Guard, ReadRunner
from spec_examples.targets.whole_v2 import interpreter
from spec_examples.trace import PHASE_KEYS, Environment, Trace


@pytest.fixture
def no_network(tmp_path, monkeypatch):
    """An empty cache, and an index that does not answer."""
    monkeypatch.setenv("PHASE_CONTRACT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_INPUT", "1")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)


def test_without_a_network_a_release_that_is_not_at_hand_is_one_line(no_network, capsys):
    assert main(["matrix", "--release", "0.20.0", "--runner", "ar", "--live"]) == 2
    lines = [line for line in capsys.readouterr().out.splitlines() if "could not be downloaded" in line]
    assert len(lines) == 1
    assert lines[0].startswith("vLLM-Omni 0.20.0 is not installed and could not be downloaded: ")


def test_without_a_network_what_is_recorded_is_still_there(no_network, capsys):
    assert main(["matrix"]) == 0
    assert "0.32.0rc1" in capsys.readouterr().out


def test_a_release_that_could_not_be_fetched_leaves_its_record_alone(no_network, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(recorded, "RESULTS", tmp_path / "results")
    assert main(["matrix", "--release", "0.20.0", "--runner", "ar", "--record"]) == 2
    assert not list(tmp_path.glob("results/*"))


@pytest.fixture
def no_triton(tmp_path, monkeypatch):
    monkeypatch.setattr(interpreter, "has_triton", lambda: False)
    monkeypatch.setattr(interpreter, "E2E", tmp_path / "python")


def test_the_whole_v2_is_left_as_recorded_where_it_cannot_be_run(no_triton, monkeypatch, capsys):
    """All that can be run is run all the same; who asks for the whole V2 alone is told that it was not."""
    asked = []
    monkeypatch.setattr("spec_examples.gate.commands.matrix.run_all", lambda targets, **_: asked.extend(targets) or [])
    assert main(["matrix", "--live", "--release", "0.30.0"]) == 0
    assert [target.runner for target in asked] == ["ar", "generation", "v2", "npu", "xpu"]
    assert "v2-whole: left as recorded, since it needs Triton; `make e2e` sets up" in capsys.readouterr().err


def test_who_asks_for_the_whole_v2_without_triton_gets_one_line(no_triton, capsys):
    assert main(["matrix", "--live", "--release", "0.30.0", "--runner", "v2-whole"]) == 2
    assert "the whole Model Runner V2 needs Triton" in capsys.readouterr().out


def test_what_was_not_run_is_not_written(tmp_path, monkeypatch):
    """One result is stale and one was edited by hand; the first is renewed, and the other stays as it was found."""
    for name in ("0.30.0-npu", "0.30.0-xpu"):
        shutil.copy(recorded.RESULTS / f"{name}.toml", tmp_path)
    monkeypatch.setattr(recorded, "RESULTS", tmp_path)
    stale, edited = tmp_path / "0.30.0-npu.toml", tmp_path / "0.30.0-xpu.toml"
    fresh = stale.read_text()
    stale.write_text(fresh.replace('reader = "', 'reader = "0'))
    edited.write_text(edited.read_text().replace('FIELD-1 = "passed"', 'FIELD-1 = "failed"'))
    before = edited.read_bytes()
    record = recorded.read(stale)
    monkeypatch.setattr(
        matrix, "renew", lambda version, runners, say: [recorded.record_of_source(version, "npu", record.source)]
    )
    assert main(["matrix", "--release", "0.30.0", "--runner", "npu", "--runner", "xpu", "--record"]) == 0
    assert undated(stale.read_text()) == undated(fresh)
    assert edited.read_bytes() == before


def test_a_live_verdict_that_is_not_the_recorded_one_is_named(monkeypatch, capsys):
    """Nothing is stale, and the runner does something else all the same."""
    committed = recorded.read(recorded.RESULTS / "0.30.0-ar.toml")
    stopped = dict.fromkeys(recorded.traces_of(committed), Trace(error="MemoryError: all of it"))
    was_run = recorded.record_of("0.30.0", "ar", stopped)
    monkeypatch.setattr("spec_examples.gate.commands.matrix.run_all", lambda targets, **_: [committed])
    assert main(["matrix", "--release", "0.30.0", "--runner", "ar", "--live"]) == 0
    monkeypatch.setattr("spec_examples.gate.commands.matrix.run_all", lambda targets, **_: [was_run])
    capsys.readouterr()
    assert main(["matrix", "--release", "0.30.0", "--runner", "ar", "--live"]) == 1
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "FIELD-1 is recorded as" in line)
    assert line.startswith(
        "vLLM-Omni 0.30.0, runner ar: FIELD-1 is recorded as 'passed; split prompt', and was 'failed;"
    )
    assert "phase-contract matrix --record writes it" in line


def undated(text):
    return [line for line in text.splitlines() if not line.startswith("recorded =")]


def test_two_at_once_download_once_and_do_not_disturb_each_other(tmp_path):
    """The lock is the operating system's: one unpacks, the other waits and finds it whole."""
    program = (
        "import sys, time, os\n"
        "from pathlib import Path\n"
        "from spec_examples.targets import catalogue, install\n"
        "def download(name, requirements, wheels):\n"
        "    wheels.mkdir()\n"
        "    Path(sys.argv[1], f'{os.getpid()}').touch()\n"
        "    time.sleep(0.5)\n"
        "def unpack(wheels, folder):\n"
        "    folder.mkdir()\n"
        "    (folder / 'a.py').write_text('1')\n"
        "    (folder / install.MANIFEST).write_text('{\"a.py\": 1}')\n"
        "install._download, install._unpack = download, unpack\n"
        "print(install.install(catalogue.releases()[-1]))\n"
    )
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    environment = {"PHASE_CONTRACT_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(downloads)], stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(2)
    ]
    folders = {process.communicate(timeout=300)[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(folders) == len(list(downloads.iterdir())) == 1
    assert (Path(folders.pop()) / "a.py").read_text() == "1"


class Stops:
    """A session whose runner stops at some scenarios."""

    def __init__(self, error, at):
        self.error, self.at, self.asked = error, at, 0

    def environment(self, target):
        return Environment(vllm_omni="0.30.0", runner="Stops", preprocess_from="OmniGPUModelRunner")

    def run_plain(self, scenario, target):
        return recorded.recorded_trace("0.30.0", "ar", scenario) or Trace()

    def run(self, scenario, target):
        self.asked += 1
        if self.at(scenario):
            raise self.error
        return recorded.recorded_trace("0.30.0", "ar", scenario) or Trace()


def test_a_runner_that_always_dies_has_failed_everything():
    record = matrix.judge_runner(Stops(TargetFailed("no answer within 60 s"), lambda _: True), Target())
    failed = {clause for clause in PROMISES if record.cells[clause].verdict == "failed"}
    assert failed == set(PROMISES) - {"HOOK-2", "ROUTE-6"}  # no row of it ever reached a batched hook
    assert "no answer within 60 s" in record.cells["FIELD-1"].message


def test_a_runner_that_dies_once_costs_that_clause_only():
    session = Stops(TargetFailed("the process ended with SIGKILL"), lambda s: s == SUITE[0].scenarios[0])
    record = matrix.judge_runner(session, Target())
    assert session.asked == sum(len(case.scenarios) for case in SUITE)
    failed = {clause for clause in PROMISES if record.cells[clause].verdict == "failed"}
    assert failed == {"ROUTE-1"}
    assert "SIGKILL" in record.cells["ROUTE-1"].message


def test_a_scenario_that_cannot_be_put_to_a_runner_counts_against_nobody():
    session = Stops(TargetUnavailable("no asynchronous scheduler"), lambda s: s.limits.async_scheduling)
    record = matrix.judge_runner(session, Target())
    assert {record.cells[clause].verdict for clause in PROMISES} == {"passed"}


def test_what_nobody_could_be_asked_is_not_runnable():
    record = matrix.judge_runner(Stops(TargetUnavailable("no scheduler"), lambda _: True), Target())
    assert record.cells["FIELD-1"].verdict == "not-runnable"


def test_every_promise_has_a_case_on_every_runner_that_runs():
    for runner in ("ar", "generation", "v2", "v2-whole"):
        record = recorded.read(recorded.RESULTS / f"0.30.0-{runner}.toml")
        assert {record.cells[clause].verdict for clause in PROMISES} <= {"passed", "failed"}


def test_no_trace_is_no_verdict():
    cells = judge_target({}, "")
    assert list(cells) == list(CLAUSES)
    assert {cell.verdict for cell in cells.values()} <= {"not-runnable", "not-applicable"}


def test_cases_have_names_of_their_own_and_words():
    assert len({case.name for case in SUITE}) == len(SUITE)
    words = [in_words(scenario) for case in SUITE for scenario in case.scenarios]
    assert len(set(words)) == len(words)
    assert not any("\n" in line for line in words)


SHARED = Definition("OmniGPUModelRunner", "vllm_omni/worker/gpu_model_runner.py", 9)
OWN = Definition("OwnModelRunner", "vllm_omni/own.py", 3)
GUARDED = Guard("span_len == 1 and (not is_prefill)", 12, True)
BARE = Guard("span_len == 1", 12, False)


def source(preprocess=SHARED, mtp=SHARED, keys=PHASE_KEYS, guards=(GUARDED,), outside=()):
    return ReadRunner("NPUARModelRunner", "npu.py", "npu", (), preprocess, mtp, outside, (), keys, guards)


@pytest.mark.parametrize(
    ("runner", "verdicts"),
    [
        (source(), {"FIELD-1": "passed", "FIELD-3": "passed", "ROUTE-2": "passed", "OWN-1": "passed"}),
        (source(keys=PHASE_KEYS[:2]), {"FIELD-2": "passed", "FIELD-3": "failed"}),
        (source(guards=(GUARDED, BARE)), {"ROUTE-2": "failed", "ROUTE-3": "failed"}),
        (source(guards=()), {"ROUTE-2": "not-runnable"}),
        (source(mtp=None), {"ROUTE-2": "not-applicable", "OWN-1": "not-applicable"}),
        (source(mtp=OWN), {"OWN-1": "not-applicable", "ROUTE-2": "passed"}),
        (source(outside=("vllm_ascend.Runner",)), {"OWN-1": "not-applicable"}),
        (source(preprocess=None, keys=()), {"FIELD-1": "failed", "ROUTE-3": "not-runnable"}),
    ],
)
@pytest.mark.clause("OWN-1")
def test_what_reading_can_say(runner, verdicts):
    cells = by_reading.judge([source(), runner])
    assert {clause: cells[clause].verdict for clause in verdicts} == verdicts
    assert cells["FIELD-6"] == by_reading.Cell("FIELD-6", "not-runnable", "", by_reading.NOT_RUN)
    assert "hardware has to validate it" in by_reading.NOT_RUN


def test_json_of_everything_has_the_stable_names(capsys):
    assert main(["matrix", "--format", "json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert len(results) == len(matrix.wanted()) * len(CLAUSES)
    assert {(r["vllm_omni"], r["runner"]) for r in results} == {(t.vllm_omni, t.runner) for t in matrix.wanted()}
    by_place = {(r["vllm_omni"], r["runner"], r["clause"]): r for r in results}
    assert by_place["0.30.0", "v2", "ROUTE-3"]["verdict"] == "failed"
    assert by_place["0.30.0", "v2", "ROUTE-3"]["known"] is True
    assert by_place["0.30.0", "npu", "FIELD-1"]["how"] == "read"


@pytest.mark.clause("ROUTE-1")
def test_the_form_of_route_1_on_each_release():
    forms = {
        record.vllm_omni: record.route_form
        for record in recorded.read_all()
        if record.runner == "ar" and record.how == "run"
    }
    assert {v: f for v, f in forms.items() if not f}.keys() == {"0.18.0", "0.20.0rc1", "0.20.0", "0.21.0rc1"}
    assert {v for v, f in forms.items() if f == "without talker_mtp"} == {"0.30.0", "0.31.0rc1"}
    assert {v for v, f in forms.items() if f == "rows may be filled by the model"} == {"0.32.0rc1"}
