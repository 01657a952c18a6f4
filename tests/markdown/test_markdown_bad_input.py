"""What a wrong page gets: one line that says where, what, and what would be right."""

from pathlib import Path

import pytest

from spec_examples.markdown import PageError, read

OK = "\n\n```py\na\n```\n"

WRONG = {
    "an unclosed fence": ("text\n\n```py\na\n\nrest\n", "3: this fence is not closed: end it with ```"),
    "an unclosed fence in an admonition": ("!!! note\n    ~~~py\n    a\n\ntext\n", "2: this fence is not closed"),
    "indented code": ("text\n\n    a\n", "3: indented code is shown and not run: use a fence"),
    "code indented by a tab": ("text\n\n\ta\n", "3: indented code"),
    "a body that two blank lines cut off": ("!!! note\n    x\n\n\n    ```py\n    a\n    ```\n", "5: indented code"),
    "a title without quotes": ("!!! note My title\n    x\n", "1: a reader gets the admonition"),
    "a row too short": ("| a | b |\n|---|---|\n| 1 |\n", "3:1: 1 cell where the header has 2"),
    "a row too long": ("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", "3:1: 3 cells where the header has 2"),
    "a pipe in a code span": ("| a | b |\n|---|---|\n| `1|2` | 3 |\n", "3:1: 3 cells"),
    "an escaped pipe in a code span": ("| a | b |\n|---|---|\n| `1\\|2` | 3 |\n", "3: a reader gets the row"),
    "a doubled column": ("| a | b | A |\n|---|---|---|\n| 1 | 2 | 3 |\n", "1:11: the column 'A' is there twice"),
    "a column without a header": ("| a |  |\n|---|---|\n| 1 | 2 |\n", "1:7: a column without a header"),
    "a table without a row": ("| a |\n|---|\n", "1: a table without a row"),
    "a footnote in a cell": ("| a |\n|---|\n| 1[^n] |\n\n[^n]: x\n", "3:3: a footnote in a cell, [^n]"),
    "an attribute list in a cell": (
        "| a |\n|---|\n| 1 {.x} |\n",
        "3:3: the site takes {.x} in a cell for an attribute",
    ),
    "a table after a paragraph": ("text\n| a |\n|---|\n| 1 |\n", "2: a reader gets nothing, what is run is the table"),
    "a paragraph after a table": ("| a | b |\n|---|---|\n| 1 | 2 |\ntext\n", "4:1: 1 cell"),
    "a list after a table": ("| a | b |\n|---|---|\n| 1 | 2 |\n- x\n", "3: a reader gets the row '- x | '"),
    "a heading after a table": (
        "| a | b |\n|---|---|\n| 1 | 2 |\n# x\n",
        "4: a reader gets the row '# x | ', what is run is the heading 'x': put blank lines around the table",
    ),
    "linenums": ('```py linenums="1"\na\n```\n', "1: linenums"),
    "a snippet in a block": ('```py\na\n--8<-- "x.py"\n```\n', "3: a snippet inside a block"),
    "an escaped snippet in a block": ('```py\n;--8<-- "x.py"\n```\n', "2: a snippet inside a block"),
    "a snippet section in a block": ("```py\n# --8<-- [start:x]\n```\n", "2: a snippet inside a block"),
    "a snippet inside a paragraph": ('x\n--8<-- "x.md"\n' + OK, "2: a snippet that is not a paragraph of its own"),
    "a snippet block": ("--8<--\nx.md\n--8<--\n" + OK, "1: a snippet that is not a paragraph of its own"),
    "an exemption without a reason": ("<!-- not executed: -->" + OK, "1: an exemption without a reason"),
    "an exemption without a colon": ("<!-- not executed -->" + OK, "1: this exemption is incomplete"),
    "an exemption of nothing": ("<!-- not executed: x -->\n\ntext" + OK, "1: this exemption precedes nothing"),
    "an exemption at the end": ("```py\na\n```\n<!-- not executed: x -->\n", "4: this exemption precedes nothing"),
    "an exemption in a sentence": ("see <!-- not executed: x -->" + OK, "1: this exemption is incomplete, or does not"),
    "two exemptions in one line": ("<!-- not executed: x --><!-- not executed: y -->" + OK, "1: this exemption is"),
    "a paragraph of brackets": ("text\n\n" + "[" * 20_000 + OK, "3: 20000 '[' in one paragraph, of at most 1000: cut"),
    "HTML of nothing but marks": ("<!--" * 20_000 + OK, "1: 20000 '<' in one paragraph, of at most 2000: cut it"),
    "a page without an end": ("words\n\n" * 50_000 + OK, "1: a page of 350014 characters, of at most 300000: cut it"),
    "a doubled clause": (
        "# A {#HOOK-1}\n\n## B\n\n[x](y){#HOOK-1}" + OK,
        "5: clause HOOK-1 is already anchored on line 1",
    ),
    "an anchor that the site does not make": ("# A{#HOOK-1}" + OK, "1: the site makes no anchor of HOOK-1"),
    "an anchor that is hidden from the runner": (
        "<div markdown>\n[A](x){#HOOK-1}\n</div>" + OK,
        "2: the site anchors HOOK-1, and the examples do not know it",
    ),
    "a heading without a space": (
        "#Title" + OK,
        "1: a reader gets the heading 'Title', what is run is nothing: write #",
    ),
    "a raw HTML heading": (
        "# A\n\n<h2>B</h2>" + OK,
        "1: a reader gets the heading 'B', what is run is nothing: write #",
    ),
    "a body indented by three spaces": (
        '!!!note "T"\n\n   ```py\n   a\n   ```\n',
        "3: a reader gets the block 'a' in an",
    ),
    "a raw HTML table": (
        "<table><tr><td>x</td></tr></table>" + OK,
        "1: a reader gets the row 'x', what is run is nothing",
    ),
    "a raw HTML block of code": ("```py\na\n```\n\n<pre>x</pre>\n", "1: a reader gets the block 'x'"),
    "Markdown inside HTML that only the site reads": (
        "<div markdown>\n| a |\n|---|\n| 1 |\n</div>\n",
        "1: a reader gets",
    ),
    "broken front matter": ("---\n- x\n---\n" + OK, "1: the front matter is no YAML mapping"),
    "a control character": ("a\x00b" + OK, "1:2: the character U+0000"),
    "bytes that were not UTF-8": ("a\ufffd" + OK, "1:2: U+FFFD, which stands for bytes that were not UTF-8"),
    "an empty page": ("", "1: a page with no example"),
    "a page of white space": (" \n\n", "1: a page with no example"),
    "a page of prose": ("# Title\n\ntext\n", "1: a page with no example"),
    "a page of an include other than the changelog": ('# T\n\n--8<-- "x.md"\n', "1: a page with no example"),
    "the changelog and prose": ('# T\n\n--8<-- "CHANGELOG.md"\n\ntext\n', "1: a page with no example"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_is_one_line_that_says_where_and_what(text: str, message: str):
    with pytest.raises(PageError) as raised:
        read(Path("docs/page.md"), text)
    said = str(raised.value)
    assert said.startswith(f"docs/page.md:{message}")
    assert "\n" not in said
    assert ": " in said.removeprefix(f"docs/page.md:{message.split(':')[0]}: "), "what would be right"


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(PageError, match=r"nowhere\.md:1: cannot be read: No such file"):
        read(tmp_path / "nowhere.md")


def test_a_file_that_is_not_utf8(tmp_path: Path):
    path = tmp_path / "page.md"
    path.write_bytes(b"# T\n\n\xff\n")
    with pytest.raises(PageError, match=r"page\.md:3: byte 0xff is not UTF-8"):
        read(path)
