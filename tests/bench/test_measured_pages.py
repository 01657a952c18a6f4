"""The pages that are measured: every row of a table is right, and no two pages make the same run."""

import pytest

from spec_examples.bench import pages
from spec_examples.execution.page import PageExecution
from spec_examples.markdown import read
from spec_examples.targets import Target


@pytest.mark.parametrize("text", [pages.table(60), pages.blocks(3), pages.runs(0)], ids=["table", "blocks", "runs"])
def test_every_example_of_a_page_passes(session, tmp_path, text):
    page = read(pages.write(tmp_path, "page.md", text))
    with PageExecution(page, session, Target()) as execution:
        assert [str(result) for each in page.examples if (result := execution.evaluate(each)).outcome != "passed"] == []


def test_a_table_has_different_rows_of_every_phase():
    rows = pages.table(500).splitlines()[4:]
    assert len(set(rows)) == 500
    assert {row.split(" | ")[3] for row in rows} == {"Prefill", "Prefill tail", "Decode"}


def test_pages_make_runs_of_their_own():
    texts = [pages.runs(number).partition("```python")[2] for number in range(200)]
    assert len(set(texts)) == 200
