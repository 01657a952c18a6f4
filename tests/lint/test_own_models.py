"""The models of this project that use the contract rightly: on these nothing hits."""

import re
from pathlib import Path

import pytest

from spec_examples.lint import lint_paths, lint_source, parse

ROOT = Path(__file__).parents[2]
HOOKS_PAGE = ROOT / "docs" / "contract" / "hooks.md"

FILE_BLOCK = re.compile(r'^( *)```python title="([^"]+\.py)"\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)


def test_the_stub_talkers() -> None:
    report = lint_paths([str(ROOT / "spec_examples" / "talker.py"), str(ROOT / "spec_examples" / "stories")])
    writers = {finding.rule for finding in report.findings}
    assert report.hooks >= 2
    assert writers <= {"PHASE005"}, "some stub talkers overwrite the fields on purpose"


def test_the_models_of_the_contract() -> None:
    found = FILE_BLOCK.findall(HOOKS_PAGE.read_text(encoding="utf-8"))
    assert found, "the page has models that a reader may copy"
    for _, name, text in found:
        report = lint_source(parse(name, text))
        assert report.findings == (), "\n".join(map(str, report.findings))


@pytest.mark.parametrize("folder", ["spec_examples", "setup"])
def test_nothing_else_of_this_project_is_taken_for_a_model(folder: str) -> None:
    report = lint_paths([str(ROOT / folder)])
    assert {finding.rule for finding in report.findings} <= {"PHASE005"}
