"""What is recorded is judged anew: an edited verdict, stale traces and damage are named; nothing is run for it."""

import lzma
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import spec_examples
from spec_examples.conformance import record as recorded
from spec_examples.conformance.checked import recorded_results
from spec_examples.conformance.matrix import MATRIX_RUNNERS, Wanted, first_kept, valid, wanted
from spec_examples.execution.tables import SPLIT_PROMPT
from spec_examples.gate.cli import main
from spec_examples.targets import catalogue
from spec_examples.targets import session as sessions

RECORDED = sorted(path.stem for path in recorded.RESULTS.glob("*.toml"))
FEW = ("0.20.0-ar", "0.30.0-ar", "0.30.0-v2", "0.30.0-npu")


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A copy of a few results, in force instead of the committed ones."""
    for name in FEW:
        for path in recorded.RESULTS.glob(f"{name}.*"):
            shutil.copy(path, tmp_path)
    monkeypatch.setattr(recorded, "RESULTS", tmp_path)
    recorded._valid_lines.cache_clear()
    yield tmp_path
    recorded._valid_lines.cache_clear()


def red():
    return [(r.path.rpartition("/")[2], r.clauses, r.message) for r in recorded_results() if r.outcome != "passed"]


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, text
    path.write_text(text.replace(old, new))


def test_every_target_of_the_matrix_is_recorded_and_right():
    assert sorted(f"{target.vllm_omni}-{target.runner}" for target in wanted()) == RECORDED
    assert [str(result) for result in recorded_results() if result.outcome != "passed"] == []


def test_a_copy_is_as_green_as_what_was_copied(results):
    assert red() == []


@pytest.mark.parametrize("name", ["0.30.0-ar", "0.30.0-npu"])
def test_an_edited_verdict_is_named_with_its_line(results, name):
    path = results / f"{name}.toml"
    edit(path, 'FIELD-1 = "passed"', 'FIELD-1 = "failed"')
    wrong = [result for result in recorded_results() if result.outcome == "failed"]
    assert {result.clauses for result in wrong} == {("FIELD-1",), ()}
    one = next(result for result in wrong if result.clauses)
    assert path.read_text().splitlines()[one.line - 1] == 'FIELD-1 = "failed"'
    assert one.message.startswith("the record says failed")
    assert "passed" in one.message


def test_an_edited_reason_is_named_too(results):
    edit(results / "0.30.0-v2.toml", "prefill, but the MTP embedding reached forward", "prefill, and all is well")
    ((name, clauses, message),) = red()
    assert (name, clauses) == ("0.30.0-v2.toml", ("ROUTE-3",))
    assert "all is well" in message


def test_a_line_of_the_talker_makes_what_was_run_stale(results, monkeypatch, tmp_path_factory):
    root = Path(spec_examples.__file__).parent
    copy = tmp_path_factory.mktemp("harness") / "spec_examples"
    for name in sessions.HARNESS:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, copy / name)
    edit(
        copy / "talker.py", "PREPROCESS, MTP, MTP_HIDDEN, MTP_TEXT = 1.0", "PREPROCESS, MTP, MTP_HIDDEN, MTP_TEXT = 9.0"
    )
    sessions.harness_digest.cache_clear()
    monkeypatch.setattr(sessions, "__file__", str(copy / "targets" / "session.py"))
    try:
        ((name, _, message),) = red()
        assert valid(Wanted("0.30.0", "ar")) is None
        assert valid(Wanted("0.30.0", "npu")) is not None
    finally:
        sessions.harness_digest.cache_clear()
    assert name == "0.20.0-ar.toml"
    assert "stale: harness changed since it was recorded (and 0.30.0-ar, 0.30.0-v2)" in message
    assert "phase-contract matrix --record" in message


def test_a_divergence_that_is_gone_is_red(results, monkeypatch, tmp_path):
    monkeypatch.setenv("PHASE_CONTRACT_CACHE", str(tmp_path))  # what was proven before knew of the divergence
    monkeypatch.setattr("spec_examples.conformance.record.known", lambda *_, **__: {})
    assert {(name, line.partition(":")[2].split()[0]) for name, _, line in red() if "v2" in name} == {
        ("0.30.0-v2.toml", clause) for clause in ("ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-6")
    }


@pytest.mark.parametrize(
    "damage", [b"", b"garbage", lzma.compress(b"0 {}\n0 {"), None], ids=["empty", "garbage", "cut off", "missing"]
)
def test_damaged_traces_are_an_error_of_one_line(results, damage):
    file = results / "0.30.0-ar.traces.xz"
    file.unlink() if damage is None else file.write_bytes(damage)
    ((name, _, message),) = red()
    assert name == "0.30.0-ar.toml"
    assert "0.30.0-ar.traces.xz: not recorded traces" in message
    assert "\n" not in message


@pytest.mark.parametrize("text", ["", "vllm_omni = 1", "= =", 'vllm_omni = "0.30.0"\n'])
def test_a_damaged_result_is_an_error_of_one_line(results, text):
    (results / "0.30.0-ar.toml").write_text(text)
    ((name, _, message),) = red()
    assert name == "0.30.0-ar.toml"
    assert "not a recorded result" in message
    assert "\n" not in message


def test_a_recorded_trace_answers_while_it_is_valid(results):
    trace = recorded.recorded_trace("0.20.0", "ar", SPLIT_PROMPT)
    assert trace is not None
    assert (trace.environment.vllm_omni, len(trace.steps)) == ("0.20.0", 4)
    edit(results / "0.20.0-ar.toml", 'harness = "', 'harness = "0')
    recorded._valid_lines.cache_clear()
    assert recorded.recorded_trace("0.20.0", "ar", SPLIT_PROMPT) is None
    assert recorded.recorded_trace("0.22.0", "ar", SPLIT_PROMPT) is None


def test_writing_what_was_read_changes_nothing(results):
    for name in FEW:
        record = recorded.read(results / f"{name}.toml")
        before = record.path.read_bytes()
        traces = recorded.traces_of(record) if record.how == "run" else {}
        assert recorded.write(recorded.replace(record, traces=traces, recorded="2099-01-01")) is False
        assert recorded.as_text(record).encode() == before


def test_the_first_release_that_keeps_each_clause():
    since = first_kept(recorded.read_all())
    assert {since[clause] for clause in ("FIELD-1", "FIELD-2", "FIELD-3", "ROUTE-2", "ROUTE-3")} == {"0.22.0"}
    assert {since[clause] for clause in ("STATE-1", "STATE-2", "ROUTE-1", "ROUTE-4")} == {"0.20.0rc1"}
    assert {since[clause] for clause in ("ROUTE-5", "ROUTE-8", "OWN-1")} == {"0.18.0"}


def test_nothing_stale_imports_no_vllm(tmp_path):
    program = (
        "import sys\n"
        "from spec_examples.gate.cli import main\n"
        "status = main(['matrix', '--output', sys.argv[1]])\n"
        "assert not {'vllm', 'vllm_omni', 'torch'} & sys.modules.keys()\n"
        "sys.stdout.write(str(status))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "matrix.txt")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0"


@pytest.mark.parametrize("count", [1, 2, 3, 7, 25, 40])
def test_shards_share_the_releases_out(count):
    shards = [wanted(shard=(index, count)) for index in range(1, count + 1)]
    assert sorted(map(str, wanted())) == sorted(str(target) for shard in shards for target in shard)
    releases = [len({target.vllm_omni for target in shard}) for shard in shards]
    assert max(releases) - min(releases) <= 1


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/0"])
def test_a_shard_that_is_none_is_one_line(shard, capsys):
    assert main(["matrix", "--shard", shard]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "I" in err


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (["--shard", "1/99999"], "99999 shards for 25 releases leave some empty; N goes to 25"),
        (["--release", "0.22.0", "--shard", "2/2"], "2 shards for 1 releases leave some empty; N goes to 1"),
        (["--release", "0.22.0", "--runner", "v2"], "has such a runner: there is v2 since 0.30.0rc1"),
        (["--release", "0.19.9"], "is not in the catalogue, which has 0.11.0rc1"),
        (["--runner", "gpu"], "write ar, generation, v2, v2-whole, npu, xpu, or package.module:Class"),
        (["--release", "0.30.0", "--show", "no such case"], "the suite has: split prompt"),
        (["--release", "0.30.0", "--show", "split prompt"], "--show takes one release and one runner that is run"),
        (["--vllm-omni", "installed", "--record"], "are for the published releases"),
        (["--vllm-omni", "/no/such/folder"], "neither installed, nor a version, nor a folder"),
    ],
)
def test_what_cannot_be_asked_is_one_line(words, right, capsys):
    assert main(["matrix", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert right in err


def test_runners_are_wanted_from_the_release_that_has_them():
    runners = {}
    for target in wanted():
        runners.setdefault(target.runner, []).append(target.vllm_omni)
    assert tuple(sorted(runners)) == tuple(sorted(MATRIX_RUNNERS))
    assert runners["v2"] == ["0.30.0rc1", "0.30.0", "0.31.0rc1", "0.32.0rc1"]
    assert len(runners["ar"]) == len(runners["generation"]) == len(catalogue.releases())
    assert {target.how for target in wanted(runners=["npu", "xpu"])} == {"read"}
