"""What is left of a worker whose check was killed: no process, and no folder that the next one does not remove."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from spec_examples.targets import scratch

STARTS_ONE = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
print(child.pid, flush=True)
time.sleep(600)
"""
ENDS_WITH_PARENT = """
import time
from spec_examples.targets.worker import end_with_parent
end_with_parent()
time.sleep(600)
"""
HOLDS_A_FOLDER = """
import time
from spec_examples.targets import scratch
print(scratch.folder(), flush=True)
time.sleep(600)
"""
WITHIN_S = 300


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_worker_ends_with_the_process_that_started_it():
    parent = subprocess.Popen([sys.executable, "-c", STARTS_ONE, ENDS_WITH_PARENT], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    time.sleep(2)
    assert not has_ended(child)
    parent.kill()
    parent.wait()
    until = time.monotonic() + WITHIN_S
    while not has_ended(child) and time.monotonic() < until:
        time.sleep(0.1)
    assert has_ended(child)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_folder_of_a_killed_worker_is_removed_by_the_next_and_that_of_a_living_one_stays(temporary):
    killed, living = (
        subprocess.Popen([sys.executable, "-c", HOLDS_A_FOLDER], stdout=subprocess.PIPE, text=True) for _ in range(2)
    )
    try:
        left, used = (process.stdout.readline().strip() for process in (killed, living))
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert os.path.isdir(left)
        scratch.remove_left_behind()
        assert not os.path.exists(left)
        assert os.path.isdir(used)
    finally:
        living.kill()
        living.wait()


def test_a_folder_that_is_not_ours_stays(temporary):
    other = temporary / f"{scratch.PREFIX}other"
    other.mkdir()
    scratch.remove_left_behind()
    assert other.is_dir()
