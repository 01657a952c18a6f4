"""Every known defect turns an example of the contract red, on the installed runner.

``make test`` puts those defects to the pages whose catches imply the catches of the others, by the record, and one of
each promise: see ``telling``. With ``--defects all``, as in ``make ci``, every defect is put to them.
"""

import importlib.util
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from mutants.telling import telling

from spec_examples.contract.clauses import PROMISES
from spec_examples.mutants import MUTANTS, Mutant, mutants_of, record
from spec_examples.mutants.catching import Hunt
from spec_examples.probing import SPLIT_PROMPT
from spec_examples.targets import Session, Target, TargetUnavailable

SHARED = mutants_of("ar")

IN_ANOTHER_SECTION = {"batched-updates-dropped", "batched-updates-reversed", "scalar-updates-dropped"}
"""Caught by models that keep state of their own, on the pages about hooks and about models: ROUTE-6 refers to them."""


def test_a_defect_of_the_shared_runner_is_caught(shared_defect: Mutant, shared_runner: Hunt) -> None:
    catch = shared_runner.hunt(shared_defect)
    assert catch.state == "caught", catch.message
    if shared_defect.name not in IN_ANOTHER_SECTION:
        assert set(catch.clauses) & set(shared_defect.clauses)
    assert not catch.by[0].startswith("suite: ")


def test_a_defect_of_model_runner_v2_is_caught_or_hidden(v2_defect: Mutant, model_runner_v2: Hunt) -> None:
    catch = model_runner_v2.hunt(v2_defect)
    hidden = model_runner_v2.hidden.keys() >= set(v2_defect.clauses)
    assert catch.state == ("not-measurable" if hidden else "caught"), catch.message
    assert hidden or set(catch.clauses) & set(v2_defect.clauses)


def test_nothing_is_red_without_a_defect(shared_runner: Hunt, pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--defects") != "all":
        pytest.skip("`make test` executes the pages before the tests; --defects all executes them here as well")
    shared_runner.run_control()
    assert [result.id for result in shared_runner.red] == []


def test_the_chosen_defects_imply_the_others_and_break_every_promise() -> None:
    for recorded in record.read_all():
        chosen = {mutant.name: mutant for mutant in telling(mutants_of(recorded.runner), recorded)}
        catches = {name: {*caught.by, *caught.cases} for name, caught in recorded.valid.items()}
        for mutant in mutants_of(recorded.runner):
            assert any(catches[name] <= catches[mutant.name] for name in chosen), mutant.name
        broken = {clause for mutant in mutants_of(recorded.runner) for clause in mutant.clauses}
        assert {clause for mutant in chosen.values() for clause in mutant.clauses} == broken


def test_a_defect_without_a_valid_catch_is_chosen_and_implies_no_other() -> None:
    (recorded,) = (each for each in record.read_all() if each.runner == "ar")
    implied = next(mutant for mutant in SHARED if mutant not in telling(SHARED, recorded))
    edited = replace(recorded.caught[implied.name], digest="of other edits")
    chosen = telling(SHARED, replace(recorded, caught={**recorded.caught, implied.name: edited}))
    assert set(chosen) == {*telling(SHARED, recorded), implied}


def test_there_are_forty_of_the_shared_runner_and_some_for_every_promise() -> None:
    assert len(SHARED) >= 40
    assert [p for p in PROMISES if not any(p in mutant.clauses for mutant in SHARED)] == []
    assert all(set(mutant.clauses) <= set(PROMISES) for mutant in MUTANTS.values())


def test_the_runner_is_itself_again_after_each_run(session: Session) -> None:
    before = session.run(SPLIT_PROMPT)
    for mutant in ("boundary-late", "codes-not-stored", "stored-values-appended"):
        assert session.run(SPLIT_PROMPT, mutant=mutant) != before
        assert session.run(SPLIT_PROMPT) == before


def test_an_edited_copy_of_the_runner_behaves_as_the_edit_in_memory(session: Session, tmp_path: Path) -> None:
    installed = importlib.util.find_spec("vllm_omni")
    assert installed is not None
    assert installed.origin is not None
    copy = tmp_path / "vllm_omni"
    shutil.copytree(Path(installed.origin).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    runner = copy / "worker" / "gpu_model_runner.py"
    guard = "if self.has_talker_mtp and span_len == 1 and not is_prefill:"
    source = runner.read_text(encoding="utf-8")
    assert source.count(guard) == 1
    runner.write_text(source.replace(guard, "if self.has_talker_mtp and span_len == 1:"), encoding="utf-8")
    on_disk = session.run(SPLIT_PROMPT, Target(str(tmp_path)))
    in_memory = session.run(SPLIT_PROMPT, mutant="scalar-guard-dropped")
    assert on_disk.steps == in_memory.steps != session.run(SPLIT_PROMPT).steps


@pytest.mark.parametrize(
    ("runner", "mutant", "said"),
    [("ar", "no-such-defect", "no defect is called"), ("ar", "v2-flag-int", "has no run_preprocess")],
)
def test_a_defect_that_cannot_be_put_in_is_reported(session: Session, runner: str, mutant: str, said: str) -> None:
    with pytest.raises(TargetUnavailable, match=said):
        session.run(SPLIT_PROMPT, Target(runner=runner), mutant)
