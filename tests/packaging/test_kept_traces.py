"""What the pages ask of published releases comes with the package, whatever Python and torch are there."""

import pytest

from spec_examples.gate import keep
from spec_examples.probing import SPLIT_PROMPT
from spec_examples.scenario import Request, Scenario
from spec_examples.targets import Session, Target, TargetUnavailable, session
from spec_examples.targets.session import shipped_trace


@pytest.fixture
def offline(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASE_CONTRACT_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with Session() as opened:
        yield opened


def test_all_that_the_pages_ask_of_releases_is_kept():
    with keep.Asked() as asked:
        assert list(keep.missing(keep.asked_of_releases(asked))) == []


def test_a_kept_trace_needs_no_release(offline):
    trace = offline.run(SPLIT_PROMPT, Target("0.20.0"))
    assert trace.environment.vllm_omni == "0.20.0"
    assert offline.ran == {}


def test_a_scenario_that_is_not_kept_needs_the_release(offline):
    with pytest.raises(TargetUnavailable, match=r"0\.20\.0"):
        offline.run(Scenario(requests=(Request(37),)), Target("0.20.0"))


def test_a_trace_of_another_harness_is_not_taken(monkeypatch):
    assert shipped_trace(SPLIT_PROMPT, Target("0.20.0")) is not None
    monkeypatch.setattr(session, "harness_digest", lambda runner: "another")
    assert shipped_trace(SPLIT_PROMPT, Target("0.20.0")) is None
