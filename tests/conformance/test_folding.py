"""One fault is reported as one clause; what follows from it is named as that."""

import pytest

from spec_examples.conformance.folding import Seen, folded

AT = {"run": 0, "step": 2, "request": "a"}


def test_a_wrong_flag_explains_where_its_row_was_sent():
    seen = [Seen("FIELD-3", **AT), Seen("ROUTE-1", **AT), Seen("ROUTE-2", **AT), Seen("ROUTE-3", **AT)]
    assert folded(seen) == {"ROUTE-1": "FIELD-3", "ROUTE-2": "FIELD-3", "ROUTE-3": "FIELD-3"}


def test_a_violation_of_its_own_elsewhere_is_a_fault_of_its_own():
    seen = [Seen("FIELD-3", **AT), Seen("ROUTE-2", **AT), Seen("ROUTE-2", 0, 2, "b")]
    assert folded(seen) == {}


def test_a_missing_guard_is_two_clauses_and_neither_follows_from_the_other():
    assert folded([Seen("ROUTE-2", **AT), Seen("ROUTE-3", **AT)]) == {}


def test_a_field_that_does_not_arrive_is_missing_among_the_keywords_and_explains_no_routing():
    missing = [Seen(clause, **AT, absent=True) for clause in ("HOOK-1", "FIELD-1", "FIELD-4", "FIELD-7")]
    seen = [*missing, Seen("ROUTE-3", **AT)]
    assert folded(seen) == dict.fromkeys(("FIELD-1", "FIELD-4", "FIELD-7"), "HOOK-1")


@pytest.mark.parametrize(
    ("stale", "latched", "fault"),
    [((1, 2, 3), (2,), "FIELD-4"), ((2,), (2,), "FIELD-6")],
    ids=["in all rows", "in the resumed row alone"],
)
def test_a_stale_value_is_latched_if_only_resumed_rows_have_it(stale, latched, fault):
    seen = [Seen("FIELD-4", 0, step, "a") for step in stale] + [Seen("FIELD-6", 0, step, "a") for step in latched]
    (other,) = {"FIELD-4", "FIELD-6"} - {fault}
    assert folded(seen) == {other: fault}


def test_a_chain_of_causes_ends_at_the_fault():
    seen = [Seen("FIELD-6", **AT), Seen("FIELD-4", **AT), Seen("FIELD-3", **AT), Seen("HOOK-2", **AT)]
    assert set(folded(seen).values()) == {"FIELD-6"}


def test_what_a_step_leaves_behind_follows_from_a_fault_of_an_earlier_step_of_the_same_run():
    assert folded([Seen("FIELD-2", 0, 1, "a"), Seen("STATE-1", 0, 3, "b")]) == {"STATE-1": "FIELD-2"}
    assert folded([Seen("FIELD-2", 0, 3, "a"), Seen("STATE-1", 0, 1, "b")]) == {}
    assert folded([Seen("FIELD-2", 0, 1, "a"), Seen("STATE-1", 1, 3, "b")]) == {}


def test_two_runs_differ_because_of_any_fault_in_either_but_a_difference_explains_nothing():
    assert folded([Seen("STATE-1", **AT), Seen("ROUTE-6", 0, 5, "b")]) == {"ROUTE-6": "STATE-1"}
    assert "STATE-1" not in folded([Seen("ROUTE-6", 0, 1, "a"), Seen("STATE-1", 0, 2, "a")])


def test_a_flag_that_is_wrong_where_no_earlier_value_could_be_is_not_stale():
    wrong = [Seen("FIELD-3", 0, step, "a") for step in (2, 3)]
    assert folded([*wrong, Seen("FIELD-4", 0, 3, "a"), Seen("FIELD-6", 0, 3, "a")]) == {
        "FIELD-4": "FIELD-3",
        "FIELD-6": "FIELD-3",
    }
