"""``phase-contract lint``: what it prints in each format, and with which status it ends."""

import json
from pathlib import Path

import pytest
import yaml
from small_models import hook

from spec_examples.gate.cli import main
from spec_examples.lint import RULES

ROOT = Path(__file__).parents[2]
BRANCH = hook("if input_ids.numel() > 1:\n    return 1, 2, {}\nreturn 3, 4, {}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the command is called from: one wrong model, in a file whose name needs care, and one right."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b é%.py").write_text(BRANCH)
    (tmp_path / "right.py").write_text(hook('return 1, info["_omni_is_prefill"], {}'))
    return tmp_path


def test_the_status_says_whether_something_was_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "right.py"]) == 0
    assert capsys.readouterr().out == "0 findings in 1 file (1 hook followed)\n"
    assert main(["lint", "."]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("./a,b é%.py:3:12: PHASE001 phase-from-span: ")
    assert last == "1 finding in 2 files (2 hooks followed)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.py"], "missing.py: no such file or folder"),
        ([], "lint: name a file or a folder; see phase-contract lint --help"),
        (["right.py", "--select", "PHASE7"], "no rule is called 'PHASE7'; there are PHASE001, "),
        (["right.py", "--ignore", ""], "no rule is called ''"),
        (["--explain", "nothing"], "no rule is called 'nothing'"),
        (["right.py", "--format", "junit"], "argument --format: invalid choice: 'junit'"),
        (["broken.py"], "broken.py:1:7: not Python: "),
        (["right.py", "--output", "missing/report.txt"], "--output missing/report.txt: No such file or directory"),
    ],
)
def test_a_question_that_cannot_be_asked(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    (folder / "broken.py").write_text("def f(:\n")
    assert main(["lint", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"phase-contract: {said}")
    assert shown.err.count("\n") == 1


def test_a_file_that_cannot_be_read_hides_nothing_of_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was found outranks what could not be asked."""
    (folder / "broken.py").write_text("def f(:\n_omni_is_prefill")
    assert main(["lint", "."]) == 1
    shown = capsys.readouterr()
    assert shown.err == "phase-contract: ./broken.py:1:7: not Python: invalid syntax\n"
    assert shown.out.splitlines()[-1] == "1 finding in 3 files (2 hooks followed, 1 file not read)"
    assert main(["lint", "right.py", "broken.py"]) == 2


def test_rules_are_chosen(folder: Path) -> None:
    assert main(["lint", ".", "--ignore", "phase-from-span"]) == 0
    assert main(["lint", ".", "--ignore", "PHASE002,PHASE001"]) == 0
    assert main(["lint", ".", "--select", "PHASE0", "--ignore", "PHASE002"]) == 1
    assert main(["lint", ".", "--select", "field-written", "--select", "PHASE001"]) == 1
    assert main(["lint", ".", "--select", "PHASE10"]) == 0


def test_every_rule_explains_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rule in RULES:
        assert main(["lint", "--explain", rule.name]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"{rule.id} {rule.name}\n")
        assert rule.instead in shown
    assert main(["lint", "--explain", "all"]) == 0
    assert all(rule.id in capsys.readouterr().out for rule in RULES[:1])


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", ".", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (finding,) = report["findings"]
    assert (finding["path"], finding["line"], finding["column"], finding["rule"]) == ("./a,b é%.py", 3, 12, "PHASE001")
    assert finding["clauses"] == ["FIELD-3", "ROUTE-5"]
    assert report["summary"] == {"files": 2, "hooks": 2, "findings": 1, "allowed": 0, "unreadable": 0}


def test_annotations_on_github(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commas, colons and percent signs would end a property."""
    assert main(["lint", ".", "--format", "github"]) == 1
    command, notice = capsys.readouterr().out.splitlines()
    where = "::error file=./a%2Cb é%25.py,line=3,col=12,endLine=3,endColumn=33,title=PHASE001 phase-from-span::"
    assert command.startswith(where)
    assert notice.startswith("::notice title=phase-contract lint::1 finding")


def test_sarif(folder: Path) -> None:
    assert main(["lint", ".", "--format", "sarif", "--output", "lint.sarif"]) == 1
    report = json.loads((folder / "lint.sarif").read_text(encoding="utf-8"))
    (run,) = report["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.id for rule in RULES]
    (result,) = run["results"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "PHASE001"
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "a%2Cb%20%C3%A9%25.py"
    assert location["physicalLocation"]["region"] == {
        "startLine": 3,
        "startColumn": 12,
        "endLine": 3,
        "endColumn": 33,
    }


def test_the_hook_before_a_commit_calls_this_command(folder: Path) -> None:
    """It runs in an environment of its own, and is given the Python files that changed."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (hook_,) = (each for each in hooks if each["id"] == "phase-contract-lint")
    assert (hook_["language"], hook_["types_or"]) == ("python", ["python", "pyi"])
    program, *words = hook_["entry"].split()
    assert program == "phase-contract"
    assert main([*words, "right.py"]) == 0
    assert main([*words, "right.py", "a,b é%.py"]) == 1
