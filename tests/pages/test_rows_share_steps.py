"""The rows of a table share their steps. What is red is what was red where each row had steps of its own."""

import re
import zlib
from collections import Counter
from dataclasses import astuple, replace

import pytest

from spec_examples.execution.page import PageExecution
from spec_examples.execution.tables import placements
from spec_examples.execution.together import HOOKS, MOST, Numbers, Rows, _steps
from spec_examples.markdown import read
from spec_examples.running import forced
from spec_examples.scenario import MAX_LEN
from spec_examples.targets import Session, Target, TargetFailed
from spec_examples.trace import Trace

HEADER = (
    "| Prompt length | Computed before step | Scheduled span | Phase | Runner MTP eligible |\n" + "| --- " * 5 + "|\n"
)
RIGHT = (
    "5 | 0 | 4 | Prefill | No",
    "5 | 4 | 1 | Prefill tail | No",
    "5 | 5 | 1 | Decode | Yes",
    "5 | 5 | 2 | Decode | No",
)


class Counting(Session):
    """Lends another session's worker, counts the steps that were run, and may change what comes back."""

    def __init__(self, lender, change=lambda scenario, trace: trace):
        super().__init__()
        self.lender, self.change, self.scenarios = lender, change, []

    def run(self, scenario, target=None, mutant=""):
        self.scenarios.append(scenario)
        return self.change(scenario, self.lender.run(scenario, target, mutant))

    def environment(self, target):
        return self.lender.environment(target)


@pytest.fixture
def execute(tmp_path, session):
    """``execute(*rows)``: the results of a page with one table, and the session that it ran on."""

    def page(*rows, change=lambda scenario, trace: trace):
        path = tmp_path / "page.md"
        path.write_text("# Page\n\n" + HEADER + "".join(f"| {row} |\n" for row in rows), encoding="utf-8")
        counting = Counting(session, change)
        execution = PageExecution(read(path), counting, Target())
        return [execution.evaluate(example) for example in execution.page.examples], counting, execution

    return page


def steps(counting):
    return sum(len(scenario.steps) for scenario in counting.scenarios)


def of_shared(scenario):
    return any(row.request == "alone0" for row in scenario.steps[0])


PREFILL, DECODE = Numbers(9, 0, 2), Numbers(5, 5, 1)


@pytest.mark.parametrize("decode", [0, 1, 2, 7])
@pytest.mark.parametrize("prefill", [0, 1, 2, 7])
def test_each_row_is_alone_and_at_two_places_through_each_hook_and_at_four_in_all(prefill, decode):
    rows = Rows((PREFILL,) * prefill + (DECODE,) * decode)
    if not rows.numbers:
        return
    places = {number: [Counter(), Counter()] for number in range(len(rows.numbers))}
    for turn in range(len(HOOKS)):
        for step in _steps(rows.numbers, turn):
            for number, row in step:
                if number is not None:
                    places[number][turn][re.sub(r"\d+(mtp)?", "", row.request)] += 1
    for seen in places.values():
        assert [found["alone"] for found in seen] == [1, 1]
        assert [len(found) for found in seen] == [3, 3] or len(seen[0]) == 5 == len(seen[1])
        assert set(seen[0] + seen[1]) == {"alone", "middle", "last", "first", "second"}


@pytest.mark.parametrize("turn", [0, 1])
def test_what_a_step_has_to_have_for_a_defect_to_be_seen(turn):
    """One row that takes MTP beside those that do not; a decode row first and last; groups that no name sorts."""
    for step in _steps((PREFILL,) * 4, turn)[4:]:
        assert [row[:3] for row in map(astuple, (row for _, row in step))].count((3, 4, 1)) == 1
    first, last = zip(*[(step[0][1], step[-1][1]) for step in _steps((PREFILL, PREFILL), turn)[2:]], strict=True)
    assert "decode" in first[0].request
    assert "decode" in last[1].request
    groups = [("first0mtp", "decodes0mtp"), ("second0mtp", "decoded0mtp")]
    names = [row.request for _, row in _steps((DECODE, DECODE), turn)[-1]]
    for one, other in groups:
        assert one > other
        assert names.index(one) + 1 == names.index(other)


def test_any_two_rows_have_room_and_no_two_requests_of_a_run_are_taken_for_one_another():
    for longest in (Numbers(MAX_LEN, 0, MAX_LEN), Numbers(1, 0, MAX_LEN)):
        scenario = Rows((longest,) * MOST).scenario(HOOKS[0])
        assert max(sum(row.span for row in step) for step in scenario.steps) <= scenario.limits.budget
        assert max(len(step) for step in scenario.steps) <= scenario.limits.sequences
    runs = [(PREFILL,) * MOST, (DECODE,) * MOST]
    names = {row.request for run in runs for step in Rows(run).scenario(HOOKS[0]).steps for row in step}
    assert len({zlib.crc32(name.encode()) % 65_521 for name in names}) == len(names)


