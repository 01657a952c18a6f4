"""``phase-contract mutants``, as a person or a machine calls it."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from spec_examples.execution.page import PageExecution
from spec_examples.execution.result import Result
from spec_examples.gate.cli import main
from spec_examples.markdown import Example
from spec_examples.mutants import catching, record
from spec_examples.running import Context
from spec_examples.scenario import Scenario
from spec_examples.targets import Session, Target
from spec_examples.trace import Trace


def mutants(session: Session, *arguments: str, target: Target | None = None) -> tuple[int, str]:
    out = io.StringIO()
    status = main(["mutants", *arguments], stdout=out, context=Context(session, target or Target()))
    return status, out.getvalue()


def test_json_names_the_examples_and_the_clauses(session: Session) -> None:
    status, out = mutants(session, "boundary-late", "codes-reversed", "--format", "json")
    report = json.loads(out)
    assert status == 0
    assert report["red_without_defect"] == []
    assert [(one["name"], one["state"], len(one["by"])) for one in report["mutants"]] == [
        ("boundary-late", "caught", 1),
        ("codes-reversed", "caught", 1),
    ]
    assert report["mutants"][0]["by"][0].startswith("docs/contract/fields.md:")
    assert "FIELD-3" in report["mutants"][0]["clauses"]


def test_all_names_every_example(session: Session) -> None:
    _, out = mutants(session, "flag-int", "--all", "--format", "json")
    by = json.loads(out)["mutants"][0]["by"]
    assert len(by) > 20
    assert len(by) == len(set(by))
    assert any(each.startswith("docs/contract/fields.md:") for each in by)


def test_all_of_model_runner_v2_asks_the_cases_of_the_suite_that_it_can_run(session: Session) -> None:
    status, out = mutants(session, "v2-prompt-len-numpy", "--all", "--format", "json", target=Target(runner="v2"))
    assert status == 0
    assert len(json.loads(out)["mutants"][0]["by"]) > 20


def test_a_record_of_all_puts_a_defect_to_new_examples_only(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(record, "CATCHES", tmp_path)
    mutants(session, "flag-int", "--record", "--all")
    (path,) = tmp_path.iterdir()
    whole = record.read(path)
    caught, new = whole.caught["flag-int"], whole.caught["flag-int"].by[3]
    before = replace(caught, by=tuple(each for each in caught.by if each != new))
    examples = {key: place for key, place in whole.examples.items() if key != new}
    record.write(replace(whole, examples=examples, caught={"flag-int": before}))

    asked: list[str] = []

    def evaluated(execution: PageExecution, example: Example) -> Result:
        if execution.context.session.mutant == "flag-int":  # type: ignore[attr-defined]
            asked.append(f"{example.id} {example.kind}")
        return original(execution, example)

    original = catching._evaluated
    monkeypatch.setattr(catching, "_evaluated", evaluated)
    mutants(session, "flag-int", "--record", "--all")
    assert asked == [whole.examples[new]]
    assert record.read(path) == whole


def test_the_table_ends_with_the_counts(session: Session) -> None:
    status, out = mutants(session, "v2-tail-not-written", "v2-flag-int", target=Target(runner="v2"))
    assert status == 0
    assert out.splitlines()[-1].startswith("2 defects: 1 caught, 1 not-measurable (vLLM-Omni ")


def test_a_defect_that_passes_ends_with_1(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Session.run
    monkeypatch.setattr(Session, "run", lambda self, scenario, target=None, mutant="": run(self, scenario, target))
    status, out = mutants(session, "boundary-late")
    assert status == 1
    assert "boundary-late: FIELD-3 passed: no example of the contract's pages goes red" in out


def test_an_edit_that_does_not_apply_ends_with_1(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(self: Session, scenario: Scenario, target: Target | None = None, mutant: str = "") -> Trace:
        return original(self, scenario, target, mutant and "v2-flag-int")

    original = Session.run
    monkeypatch.setattr(Session, "run", run)
    status, out = mutants(session, "boundary-late")
    assert status == 1
    assert "boundary-late: FIELD-3 not-applicable-here: " in out
    assert "has no run_preprocess" in out


def test_an_unknown_name_is_one_line(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = mutants(session, "no-such-defect")
    assert (status, out) == (2, "")
    said = capsys.readouterr().err
    assert said.startswith("phase-contract: no defect is called 'no-such-defect'; ")
    assert said.count("\n") == 1


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutants", "--help"]) == 0
    assert "phase-contract mutants boundary-late" in capsys.readouterr().out
