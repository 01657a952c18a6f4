"""A runner that lets nothing cross the boundary satisfies no example of the contract."""

from pathlib import Path

import pytest

from spec_examples.gate.check import check
from spec_examples.targets import Session, Target
from spec_examples.trace import Environment, Trace

ROOT = Path(__file__).resolve().parents[2]


class HollowSession(Session):
    """Every worker answers, and every answer is an empty trace."""

    def start(self, targets):
        pass

    def environment(self, target):
        return Environment(vllm_omni="hollow")

    def run(self, scenario, target=None):
        return Trace()


PAGES = sorted(set(ROOT.glob("docs/contract/*.md")) - {ROOT / "docs/contract/whole.md"})  # it is made of the others


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_example_fails(page):
    report = check([page], HollowSession(live=True), Target())  # what is recorded is no answer of this runner
    assert report.results
    survivors = [str(result.id) for result in report.results if result.outcome not in ("failed", "error")]
    assert survivors == []
