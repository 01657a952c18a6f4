"""``update`` restores any expected cell and output that was changed, to the byte, and touches nothing else."""

import json
import re
import shutil
from pathlib import Path

import pytest
from executed_pages import PAGES, executed, kept_session

from spec_examples.execution import blocks, tables
from spec_examples.gate.cli import main
from spec_examples.gate.updating import changes_of
from spec_examples.markdown import read, rewriting
from spec_examples.running import Context
from spec_examples.targets import Target

ROOT = Path(__file__).resolve().parents[2]
ASKS = {tables.ROUTING: 3, tables.FIELDS: 1, tables.RELEASES: 1}
"""How many leading columns ask."""


def outcome_cells():
    for path in PAGES:
        for row in read(path).examples:
            if row.kind != "row" or row.header not in tables.READERS:
                continue
            prose = tables.PROSE.get(row.header, set())
            for column, name in enumerate(row.header):
                if column >= ASKS[row.header] and name not in prose:
                    yield pytest.param(path, row, column, id=f"{row.id} {name}")


def shown_blocks():
    for path in PAGES:
        for block in read(path).examples:
            if block.title == blocks.OUTPUT or (block.language == "console" and not block.exempt):
                yield pytest.param(path, block, id=block.id)


def restored(path, text, line):
    """``text`` after an update of the example at ``line``."""
    page, execution = read(path, text), executed(path)
    (example,) = (e for e in page.examples if e.line == line)
    result = execution.attempt(example, lambda: execution.execute(example))
    assert result.outcome in ("failed", "error"), f"{example.id} does not notice"
    return rewriting.applied(text, [c.edit for c in changes_of(page, execution, example, result)])


@pytest.mark.parametrize(("path", "row", "column"), list(outcome_cells()))
def test_any_cell_that_was_changed_is_restored_to_the_byte(path, row, column):
    text, cell = path.read_text(encoding="utf-8"), row.columns[column]
    others = {tables.word_of(e.columns[column].raw) for e in read(path).examples if e.header == row.header}
    reason = row.cells[column][len(tables.word_of(row.cells[column])) :]
    for other in sorted(others - {tables.word_of(cell.raw)} | {"?", ""}):
        wrong = text[: cell.start] + other + (reason if other else reason.strip()) + text[cell.end :]
        assert restored(path, wrong, row.line) == text, f"from {other!r}"


@pytest.mark.parametrize(("path", "block"), list(shown_blocks()))
def test_any_output_that_was_changed_is_restored_to_the_byte(path, block):
    text = path.read_text(encoding="utf-8")
    start = text.index("\n", block.start) + 1
    end = text.rindex("\n", start, block.end) + 1
    lines = text[start:end].splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("$ "))
    for wrong in (re.sub(r"\w", "x", lines[at]), ""):
        if wrong == lines[at] or (not wrong and len(lines) == 1):
            continue
        changed = text[:start] + "".join([*lines[:at], wrong, *lines[at + 1 :]]) + text[end:]
        assert restored(path, changed, block.line) == text


PAGE = """\
# Page

Words that say No | and Yes.

| Prompt length | Computed before step | Scheduled span | Phase        | Runner MTP eligible |
| ------------- | -------------------- | -------------- | ------------ | ------------------- |
| 5             | 4                    | 1              | Prefill tail | No (because)        |
| 5             | 5                    | 1              | Decode       | Yes                 |

```python
from spec_examples import Row, rows, run

print(rows(run(Row(5, 4, 1)))[0].phase)
print("a" * 3)
```

```text title="Output"
prefill
aaa
```

```console
$ phase-contract row --prompt-len 5 --computed 4 --span 0
phase-contract: a span of 0; the scheduler gives a row at least one token
```
"""


@pytest.fixture
def update(site, capsys):
    """``update(page, …)``: status, standard output and error of the command."""

    def command(page, *words):
        status = main(["update", str(page), *words], context=Context(kept_session(), Target()))
        return status, *capsys.readouterr()

    return command


WRONG = (
    ("tail | No (because)        |", "tail | Yes (because)       |"),
    ("Decode       | Yes                 |", "Prefill      | No                  |"),
    ("prefill\naaa", "decode\naaa\nmore"),
    ("a span of 0; the", "a span of 1; the"),
)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_endings_byte_order_mark_and_widths_are_kept(site, update, newline, mark):
    right = (mark + PAGE.replace("\n", newline)).encode()
    text = PAGE
    for old, new in WRONG:
        assert text.count(old) == 1
        text = text.replace(old, new)
    page = site("docs/page.md", "")
    page.write_bytes((mark + text.replace("\n", newline)).encode())
    page.chmod(0o640)
    wrong = page.read_bytes()

    status, diff, _ = update(page)
    assert status == 1
    assert "-| 5             | 4                    | 1              | Prefill tail | Yes (because)       |" in diff
    assert "+| 5             | 4                    | 1              | Prefill tail | No (because)        |" in diff
    assert "the reason (because) stays" in diff
    assert "5 changes on 1 of 1 pages, not written (--write does); 0 left" in diff
    assert page.read_bytes() == wrong

    status, said, _ = update(page, "--write")
    assert (status, page.read_bytes()) == (0, right), said
    assert page.stat().st_mode & 0o777 == 0o640
    assert update(page)[:2] == (0, "0 changes on 0 of 1 pages, nothing to write; 0 left\n")


