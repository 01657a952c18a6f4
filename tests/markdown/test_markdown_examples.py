"""Page text in, examples out."""

from pathlib import Path
from textwrap import dedent

import pytest

from spec_examples.markdown import Example, Page, PageError, check_unique, read


def page(text: str) -> Page:
    return read(Path("docs/page.md"), dedent(text))


def only(text: str) -> Example:
    (example,) = page(text).examples
    return example


def test_a_block_has_its_language_title_and_text():
    block = only("""\
        Text.

        ```python title="talker.py"
        if True:
            pass
        ```
        """)
    assert (block.kind, block.language, block.title) == ("block", "python", "talker.py")
    assert block.source == "if True:\n    pass\n"
    assert (block.line, block.source_line, block.end_line) == (3, 4, 6)
    assert block.id == "docs/page.md:3"


def test_a_row_has_its_cells_as_read_and_as_written():
    text = dedent("""\
        | prompt | hook         |
        | ------ | ------------ |
        | **5**  | `preprocess` |
        """)
    row = only(text)
    assert (row.kind, row.line, row.end_line, row.table_line) == ("row", 3, 3, 1)
    assert row.header == ("prompt", "hook")
    assert row.cells == ("5", "preprocess")
    assert [(cell.column, cell.raw) for cell in row.columns] == [(3, "**5**"), (12, "`preprocess`")]
    assert [text[cell.start : cell.end] for cell in row.columns] == ["**5**", "`preprocess`"]


def test_an_admonition_is_its_title_line_and_has_children():
    text = """\
        !!! warning "Before `0.22.0`"
            Prose.

            | a |
            | - |
            | 1 |

            ??? note
                ```python
                pass
                ```
        """
    found = page(text)
    warning, row, note, block = found.examples
    assert (warning.kind, warning.marker, warning.type) == ("admonition", "!!!", "warning")
    assert warning.title == "Before 0.22.0"
    assert (warning.line, warning.end_line) == (1, 1)
    assert found.text[warning.start : warning.end] == '!!! warning "Before `0.22.0`"'
    assert (note.marker, note.type, note.title) == ("???", "note", "Note")
    assert found.children(warning) == (row, note)
    assert found.children(note) == (block,)


def test_blocks_in_lists_quotes_and_tabs_are_dedented():
    found = page("""\
        1. first

            ```python
            a
            ```

        > ```python
        > b
        > ```

        === "Scalar"

            ```python
            c
            ```

        === "Batched"

            !!! note

                ```python
                d
                ```
        """)
    blocks = [example for example in found.examples if example.kind == "block"]
    assert [(block.line, block.source) for block in blocks] == [(3, "a\n"), (7, "b\n"), (13, "c\n"), (21, "d\n")]


def test_fences_that_are_only_shown_are_no_examples():
    found = page("""\
        ````markdown
        ```python
        shown
        ```
        ````

        <!--
        ```python
        hidden
        ```
        -->
        """)
    assert [(block.language, block.source) for block in found.examples] == [
        ("markdown", "```python\nshown\n```\n"),
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_endings_and_a_byte_order_mark_change_no_place(newline: str, mark: str):
    text = mark + newline.join(["| é | b |", "|---|---|", "| 語 | `x` |", "", "```py", "a", "```", ""])
    found = read(Path("page.md"), text)
    row, block = found.examples
    assert (row.line, [cell.column for cell in row.columns]) == (3, [3, 7])
    assert (block.line, block.source) == (5, "a\n")
    assert found.text == text
    assert text[row.start : row.end] == "| 語 | `x` |"
    assert text[block.start : block.end] == newline.join(["```py", "a", "```"])
    assert [text[cell.start : cell.end] for cell in row.columns] == ["語", "`x`"]


def test_a_file_is_read_with_its_line_endings(tmp_path: Path):
    path = tmp_path / "page.md"
    path.write_bytes(b"```py\r\na\r\n```\r\n")
    assert read(path).text == "```py\r\na\r\n```\r\n"


def test_ids_are_below_the_folder_of_the_site(tmp_path: Path):
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nmarkdown_extensions: [pymdownx.superfences]\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guides").mkdir()
    for path in ("docs/page.md", "docs/guides/../page.md"):
        assert read(tmp_path / path, "```\na\n```\n").examples[0].id == "docs/page.md:1"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("1 \\| 3", "1 | 3"),
        ("&lt;int&gt;", "<int>"),
        ("`_omni_is_prefill`", "_omni_is_prefill"),
        ("_omni_x_", "omni_x"),
        ("__init__", "init"),
        ("[a](b.md)", "a"),
        ("x<br>y", "x y"),
        ("`{'a': 1}`", "{'a': 1}"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("", ""),
    ],
)
def test_cells_are_read_as_rendered(cell: str, text: str):
    assert only(f"| a | b |\n|---|---|\n| {cell} | z |\n").cells == (text, "z")


