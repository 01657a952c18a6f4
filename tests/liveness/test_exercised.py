"""Nothing passes because nothing happened: what the pages and the suite exercise has to reach these numbers."""

from collections import Counter
from pathlib import Path

import pytest

from spec_examples.conformance import record as recorded
from spec_examples.conformance.suite import SUITE
from spec_examples.exercised import Exercised, exercised, in_json, in_words
from spec_examples.gate.check import check, find_pages
from spec_examples.mutants.session import DefectSession
from spec_examples.running import forced
from spec_examples.scenario import Limits, Request, Row, Scenario
from spec_examples.targets import Session, Target

CONTRACT = Path(__file__).parents[2] / "docs" / "contract"

AT_LEAST = {
    "rows": {"prefill 1": 60, "prefill 2": 10, "prefill 4": 20, "decode 1": 200, "decode 2": 8, "decode 3": 3},
    "mtp": {1: 80, 2: 40, 3: 3},
    "hooks": {"preprocess": 250, "preprocess_decode_batch": 80},
    "orders": 12,
    "kept": 150,
    "taken": 180,
}
"""What one run of the contract's pages and one of the suite each exercise at the very least: about two thirds of it."""


def missing(found: Exercised) -> list[str]:
    """What stays below ``AT_LEAST``."""
    seen = {"rows": found.rows, "mtp": found.mtp, "hooks": found.hooks}
    low = [
        f"{name} {each}: {seen[name][each]} of {least}"
        for name in seen
        for each, least in AT_LEAST[name].items()
        if seen[name][each] < least
    ]
    numbers = {"orders": len(found.orders), "kept": found.kept, "taken": found.taken}
    return low + [f"{name}: {n} of {AT_LEAST[name]}" for name, n in numbers.items() if n < AT_LEAST[name]]


def pages_on(session: Session) -> Exercised:
    return check(find_pages([str(CONTRACT)]), session, Target()).exercised


def suite_on(session: Session) -> Exercised:
    return exercised(session.run(scenario) for case in SUITE for scenario in case.scenarios)


@pytest.mark.parametrize("run", [pages_on, suite_on])
def test_a_full_run_exercises_enough(run, session):
    found = run(session)
    assert missing(found) == [], in_words(found)


@pytest.mark.parametrize("run", [pages_on, suite_on])
def test_with_mtp_off_everywhere_it_does_not(run, session):
    low = missing(run(DefectSession(session, Target(), "mtp-never", {})))
    assert {"mtp 1: 0 of 80", "mtp 2: 0 of 40", "taken: 0 of 180"} <= set(low)


def test_what_is_recorded_of_each_release_exercises_enough():
    """The AR runner, since the batched hook came: without it no batch of MTP is as large as with it."""
    records = [record for record in recorded.read_all() if record.how == "run" and record.runner == "ar"]
    with_hook = [record for record in records if record.cells["HOOK-2"].verdict != "not-applicable"]
    assert len(with_hook) > 10
    for record in with_hook:
        assert missing(exercised(recorded.traces_of(record).values())) == [], record.name


def test_what_is_counted(session):
    trace = session.run(forced([[Row(5, 0, 4), Row(5, 5, 1), Row(5, 6, 1)], [Row(5, 4, 1)]], "batched"))
    found = exercised([trace, trace])
    assert found.steps == 4
    assert found.rows == Counter({"prefill 4": 2, "decode 1": 4, "prefill 1": 2})
    assert found.mtp == Counter({2: 2})
    assert found.hooks["preprocess"] == found.hooks["preprocess_decode_batch"] == 4
    assert found.orders == {("prefill", "decode", "decode")}
    assert (found.kept, found.taken) == (4, 4)
    assert exercised([trace]) + exercised([trace]) == found


def test_the_words_and_the_json_say_the_same(session):
    found = exercised([session.run(Scenario(requests=(Request(5), Request(1)), limits=Limits(budget=4)))])
    words, report = in_words(found), in_json(found)
    assert words.startswith(f"exercised: {report['steps']} steps; rows by phase and span: 4 decode 1, 2 prefill 1, ")
    assert report["rows"] == {"decode 1": 4, "prefill 1": 2, "prefill 4": 1}
    assert "\n" not in words
    assert in_words(exercised([])) == "exercised: nothing"
