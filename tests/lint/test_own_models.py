"""The models of this project that use the contract rightly: on these nothing hits."""

import re
from pathlib import Path

import pytest

from spec_examples.lint import lint_paths, lint_source, parse

ROOT = Path(__file__).parents[2]

FILE_BLOCK = re.compile(r'^( *)```python title="([^"]+\.py)"\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)


def test_the_stub_talkers() -> None:
    report = lint_paths([str(ROOT / "spec_examples" / "talker.py"), str(ROOT / "spec_examples" / "stories")])
    assert report.hooks >= 2
    assert {finding.rule for finding in report.findings} == {"PHASE005"}, (
        "the one that overwrites the fields on purpose"
    )


def _shown(page: str) -> dict[str, str]:
    """The files that a page shows, by title."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return {title: block for _, title, block in FILE_BLOCK.findall(text)}


def test_the_models_of_the_contract() -> None:
    shown = _shown("contract/hooks.md")
    assert shown, "the page has models that a reader may copy"
    for name, text in shown.items():
        findings = lint_source(parse(name, text)).findings
        assert findings == (), "\n".join(map(str, findings))


@pytest.mark.parametrize(
    ("page", "name", "rules"),
    [
        ("contract/fields.md", "overwriting.py", {"PHASE005"}),
        ("contract/models.md", "right.py", set()),
        ("contract/models.md", "one_token_is_decode.py", {"PHASE001"}),
        ("contract/models.md", "counts_itself.py", {"PHASE005", "PHASE006"}),
        ("contract/models.md", "writes_the_flag.py", {"PHASE005"}),
        ("contract/models.md", "guesses.py", {"PHASE002", "PHASE004", "PHASE005"}),
        ("guides/model-authors.md", "before.py", {"PHASE001", "PHASE006"}),
        ("guides/model-authors.md", "after.py", set()),
        ("guides/model-authors.md", "both.py", set()),
    ],
)
def test_models_that_pages_call_right_and_wrong(page: str, name: str, rules: set[str]) -> None:
    findings = lint_source(parse(name, _shown(page)[name])).findings
    assert {finding.rule for finding in findings} == rules


def test_the_models_that_the_model_check_calls_right_and_wrong() -> None:
    right, wrong = (ROOT / "spec_examples" / "model_check" / "examples" / name for name in ("right.py", "wrong.py"))
    assert lint_paths([str(right)]).findings == ()
    lines = wrong.read_text(encoding="utf-8").splitlines()
    found: dict[str, set[str]] = {}
    for finding in lint_paths([str(wrong)]).findings:
        above = (line for line in reversed(lines[: finding.place.line]) if line.startswith("class "))
        found.setdefault(next(above).removeprefix("class ").partition("(")[0], set()).add(finding.rule)
    assert found["OneTokenIsDecode"] == {"PHASE001"}
    assert found["CountsItself"] == {"PHASE005", "PHASE006"}
    assert found["WritesTheFlag"] == found["Guesses"] == {"PHASE005"}


@pytest.mark.parametrize("folder", ["spec_examples", "setup"])
def test_nothing_else_of_this_project_is_taken_for_a_model(folder: str) -> None:
    findings = lint_paths([str(ROOT / folder)]).findings
    assert {Path(finding.path).name for finding in findings} <= {"wrong.py", "talker.py", "variants.py"}


def test_a_stub_that_meets_releases_without_the_flag() -> None:
    """A stub that runs on 0.18.0 too, and one that writes the fields on purpose, would be wrong models."""
    findings = lint_paths([str(ROOT / "spec_examples" / "variants.py")]).findings
    assert {finding.rule for finding in findings} == {"PHASE003", "PHASE004", "PHASE005"}
