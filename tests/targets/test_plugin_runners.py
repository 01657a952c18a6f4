"""A runner that goes wrong costs its own run, in one line; the next scenario has a process of its own again."""

from dataclasses import replace
from pathlib import Path

import pytest

from spec_examples.scenario import Limits, Request, Scenario
from spec_examples.targets import Session, TargetFailed, TargetUnavailable, resolve
from spec_examples.targets.bounds import Bounds

CONFORM, RAISE, PRINT, EXIT, HANG, EAT = range(3, 9)
"""What ``plugin_runners.Plugin`` does at each length of prompt."""


@pytest.fixture(scope="module")
def plugins():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        with Session(bounds=Bounds(scenario_s=300, memory_mib=4096)) as session:
            yield session


def runner(name):
    return resolve(runner=f"plugin_runners:{name}")


def prompt(length):
    return Scenario(requests=(Request(length),), limits=Limits(budget=4))


def one_line(caught):
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith("vLLM-Omni installed")
    return line


def test_a_conforming_runner_gives_the_shared_runners_trace(plugins, session):
    ours, shared = plugins.run(prompt(CONFORM), runner("Plugin")), session.run(prompt(CONFORM))
    assert ours.steps == shared.steps
    assert (ours.environment.runner, ours.environment.preprocess_from) == ("Plugin", "OmniGPUModelRunner")


def test_what_a_runner_prints_and_reads_does_not_reach_its_answers(plugins):
    trace = plugins.run(prompt(PRINT), runner("Plugin"))
    assert (len(trace.steps), trace.error) == (4, None)


def test_a_runner_that_raises_ends_its_trace_and_nothing_else(plugins):
    trace = plugins.run(prompt(RAISE), runner("Plugin"))
    assert trace.error is not None
    assert trace.error.startswith("RuntimeError: lost a row")
    assert plugins.run(prompt(CONFORM), runner("Plugin")).error is None


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (EXIT, "the process ended with status 7"),
        (HANG, "no answer within 3 s"),
        (EAT, "out of memory"),
    ],
)
def test_after_the_control_the_target_has_failed(plugins, how, reason):
    """Each starts in a new process, the one before having ended the last."""
    assert plugins.run(prompt(CONFORM), runner("Plugin")).error is None
    if how == HANG:
        (worker,) = plugins._workers.values()
        worker.bounds = replace(worker.bounds, scenario_s=3)
    with pytest.raises(TargetFailed) as caught:
        plugins.run(prompt(how), runner("Plugin"))
    assert reason in one_line(caught)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("RaisesEarly", "the runner could not be constructed: RuntimeError: no such device"),
        ("ExitsEarly", "status 3: going away, before the control had finished"),
        ("NOT_A_CLASS", "NOT_A_CLASS in plugin_runners is no class"),
    ],
)
def test_before_the_control_the_question_cannot_be_put(plugins, name, reason):
    for _ in range(2):  # the second time from memory
        with pytest.raises(TargetUnavailable) as caught:
            plugins.run(prompt(CONFORM), runner(name))
        assert reason in one_line(caught)


def test_a_runner_name_that_is_none_is_refused():
    with pytest.raises(TargetUnavailable, match=r"write ar, generation, v2, v2-whole, or package\.module:Class"):
        resolve(runner="gpu")


@pytest.mark.parametrize("text", ["much", "0", "-1"])
def test_a_bound_that_is_no_number_above_zero_is_refused(monkeypatch, text):
    monkeypatch.setenv("PHASE_CONTRACT_SCENARIO_S", text)
    with pytest.raises(TargetUnavailable, match=f"PHASE_CONTRACT_SCENARIO_S='{text}': write a number"):
        Session()
