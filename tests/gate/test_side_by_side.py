"""Pages are executed side by side, and the report is the one of pages that were executed one after the other."""

from dataclasses import replace

import pytest

from spec_examples.gate import check as gate
from spec_examples.targets import Target

pytestmark = pytest.mark.runner

RUN = "from spec_examples import Row, rows, run\n"
PAGES = {
    "slow": "import time\ntime.sleep(1)\nassert rows(run(Row(5, 4, 1)))[0].phase == 'prefill'",
    "wrong": "assert rows(run(Row(5, 4, 1)))[0].phase == 'decode'",
    "right": "assert rows(run(Row(5, 5, 1)))[0].phase == 'decode'",
}


@pytest.fixture
def pages(site):
    return [site(f"docs/{name}.md", f"# Page\n\n```python\n{RUN}{code}\n```\n") for name, code in PAGES.items()]


def test_the_report_is_that_of_one_page_after_the_other(pages, session, monkeypatch):
    monkeypatch.setattr(gate, "MOST_LANES", 2)
    told = []
    both = gate.check(pages, session, Target(), ended=lambda page: told.append(page.path))
    monkeypatch.setattr(gate, "MOST_LANES", 1)
    alone = gate.check(pages, session, Target())
    assert told == [page.path for page in alone.pages]
    assert [page.worst for page in both.pages] == ["passed", "failed", "passed"]
    assert [replace(page, seconds=0) for page in both.pages] == [replace(page, seconds=0) for page in alone.pages]


def test_a_page_that_raises_in_its_thread_stops_the_check(pages, session, monkeypatch):
    def raises(*_):
        raise KeyError("a fault of the gate itself")

    monkeypatch.setattr(gate, "MOST_LANES", 2)
    monkeypatch.setattr(gate, "_check_page", raises)
    with pytest.raises(KeyError, match="a fault of the gate itself"):
        gate.check(pages, session, Target())


def test_a_page_that_judges_a_runner_starts_none(site, session):
    """The suite asks vLLM's own runner too; a page asks that of the check, as all else."""
    code = """\
from spec_examples.conformance.matrix import judge_runner
from spec_examples.running import current

record = judge_runner(current().session, current().target)
print(*(clause for clause, cell in record.cells.items() if cell.verdict == "failed"), "are broken")
"""
    page = site("docs/page.md", f'# Page\n\n```python\n{code}```\n\n```text title="Output"\nare broken\n```\n')
    before = set(session._workers)
    (done,) = gate.check([page], session, Target()).pages
    assert done.worst == "passed", done.results
    assert set(session._workers) - before <= {Target()}
