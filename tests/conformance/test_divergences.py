"""Known divergences: each has its section with a run, and together they are what the recorded results break."""

import re
from pathlib import Path

import pytest

from spec_examples.conformance import record as recorded
from spec_examples.conformance.known import PAGE, divergences, known
from spec_examples.conformance.matrix import MATRIX_RUNNERS, judge_runner
from spec_examples.targets import resolve

TEXT = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")


@pytest.mark.parametrize("divergence", divergences(), ids=lambda divergence: divergence.id)
def test_each_has_its_section_with_a_run(divergence):
    heading = f"## {divergence.title} {{#{divergence.id}}}\n"
    assert heading in TEXT
    section = re.split(r"^## ", TEXT.partition(heading)[2], flags=re.MULTILINE)[0]
    assert "run(" in section
    assert 'title="Output"' in section
    assert "Affected is" in section


def test_each_that_is_recorded_is_broken_by_what_it_names():
    for divergence in divergences():
        covered = [r for r in recorded.read_all() if divergence.covers(r.vllm_omni, r.runner) and r.how == "run"]
        assert covered or not set(divergence.runners) & set(MATRIX_RUNNERS)
        for record in covered:
            states = {clause: record.cells[clause].verdict for clause in divergence.clauses}
            assert set(states.values()) == {"failed"}, (divergence.id, record.name, states)


def test_nothing_is_broken_that_is_not_known():
    for record in recorded.read_all():
        broken = {clause for clause, cell in record.cells.items() if cell.verdict == "failed"}
        assert broken <= known(record.vllm_omni, record.runner).keys(), record.name


@pytest.mark.clause("FIELD-*", "HOOK-[12]", "STATE-*", "ROUTE-[1-68]")
def test_the_newest_stable_release_breaks_nothing_on_the_shared_runner():
    for runner in ("ar", "generation"):
        assert known("0.30.0", runner) == {}


def test_a_checkout_without_a_version_is_expected_to_be_as_the_newest_release():
    for runner in ("v2", "v2-whole"):
        assert set(known("dev", runner)) == {"ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-6"}
    assert known("dev", "ar") == {}


@pytest.mark.clause("FIELD-3")
def test_a_step_without_request_states_breaks_exactly_what_its_divergence_says(session):
    (divergence,) = (each for each in divergences() if each.id == "v2-prompt-length-unknown")
    (runner,) = divergence.runners
    record = judge_runner(session, resolve(runner=runner))
    assert {c for c, cell in record.cells.items() if cell.verdict == "failed"} == set(divergence.clauses)
