"""Whatever is on a page, reading it gives a Page whose places are true, or a PageError."""

import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from spec_examples.markdown import Page, PageError, read

INDENTATION = st.lists(st.sampled_from(["", "", "", "    ", "  ", "> ", "- ", "\t"]), max_size=2).map("".join)
FRAGMENTS = """\
text|`code`|{: #B-1 }|{#E-1}|[x](y){#D-1}|# Title {#A-1}|## Title|---|===|<div>|</div>|<div markdown>|<pre>|</pre>|<!--
-->|<!-- not executed: why -->|<!-- not executed -->|<details>|<summary>x|<table><tr><td>x|<a id="C-1">|<script>|<b
[^1]: note|[a]: b|*[x]: y|:   definition|/// note|&lt;|\\|<![CDATA[|--8<-- "x.md"|---8<---|- item|1. item|~~~|é語
```python|``` {.py title="x"}|```|````|!!! note "T"|!!! note|??? warning|???+ x "y"|=== "Tab"|$$
""".strip().replace("\n", "|")
FRAGMENT = st.sampled_from(FRAGMENTS.split("|"))
ROW = st.sampled_from(["| a | b |", "|---|---|", "| 1 | 2 |", "| `x` | y\\|z |", "| 1 |", "a | b", "--|--"])
LINES = st.lists(st.builds("{}{}".format, INDENTATION, st.one_of(FRAGMENT, ROW, st.just(""))), max_size=14)
WHOLE = st.sampled_from(
    [
        "```python\na\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        '!!! note "T"\n    x\n\n    ```py\n    b\n    ```',
        '=== "A"\n\n    | a |\n    |---|\n    | 1 |',
        "## Title {#A-1}",
        "text `code`",
        "- x\n\n    ```\n    c\n    ```",
        "<!-- not executed: why -->",
    ]
)


READ_S = 5.0
"""Seconds of the processor for one page: whatever is on it, reading it ends."""


def lines_of(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def outcome(text: str) -> tuple[Page, None] | tuple[None, PageError]:
    try:
        return read(Path("page.md"), text), None
    except PageError as error:
        return None, error


def holds(text: str) -> None:
    lines = lines_of(text.removeprefix("\ufeff"))
    started = time.process_time()
    page, error = outcome(text)
    assert time.process_time() - started < READ_S
    if page is None:
        assert "\n" not in str(error)
        assert 1 <= error.line <= len(lines)
        return
    done = 0
    for example in page.examples:
        assert done <= example.start <= example.end
        done = example.end
        region = lines_of(text[example.start : example.end])
        assert region[0] in lines[example.line - 1]
        assert len(region) == example.end_line - example.line + 1
        for cell in example.columns:
            assert text[cell.start : cell.end] == cell.raw
            assert lines[example.line - 1][cell.column - 1 :].startswith(cell.raw)


SETTINGS = settings(deadline=None, database=None)


@SETTINGS
@given(LINES, st.sampled_from(["\n", "\n", "\r\n", "\r"]))
def test_fragments_of_markdown(lines: list[str], newline: str):
    holds(newline.join(lines))


@SETTINGS
@given(st.lists(WHOLE, max_size=8), st.sampled_from(["\n\n", "\n\n", "\n\n\n", "\n"]), st.sampled_from(["", "\ufeff"]))
def test_whole_constructs(parts: list[str], between: str, mark: str):
    holds(mark + between.join(parts) + "\n")


@SETTINGS
@given(st.text(alphabet="`~|-!?=\"'<>#{}[]()*_\\ \n\tab:.&;^1+$", max_size=80) | st.text(max_size=60))
def test_arbitrary_text(text: str):
    holds(text)
