"""The whole Model Runner V2 is asked for by name; where it cannot be run, that is one line. No runner is imported."""

import sys

import pytest

from spec_examples.scenario import CONTROL
from spec_examples.targets import Session, TargetUnavailable, resolve, session
from spec_examples.targets.target import WHOLE_V2
from spec_examples.targets.whole_v2 import interpreter


@pytest.fixture
def no_triton(tmp_path, monkeypatch):
    """Neither this environment nor that of ``make e2e`` has Triton."""
    monkeypatch.setattr(interpreter, "has_triton", lambda: False)
    monkeypatch.setattr(interpreter, "E2E", tmp_path / "bin" / "python")


def test_without_triton_it_is_one_line_that_says_what_has_it(no_triton):
    with Session() as asked, pytest.raises(TargetUnavailable) as refused:
        asked.run(CONTROL, resolve(runner=WHOLE_V2))
    assert str(refused.value) == (
        "the whole Model Runner V2 needs Triton, which this environment lacks: `make e2e` sets up one that has it"
    )


def test_the_environment_of_make_e2e_is_taken_where_this_one_has_no_triton(no_triton, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    assert interpreter.with_triton() == str(tmp_path / "bin" / "python")


def test_an_environment_with_triton_runs_it_itself(monkeypatch):
    monkeypatch.setattr(interpreter, "has_triton", lambda: True)
    assert interpreter.with_triton() == sys.executable


def test_a_vllm_omni_without_it_is_one_line(tmp_path):
    (tmp_path / "vllm_omni").mkdir()
    (tmp_path / "vllm_omni" / "__init__.py").touch()
    with Session() as asked, pytest.raises(TargetUnavailable, match=r"has no Model Runner V2, which came with 0\.30"):
        asked.run(CONTROL, resolve(str(tmp_path), WHOLE_V2))


def test_it_has_a_process_and_kept_traces_of_its_own():
    step, whole = resolve("0.30.0", "v2"), resolve("0.30.0", WHOLE_V2)
    assert session._process_of(step) != session._process_of(whole)
    assert session._trace_file(CONTROL, step) != session._trace_file(CONTROL, whole)
    assert session.harness_digest("v2") == session.harness_digest("ar") != session.harness_digest(WHOLE_V2)
