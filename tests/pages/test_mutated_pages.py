"""Every expected output and every version bound of the contract, changed in turn, is red at its line.

Outcome cells are turned in ``tests/gate/test_changed_cells.py``. Here are the other things that a page says: what a
block prints, what a command prints, the bounds of claims about releases, and the cells that ask rather than answer.
"""

import re
from dataclasses import replace

import pytest
from executed_pages import CONTRACT, executed, kept_session

from spec_examples.execution import blocks, claims, tables
from spec_examples.execution.result import Disagreement
from spec_examples.markdown import read
from spec_examples.outcome import rows
from spec_examples.running import forced, running
from spec_examples.scenario import MAX_LEN, Row


def examples(wanted):
    return [
        pytest.param(path, example, id=example.id)
        for path in CONTRACT
        for example in read(path).examples
        if wanted(example)
    ]


def changed(line: str) -> str:
    """Another line: a digit counts on, else the last letter is another one."""
    digit = re.search(r"\d", line)
    if digit:
        return line[: digit.start()] + str((int(digit[0]) + 1) % 10) + line[digit.end() :]
    return line[:-1] + ("x" if line[-1] != "x" else "y")


@pytest.mark.parametrize(("path", "block"), examples(lambda e: e.title == blocks.OUTPUT))
def test_each_line_of_an_expected_output(path, block):
    page = executed(path)
    lines = block.source.splitlines()
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        source = "\n".join([*lines[:number], changed(line), *lines[number + 1 :]])
        with pytest.raises(Disagreement) as red:
            blocks.evaluate(page, replace(block, source=source))
        assert red.value.line == block.source_line + number


@pytest.mark.parametrize(("path", "block"), examples(lambda e: e.language == "console"))
def test_each_line_of_a_command_s_output(path, block):
    page = executed(path)
    lines = block.source.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("$ "):
            continue
        source = "\n".join([*lines[:number], changed(line), *lines[number + 1 :]])
        with running(page.context), pytest.raises(Disagreement) as red:
            blocks.evaluate(page, replace(block, source=source))
        assert red.value.line == block.source_line + number


@pytest.mark.parametrize(
    ("path", "claim"), examples(lambda e: e.kind == "admonition" and claims.RANGE.fullmatch(e.title))
)
def test_the_bound_of_a_claim(path, claim):
    """The bound moved over the nearest release at hand, to either side, makes it wrong about that release."""
    page = executed(path)
    versions = [str(version) for version, _ in claims.releases_at_hand()]
    found = claims.RANGE.fullmatch(claim.title)
    if found["side"] == "earlier":
        inside = [v for v in versions if claims.Version(v) <= claims.Version(found["version"])]
        wrong = [inside[-2] if len(inside) > 1 else "0.0.1", versions[len(inside)]]
    else:
        inside = [v for v in versions if claims.Version(v) >= claims.Version(found["version"])]
        wrong = [versions[-len(inside) - 1], "999.0"]
    for bound in wrong:
        title = claim.title.replace(found["version"], bound)
        results = claims.evaluate(page, replace(claim, title=title))
        assert results[claim.id].outcome in ("failed", "error"), f"{title} was taken for true"


def other_questions():
    """Each cell that asks, one up and one down, as far as a scheduler would ask that."""
    for path in CONTRACT:
        for row in read(path).examples:
            if row.kind != "row" or row.header != tables.ROUTING:
                continue
            for column, by in ((column, by) for column in range(3) for by in (-1, 1)):
                asked = [int(cell) for cell in row.cells[:3]]
                asked[column] += by
                if asked[0] >= 1 and asked[1] >= 0 and asked[2] >= 1 and sum(asked[1:]) <= MAX_LEN:
                    yield pytest.param(path, row, asked, id=f"{row.id} {row.header[column]} {asked[column]}")


@pytest.mark.parametrize(("path", "row", "asked"), list(other_questions()))
def test_a_cell_that_asks_is_red_exactly_where_the_answer_changes(path, row, asked):
    prompt_len, computed, span = asked
    (answer,) = rows(kept_session().run(forced([[Row(prompt_len, computed, span)]])))
    is_tail = answer.phase == "prefill" and computed > 0 and computed + span >= prompt_len
    phase = "Prefill tail" if is_tail else str(answer.phase).capitalize()
    same = (phase, "Yes" if answer.mtp else "No") == (row.cells[3], row.cells[4].split()[0])

    edited = replace(row, cells=(*map(str, asked), *row.cells[3:]))
    with running(executed(path).context):
        if same:
            tables.evaluate(edited, tables.Together(()))
        else:
            with pytest.raises(Disagreement, match="the page says"):
                tables.evaluate(edited, tables.Together(()))