def test_rows_that_are_right_take_two_runs_and_leave_no_trace(execute):
    results, counting, execution = execute(*RIGHT * 5)
    assert {result.outcome for result in results} == {"passed"}
    assert [of_shared(scenario) for scenario in counting.scenarios] == [True, True]
    assert execution.context.made == []
    assert execution.exercised.steps == steps(counting)


def test_a_wrong_cell_says_what_it_says_where_the_row_stands_alone_in_its_table(execute):
    wrong = "9 | 8 | 1 | Decode | No"
    (alone,), *_ = execute(wrong)
    many, counting, _ = execute(*RIGHT * 5, wrong, *RIGHT)
    (red,) = [result for result in many if result.outcome != "passed"]
    assert red.message == "cell 'Phase': the page says Decode, the runner says Prefill tail (alone, scalar hook)"
    assert replace(red, id=alone.id, line=alone.line) == alone
    assert [scenario for scenario in counting.scenarios if not of_shared(scenario)] == [
        forced(placements(9, 8, 1), "scalar")
    ]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("x | 0 | 1 | Prefill | No", "cell 'Prompt length': 'x' is not a whole number"),
        ("5 | 0 | 0 | Prefill | No", "cell 'Scheduled span': 0 is below 1, the smallest that the scheduler gives"),
        ("5 | 0 | 1 | Tail | No", "cell 'Phase': 'Tail' is none of Prefill, Prefill tail, Decode"),
        ("5 | 120 | 9 | Decode | No", "row (5, 120, 9) exceeds 128 tokens"),
    ],
)
def test_a_row_that_cannot_be_asked_disturbs_no_other(execute, bad, said):
    results, *_ = execute(RIGHT[0], bad, *RIGHT[1:])
    assert [result.outcome for result in results] == ["passed", "error", *["passed"] * 3]
    assert results[1].message == said


def test_a_row_that_is_right_by_itself_alone_is_red_and_shows_the_step(execute):
    def codes_are_lost(scenario, trace):
        if not of_shared(scenario):
            return trace
        first = next(i for i, step in enumerate(trace.steps) if "alone2" in step.codes)
        changed = [replace(step, codes={}) if i == first else step for i, step in enumerate(trace.steps)]
        return replace(trace, steps=tuple(changed))

    results, *_ = execute(*RIGHT, change=codes_are_lost)
    assert [result.outcome for result in results] == ["passed", "passed", "failed", "passed"]
    assert "none were stored (beside other rows of its table, scalar hook)" in results[2].message
    assert results[2].clauses == ("ROUTE-4",)
    assert "alone2 (prompt 5, computed 5, span 1)" in results[2].detail
    assert [shown.clause for shown in results[2].shown] == ["ROUTE-4"]


@pytest.mark.parametrize("none", [True, False], ids=["no row", "one row"])
def test_what_a_row_between_them_shows_is_red_for_both_unless_one_shows_it_by_itself(execute, none):
    def codes_are_lost(scenario, trace):
        lost = "decode0" if of_shared(scenario) else "decode2"
        tail = (5, 4, 1) in [(row.prompt_len, row.computed, row.span) for row in scenario.steps[0]]
        if not of_shared(scenario) and (none or not tail):
            return trace
        changed = [replace(step, codes={}) if lost in step.codes else step for step in trace.steps]
        return replace(trace, steps=tuple(changed))

    results, *_ = execute(*RIGHT, change=codes_are_lost)
    assert [result.outcome for result in results] == ["failed" if none else "passed", "failed", "passed", "passed"]


def test_what_stops_the_shared_run_alone_is_red_for_the_rows_of_that_step(execute):
    def stops(scenario, trace):
        return (
            replace(trace, steps=trace.steps[:2], error="RuntimeError: no", error_at="runner")
            if of_shared(scenario)
            else trace
        )

    results, *_ = execute(*RIGHT, change=stops)
    assert [result.outcome for result in results] == ["passed", "failed", "passed", "passed"]
    assert results[1].message == "RuntimeError: no"


def test_a_runner_that_dies_of_the_shared_run_alone_passes_no_row(execute):
    def dies(scenario, trace):
        if of_shared(scenario):
            raise TargetFailed("the process ended with SIGSEGV")
        return trace

    results, *_ = execute(*RIGHT, change=dies)
    assert {(result.outcome, result.message) for result in results} == {("failed", "the process ended with SIGSEGV")}


def test_nothing_is_shown_by_runs_in_which_nothing_happened(execute):
    results, *_ = execute(*RIGHT, change=lambda scenario, trace: Trace())
    assert {result.outcome for result in results} == {"failed"}