def test_an_empty_cell_has_a_place_to_write_to():
    text = "| a | b |\n|---|---|\n|  | z |\n"
    cell = only(text).columns[0]
    assert (cell.column, cell.raw) == (3, "")
    assert text[: cell.start] + "x" + text[cell.end :] == "| a | b |\n|---|---|\n| x | z |\n"


class TestExemptions:
    def test_a_block_is_exempt_with_its_reason(self):
        assert only("<!-- not executed: needs a GPU -->\n\n```python\na\n```\n").exempt == "needs a GPU"

    def test_indented_code_is_shown_only_when_exempt(self):
        block = only("<!-- not executed: output of\n     another machine -->\n\n    a\n\n    b\n")
        assert (block.kind, block.language, block.source, block.line, block.end_line) == ("block", "", "a\n\nb\n", 4, 6)
        assert block.exempt == "output of another machine"

    def test_a_tables_reason_covers_its_rows(self):
        found = page("<!-- not executed: read -->\n| a |\n|---|\n| 1 |\n| 2 |\n")
        assert [row.exempt for row in found.examples] == ["read", "read"]

    def test_an_admonitions_reason_covers_its_title_and_not_its_body(self):
        found = page("<!-- not executed: prose -->\n!!! note\n\n    ```python\n    a\n    ```\n")
        assert [example.exempt for example in found.examples] == ["prose", None]

    def test_it_works_inside_a_list(self):
        assert only("- x\n\n    <!-- not executed: why -->\n    ```py\n    a\n    ```\n").exempt == "why"


class TestClauses:
    @pytest.mark.parametrize(
        "anchor",
        [
            "## Title {#ROUTE-1}",
            "## Title {: #ROUTE-1 .x }",
            "## Title\n\n[ROUTE-1](#ROUTE-1){#ROUTE-1 .clause} says so.",
            "## Title\n\nA promise.\n{: #ROUTE-1 }",
            '## Title\n\n<a id="ROUTE-1"></a> says so.',
            '## Title\n\n<a id="ROUTE-1"></a>\n\nText.',
        ],
    )
    def test_every_spelling_of_an_anchor(self, anchor: str):
        found = page(f"# Page\n\n{anchor}\n\n```py\na\n```\n")
        assert list(found.clauses) == ["ROUTE-1"]
        assert "ROUTE-1" in found.text.split("\n")[found.clauses["ROUTE-1"] - 1]
        assert found.examples[0].clauses == ("ROUTE-1",)

    def test_an_example_belongs_to_its_section_or_the_nearest_around_it(self):
        found = page("""\
            # Page {#SCOPE-1}

            ```py
            page
            ```

            ## One {#HOOK-1}

            ```py
            one, before its other anchor
            ```

            [HOOK-2](#HOOK-2){#HOOK-2}

            ### Detail

            ```py
            detail
            ```

            ## Two

            ```py
            two
            ```
            """)
        assert [example.clauses for example in found.examples] == [
            ("SCOPE-1",),
            ("HOOK-1", "HOOK-2"),
            ("HOOK-1", "HOOK-2"),
            ("SCOPE-1",),
        ]
        assert found.clauses == {"SCOPE-1": 1, "HOOK-1": 7, "HOOK-2": 13}

    def test_shown_anchors_and_other_ids_are_no_clauses(self):
        found = page("## Title {#title}\n\n`{#ROUTE-1}`\n\n```md\n## X {#ROUTE-2}\n```\n")
        assert found.clauses == {}

    def test_a_clause_is_anchored_on_one_page(self):
        one, two = (read(Path(name), "# T\n\n## U {#HOOK-1}\n\n```\na\n```\n") for name in ("one.md", "two.md"))
        check_unique([one])
        with pytest.raises(PageError, match=r"^two\.md:3: clause HOOK-1 is already anchored at one\.md:3: "):
            check_unique([one, two])


class TestIncludes:
    def test_what_is_taken_in_is_not_read(self):
        found = page('# T\n\n--8<-- "generated/matrix.md"\n\n```py\na\n```\n')
        assert found.includes == {"generated/matrix.md": 3}
        assert len(found.examples) == 1

    def test_a_page_that_only_shows_the_changelog_has_no_examples(self):
        found = page('# Changes\n\n--8<-- "CHANGELOG.md"\n')
        assert (found.examples, found.only_shows_changelog) == ((), True)

    def test_the_changelog_beside_anything_else_is_an_ordinary_page(self):
        assert not page('# Changes\n\n--8<-- "CHANGELOG.md"\n\n```\na\n```\n').only_shows_changelog


def test_front_matter_is_not_part_of_the_page():
    assert only("---\ntitle: |\n    x\nhide: [toc]\n---\n\n```py\na\n```\n").line == 7
