"""Killed or interrupted at any moment: nothing half-written, no process left, and the next run is right.

`--kills N` tries N moments each; the default is few, since most are spent importing the runner.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spec_examples.conformance import record as recorded
from spec_examples.gate.cli import main
from spec_examples.mutants import record as catches
from spec_examples.running import Context
from spec_examples.targets import Target

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "spec_examples.gate.cli"]
SOON_S, LATE_S = 0.2, 6.0
"""Between which a check is stopped: while it starts, reads pages, imports the runner."""


def stopped(words, how, after_s):
    """The process of a command that got the signal ``how`` after so many seconds, and what it said."""
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(after_s)
    os.kill(process.pid, how)
    out, err = process.communicate(timeout=300)
    return process, out, err


def workers_of(pid):
    """The processes whose environment or parent names ``pid``: those that it started and that still live."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                if int((each / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(each.name))
            except (OSError, IndexError):
                continue
    return found


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_check(how, kills, tmp_path, session, capsys):
    moments = random.Random(how)
    report = tmp_path / "report.json"
    page = "docs/contract/evolution.md"
    for _ in range(kills):
        words = ["check", page, "--format", "json", "--output", str(report)]
        process, out, err = stopped(words, how, moments.uniform(SOON_S, LATE_S))
        assert process.returncode in (0, 130, -how)  # 0: it had come to its end
        if report.exists() or process.returncode == 0:  # or nearly so: what stands there is whole
            assert json.loads(report.read_text())["summary"]["failed"] == 0
            report.unlink()
        assert workers_of(process.pid) == []
        if process.returncode == 130:
            assert (out, err.splitlines()[-1]) == ("", "phase-contract: interrupted")
        for left in tmp_path.iterdir():
            assert left.name.startswith(".report.json."), left
            left.unlink()
    assert main(["check", str(ROOT / page), "--format", "json"], context=Context(session, Target())) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["failed"] == 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_matrix(how, kills, tmp_path):
    moments = random.Random(how)
    report = tmp_path / "matrix.txt"
    words = ["matrix", "--release", "0.30.0", "--output", str(report)]
    written = set()
    for _ in range(2 * kills):
        process, _, _ = stopped(words, how, moments.uniform(0, 1.5))
        assert process.returncode in (0, 130, -how)
        if report.exists() or process.returncode == 0:
            written.add(report.read_text())
            report.unlink()
    assert main(words) == 0
    assert written <= {report.read_text()}
    assert report.read_text().splitlines()[0].split() == ["FIELD", "HOOK", "STATE", "ROUTE", "OWN"]


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from spec_examples.conformance import record as recorded
from spec_examples.mutants import record as catches
folder = Path(sys.argv[1])
record = recorded.read(recorded.RESULTS / "0.30.0-ar.toml")
record = replace(record, traces=recorded.traces_of(record))
caught = catches.read_all()
recorded.RESULTS, catches.CATCHES = folder / "results", folder / "catches"
print("writing", flush=True)
for number in range(10**6):
    torch = f"2.{number}"
    recorded.write(replace(record, environment=replace(record.environment, torch=torch)))
    for each in caught:
        catches.write(replace(each, torch=torch))
"""


def test_what_is_recorded_is_whole_whenever_its_writer_is_killed(kills, tmp_path, monkeypatch):
    moments = random.Random(0)
    (tmp_path / "results").mkdir()
    (tmp_path / "catches").mkdir()
    for _ in range(4 * kills):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"writing\n"
        time.sleep(0.3 + moments.uniform(0, 0.3))
        writer.kill()
        writer.wait()
        monkeypatch.setattr(recorded, "RESULTS", tmp_path / "results")
        monkeypatch.setattr(catches, "CATCHES", tmp_path / "catches")
        record = recorded.read(tmp_path / "results" / "0.30.0-ar.toml")
        assert len(recorded.traces_of(record)) > 20
        for caught in catches.read_all():
            assert len(caught.caught) > 10
