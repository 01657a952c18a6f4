"""Kept traces: what is read instead of run, and what is run all the same. A worker stands in; no runner is needed."""

import os
import threading
import time

import pytest

from spec_examples.scenario import Request, Scenario, Source
from spec_examples.targets import Session, TargetUnavailable, resolve, session
from spec_examples.trace import Environment, ScheduledRow, Step, Trace

SCENARIO = Scenario(requests=(Request(5),))
RELEASE = resolve("0.22.0")


class StandIn:
    """It answers with a trace that says which of all runs it was."""

    runs = 0
    imported = alive = True

    def __init__(self, *arguments):
        self.closed = False

    def run(self, scenario, runner, *rest):
        StandIn.runs += 1
        return Trace(environment=Environment(runner=f"run {StandIn.runs}"))

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def stand_in(monkeypatch, tmp_path):
    monkeypatch.setenv("PHASE_CONTRACT_CACHE", str(tmp_path))
    monkeypatch.setattr(session, "Worker", StandIn)
    monkeypatch.setattr(session.install, "install", lambda release, say: tmp_path)
    StandIn.runs = 0


def kept(tmp_path):
    return sorted(tmp_path.rglob("traces/*/*.json"))


def test_a_published_release_is_not_run_twice(tmp_path):
    with Session() as first:
        assert not first.is_recorded(SCENARIO, RELEASE)
        trace = first.run(SCENARIO, RELEASE)
        assert first.is_recorded(SCENARIO, RELEASE)
        assert first.run(SCENARIO, RELEASE) == trace
    with Session() as second:
        assert second.run(SCENARIO, RELEASE) == trace
        assert second.ran == {}
    assert StandIn.runs == 1
    assert len(kept(tmp_path)) == 1


def test_with_once_a_scenario_is_run_once_on_a_target():
    with Session(once=True) as one:
        trace = one.run(SCENARIO)
        assert one.run(SCENARIO) is trace
        assert one.run(SCENARIO, resolve(runner="generation")) != trace
        assert one.run(SCENARIO, mutant="a-defect") != trace
        assert one.run_plain(SCENARIO, resolve()) is one.run_plain(SCENARIO, resolve())
        assert StandIn.runs == 4
        one.forget()
        assert one.run(SCENARIO) != trace


def test_a_talker_whose_file_may_change_is_run_each_time_with_once_too():
    with Session(once=True) as one:
        scenario = Scenario("some.module:Talker", requests=(Request(5),))
        assert one.run(scenario) != one.run(scenario)


def test_what_was_not_asked_for_longest_is_forgotten_first(monkeypatch):
    monkeypatch.setattr(session, "MOST_ROWS", 2)
    step = Step(rows=(ScheduledRow("a", 1, 0, 1, 0),))
    monkeypatch.setattr(StandIn, "run", lambda *_: Trace(steps=(step,)))
    first, second, third = (Scenario(requests=(Request(length),)) for length in (1, 2, 3))
    with Session(once=True) as one:
        kept = [one.run(scenario) for scenario in (first, second)]
        assert one.run(first) is kept[0]
        one.run(third)
        assert one.run(first) is kept[0]
        assert one.run(second) is not kept[1]


def test_live_runs_again_and_renews_what_is_kept():
    with Session() as first:
        first.run(SCENARIO, RELEASE)
    with Session(live=True) as live:
        assert not live.is_recorded(SCENARIO, RELEASE)
        renewed = live.run(SCENARIO, RELEASE)
        assert renewed.environment.runner == "run 2"
    with Session() as last:
        assert last.run(SCENARIO, RELEASE) == renewed


def test_live_does_not_run_again_what_ran_within_the_time_that_is_named(tmp_path):
    """One command runs all releases, and the next one of the same hour takes what it left."""
    with Session(live=True) as first:
        trace = first.run(SCENARIO, RELEASE)
    with Session(live=True, within_s=3600) as second:
        assert second.is_recorded(SCENARIO, RELEASE)
        assert second.run(SCENARIO, RELEASE) == trace
    (file,) = kept(tmp_path)
    os.utime(file, (time.time() - 3601,) * 2)
    with Session(live=True, within_s=3600) as third:
        assert not third.is_recorded(SCENARIO, RELEASE)
        assert third.run(SCENARIO, RELEASE).environment.runner == "run 2"


def test_a_change_of_the_harness_runs_again(monkeypatch):
    with Session() as first:
        first.run(SCENARIO, RELEASE)
        monkeypatch.setattr(session, "harness_digest", lambda runner: "changed")
        first.run(SCENARIO, RELEASE)
    assert StandIn.runs == 2