def test_the_diff_is_one_that_patch_takes(site, update, tmp_path):
    page = site("docs/page.md", PAGE.replace("aaa\n```", "bbb\n```"))
    diff = update(page)[1]
    import subprocess

    subprocess.run(["patch", "-p1"], input=diff, text=True, cwd=tmp_path, check=True, capture_output=True)
    assert page.read_text() == PAGE


def test_a_missing_output_is_added(site, update):
    without = PAGE.replace('```text title="Output"\nprefill\naaa\n```\n\n', "")
    page = site("docs/page.md", without)
    assert update(page, "--write")[0] == 0
    assert page.read_text() == PAGE


def test_an_output_inside_an_admonition_keeps_its_indentation(site, update):
    inside = "".join(f"    {line}\n" if line else "\n" for line in PAGE.partition("|\n\n```python")[2].splitlines())
    right = '# Page\n\n!!! note "Look"\n\n    ```python' + inside.removeprefix("    ")
    page = site("docs/page.md", right.replace("    aaa", "    abc"))
    assert update(page, "--write")[0] == 0
    assert page.read_text() == right


def test_cells_that_were_left_open_are_filled(site, update):
    page = site(
        "docs/page.md", PAGE.replace("Prefill tail | No (because)        ", "             |                     ")
    )
    assert update(page, "--write")[0] == 0
    assert page.read_text() == PAGE.replace("No (because)", "No          ").replace(
        "No                  ", "No                  "
    )


def test_a_runner_that_breaks_a_clause_is_not_written_into_the_contract(site, update):
    """On 0.20.0 the tail takes MTP: the page is right and stays."""
    page = site("docs/contract/routing.md", PAGE)
    status, said, _ = update(page, "--write", "--vllm-omni", "0.20.0", "--runner", "ar")
    assert status == 1
    assert page.read_text() == PAGE
    assert "docs/contract/routing.md:7: left:" in said
    assert "the runner breaks a clause here" in said


def test_what_a_person_has_to_mend_is_left_and_named(site, update):
    page = site("docs/page.md", PAGE + "\n```python\nassert False\n```\n")
    status, said, _ = update(page, "--write")
    assert (status, page.read_text()) == (1, PAGE + "\n```python\nassert False\n```\n")
    assert (
        "docs/page.md:28: left: does not hold" in said or ": left: does not hold on this runner: assert False" in said
    )


def test_each_change_says_which_clauses_it_is_an_example_of(site, update):
    text = PAGE.replace("# Page", "# Page\n\n[ROUTE-3](#ROUTE-3){#ROUTE-3 .clause} *promise*: Words.", 1)
    page = site("docs/contract/routing.md", text.replace("| No (because)        |", "| Yes (because)       |"))
    said = update(page)[1]
    assert "cell 'Runner MTP eligible': Yes becomes No" in said
    assert "(an example of ROUTE-3)" in said
    report = json.loads(update(page, "--format", "json")[1])
    assert report["changes"][0]["clauses"] == ["ROUTE-3"]
    assert report["written"] is False


def test_a_page_that_changed_meanwhile_is_not_overwritten(site, update, monkeypatch):
    page = site("docs/page.md", PAGE.replace("aaa\n```", "bbb\n```"))
    import spec_examples.gate.commands.update as command

    real = command.update

    def late(*arguments, **options):
        found = real(*arguments, **options)
        page.write_text("# Mine\n")
        return found

    monkeypatch.setattr(command, "update", late)
    status, out, err = update(page, "--write")
    assert (status, out, page.read_text()) == (2, "", "# Mine\n")
    assert "changed meanwhile, so nothing was written; run this again" in err


def test_a_page_that_cannot_be_read_is_left(site, update):
    page = site("docs/page.md", "# Page\n\n```python\n")
    status, said, _ = update(page, "--write")
    assert status == 2
    assert "docs/page.md:3: left: this fence is not closed" in said


@pytest.fixture(autouse=True)
def _no_leftovers(tmp_path):
    yield
    assert not list(tmp_path.rglob(".*.md.*"))


def test_every_page_of_the_contract_at_once(tmp_path, update):
    """All outcome cells of a copy of the pages emptied, and all outputs garbled: written back as they were."""
    shutil.copytree(ROOT / "docs" / "contract", tmp_path / "docs" / "contract")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    for original in sorted((ROOT / "docs" / "contract").glob("*.md")):
        page = read(original)
        copy = tmp_path / "docs" / "contract" / original.name
        edits = [
            rewriting.block(page, e, re.sub(r"\w", "x", e.source.rstrip("\n"), count=1))
            for e in page.examples
            if e.title == blocks.OUTPUT
        ]
        copy.write_text(rewriting.applied(page.text, edits), encoding="utf-8")
    status, said, _ = update(tmp_path / "docs" / "contract", "--write")
    assert status == 0, said[-2000:]
    for original in (ROOT / "docs" / "contract").glob("*.md"):
        assert (tmp_path / "docs" / "contract" / original.name).read_bytes() == original.read_bytes()
