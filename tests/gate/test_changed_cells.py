"""Every outcome cell of a table under ``docs/contract/``, changed in turn, turns ``check`` red at that line."""

import re
from pathlib import Path

import pytest
from executed_pages import CONTRACT, kept_session

from spec_examples.execution import tables
from spec_examples.gate.check import check
from spec_examples.markdown import read
from spec_examples.targets import Target

ROOT = Path(__file__).resolve().parents[2]
OTHER = {
    "Prefill": "Decode",
    "Prefill tail": "Prefill",
    "Decode": "Prefill",
    "Yes": "No",
    "No": "Yes",
    "int": "bool",
    "bool": "int",
    "none": "all three",
    "all three": "none",
    "MTP embedding": "prompt embedding",
    "prompt embedding": "MTP embedding",
    "with talker_mtp": "none",
    "with or without talker_mtp": "with talker_mtp",
}
INPUTS = {tables.ROUTING: 3, tables.FIELDS: 1, tables.RELEASES: 1}
"""How many leading columns say what is asked; the others, prose apart, say what comes out."""


def outcome_cells():
    for path in CONTRACT:
        for row in read(path).examples:
            if row.kind == "row":
                prose = tables.PROSE.get(row.header, set())
                for column, name in enumerate(row.header):
                    if column >= INPUTS[row.header] and name not in prose:
                        yield pytest.param(path, row, column, id=f"{row.id} {name}")


def changed(cell: str) -> str:
    word = re.sub(r"\s*\([^()]*\)$", "", cell)
    if word == "none" and cell == "none":
        return "all three"
    return OTHER[word]


@pytest.mark.parametrize(("path", "row", "column"), list(outcome_cells()))
def test_a_changed_cell_is_red_at_its_line(path, row, column, site):
    text = path.read_text(encoding="utf-8")
    cell = row.columns[column]
    other = changed(row.cells[column])
    if row.header == tables.RELEASES and row.header[column] == "Batched decode hook" and row.cells[column] == "none":
        other = "with talker_mtp"
    table = text.splitlines(keepends=True)[row.table_line - 1 : row.table_line + 1]
    line = text[: cell.start].rpartition("\n")[2] + other + text[cell.end :].partition("\n")[0]
    page = site("docs/contract/page.md", "# Page\n\n" + "".join(table) + line + "\n")

    (result,) = check([page], kept_session(), Target()).results
    assert (result.outcome, result.line) == ("failed", 5), str(result)
    assert f"cell {row.header[column]!r}" in result.message


@pytest.mark.clause("FIELD-3", "ROUTE-2", "ROUTE-3", "ROUTE-5")
def test_the_six_cases_of_the_design_stand_in_the_routing_table_first_and_in_order():
    rows = [e.cells for e in read(ROOT / "docs/contract/routing.md").examples if e.kind == "row"]
    asked = [tuple(map(int, cells[:3])) for cells in rows]
    assert asked[:6] == [(5, 0, 4), (5, 4, 1), (5, 5, 1), (5, 6, 1), (1, 0, 1), (5, 5, 2)]
    said = [(cells[3], cells[4].split()[0]) for cells in rows[:6]]
    assert said == [
        ("Prefill", "No"),
        ("Prefill tail", "No"),
        ("Decode", "Yes"),
        ("Decode", "Yes"),
        ("Prefill", "No"),
        ("Decode", "No"),
    ]