def test_the_harness_is_what_runs_in_the_worker():
    """Every module that a worker imports from here, apart from those that only start, bound, find or describe it.

    What stands in for missing modules, and for what old lines lack, is apart too: no release with kept traces needs it.
    """
    root = session.Path(session.__file__).parent.parent
    apart = {
        "__init__",
        "absent",
        "bisecting",
        "bounds",
        "cache",
        "catalogue",
        "client",
        "commits",
        "errors",
        "forking_worker",
        "hints",
        "inherited",
        "install",
        "kept",
        "older_lines",
        "pairing",
        "published",
        "reached",
        "reading",
        "session",
        "starting",
        "target",
        "vllm_names",
    }
    inside = {f"targets/{file.name}" for file in (root / "targets").glob("*.py") if file.stem not in apart}
    assert inside == {name for name in session.HARNESS if name.startswith("targets/")}


def test_another_scenario_talker_runner_or_release_is_another_trace(tmp_path):
    source = Source("class A: pass", "A")
    with Session() as one:
        for scenario in (
            SCENARIO,
            Scenario("batched", requests=(Request(5),)),
            Scenario(source, requests=(Request(5),)),
        ):
            one.run(scenario, RELEASE)
        one.run(SCENARIO, resolve("0.22.0", "generation"))
        one.run(SCENARIO, resolve("0.20.0"))
    assert StandIn.runs == len(kept(tmp_path)) == 5


@pytest.mark.parametrize(
    ("scenario", "target"),
    [
        (SCENARIO, resolve("0.22.0", "some.plugin:Runner")),
        (Scenario("some.module:Talker", requests=(Request(5),)), RELEASE),
    ],
)
def test_what_may_change_unseen_is_not_kept(tmp_path, scenario, target):
    with Session() as one:
        assert one.run(scenario, target) != one.run(scenario, target)
        assert not one.is_recorded(scenario, target)
    assert not kept(tmp_path)


@pytest.mark.parametrize("damage", [b"", b"{", b'{"steps": 3}', b"\xff\xfe"])
def test_a_damaged_trace_is_run_again(tmp_path, damage):
    with Session() as one:
        one.run(SCENARIO, RELEASE)
        kept(tmp_path)[0].write_bytes(damage)
        assert one.run(SCENARIO, RELEASE).environment.runner == "run 2"
        assert one.run(SCENARIO, RELEASE).environment.runner == "run 2"


def test_two_sessions_at_once_do_not_disturb_each_other(tmp_path):
    scenarios = [Scenario(requests=(Request(length),)) for length in range(1, 40)]
    failures = []

    def work():
        try:
            with Session(live=True) as one:
                for scenario in scenarios:
                    one.run(scenario, RELEASE)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(kept(tmp_path)) == len(scenarios)
    assert [file for file in tmp_path.rglob("*") if file.is_file() and file.suffix != ".json"] == []
    with Session() as after:
        for scenario in scenarios:
            after.run(scenario, RELEASE)
        assert after.ran == {}


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PHASE_CONTRACT_CACHE", str(tmp_path / "file"))
    with Session() as one:
        one.run(SCENARIO, RELEASE)
        one.run(SCENARIO, RELEASE)
    assert StandIn.runs == 2


def test_an_interrupt_ends_the_worker(monkeypatch):
    def interrupt(self, scenario, runner, *rest):
        raise KeyboardInterrupt

    with Session() as one:
        one.run(SCENARIO, resolve())
        (worker,) = one._workers.values()
        monkeypatch.setattr(StandIn, "run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            one.run(SCENARIO, resolve())
        assert worker.closed
        assert not one._workers


def test_a_runner_that_takes_the_process_with_it_is_not_asked_again_and_those_beside_it_are(monkeypatch):
    def run(self, scenario, runner, *rest):
        StandIn.runs += 1
        if runner == "ar":
            self.alive = False
            raise TargetUnavailable("it is gone")
        return Trace()

    monkeypatch.setattr(StandIn, "run", run)
    with Session() as one:
        one.run(SCENARIO, resolve(runner="generation"))
        for _ in range(2):
            with pytest.raises(TargetUnavailable, match="it is gone"):
                one.run(SCENARIO, resolve())
        one.run(SCENARIO, resolve(runner="generation"))
    assert StandIn.runs == 3


def test_a_release_that_is_only_read_is_not_run():
    with Session() as one, pytest.raises(TargetUnavailable, match=r"0\.12\.0rc1 is not run here: its source can only"):
        one.run(SCENARIO, resolve("0.12.0rc1"))
