"""No spelling of a fence is skipped: what the site renders as code is found on its line, or is an error."""

from pathlib import Path

import pytest

from spec_examples.markdown import PageError, read
from spec_examples.markdown.html import Reader
from spec_examples.markdown.site import builder

PAGE = Path("docs/page.md")

FOUND = {
    "plain": ("```python\na\n```\n", 1, "python"),
    "none": ("```\na\n```\n", 1, ""),
    "titled": ('```python title="x"\na\n```\n', 1, "python"),
    "braced": ("```{.python}\na\n```\n", 1, "python"),
    "braced, spaced and titled": ('```{ .python title="x" }\na\n```\n', 1, "python"),
    "braced after the language": ('```python {title="x"}\na\n```\n', 1, "python"),
    "dotted": ("```.python\na\n```\n", 1, "python"),
    "after a space": ("``` python\na\n```\n", 1, "python"),
    "after a tab": ("```\tpython\na\n```\n", 1, "python"),
    "highlighted lines": ('```python hl_lines="1"\na\n```\n', 1, "python"),
    "py": ("```py\na\n```\n", 1, "python"),
    "capital": ("```Python\na\n```\n", 1, "python"),
    "pycon": ("```pycon\n>>> a\n```\n", 1, "pycon"),
    "a language with marks": ("```c++\na\n```\n", 1, "c++"),
    "unknown": ("```nonesuch\na\n```\n", 1, "nonesuch"),
    "tildes": ("~~~python\na\n~~~\n", 1, "python"),
    "long": ("`````python\na\n```\n`````\n", 1, "python"),
    "trailing spaces": ("```python   \na\n```   \n", 1, "python"),
    "slightly indented": ("   ```python\n   a\n   ```\n", 1, "python"),
    "between lines of a paragraph": ("x\n```python\na\n```\ny\n", 2, "python"),
    "no line ending at the end": ("```python\na\n```", 1, "python"),
    "empty": ("```python\n```\n", 1, "python"),
    "in a quote": ("> ```python\n> a\n> ```\n", 1, "python"),
    "in a list": ("- x\n\n    ```python\n    a\n    ```\n", 3, "python"),
    "in a list, by two spaces": ("- x\n\n  ```python\n  a\n  ```\n", 3, "python"),
    "in a tight list": ("- x\n    ```python\n    a\n    ```\n", 2, "python"),
    "in a nested list": ("- x\n    - y\n\n        ```python\n        a\n        ```\n", 4, "python"),
    "in a tab": ('=== "A"\n    ```python\n    a\n    ```\n', 2, "python"),
    "in a tab in a tab": ('=== "A"\n\n    === "B"\n\n        ```python\n        a\n        ```\n', 5, "python"),
    "in a tab after blank lines": ('=== "A"\n\n    x\n\n\n    ```python\n    a\n    ```\n', 6, "python"),
    "in a tab in a list": ('- x\n\n    === "A"\n\n        ```python\n        a\n        ```\n', 5, "python"),
    "in HTML": ("<div>\n\n```python\na\n```\n\n</div>\n", 3, "python"),
    "with a tab in the code": ("```python\nif a:\n\tb\n```\n", 1, "python"),
}

REFUSED = {
    "closed by more marks": "```python\na\n`````\n",
    "closed at another indentation": "```python\na\n ```\n",
    "an attribute without quotes": "```python a=b\na\n```\n",
    "two languages": "```python foo bar\na\n```\n",
    "a backtick in the title": '```python title="`x`"\na\n```\n',
    "beside a list mark": "- ```python\n  a\n  ```\n",
    "a lazy quote": "> ```python\na\n> ```\n",
    "indented by a tab": "\t```python\n\ta\n\t```\n",
    "in a list by too little": "1. x\n\n  ```python\n  a\n ```\n",
    "in HTML without a blank line": "<div>\n```python\na\n```\n</div>\n",
    "in a tab without quotes": "=== A\n\n    ```python\n    a\n    ```\n",
    "in a definition": "x\n:   y\n\n    ```python\n    a\n    ```\n",
    "in a footnote": "x[^1]\n\n[^1]:\n    ```python\n    a\n    ```\n",
    "in an admonition marked with two spaces": "!!!  note\n    ```python\n    a\n    ```\n",
}


@pytest.mark.parametrize(("text", "line", "language"), FOUND.values(), ids=FOUND)
def test_found_on_its_line(text: str, line: int, language: str):
    (block,) = (example for example in read(PAGE, text).examples if example.kind == "block")
    assert (block.line, block.language) == (line, language)
    assert block.source.strip() in ("a", ">>> a", "if a:\n\tb", "a\n```", "")


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_refused(text: str):
    with pytest.raises(PageError):
        read(PAGE, text)


@pytest.mark.parametrize("text", [text for text, _, _ in FOUND.values()], ids=FOUND)
def test_the_site_renders_what_is_found(text: str):
    reader = Reader()
    reader.feed(builder(PAGE).reset().convert(text))
    assert [shown.kind for shown in reader.shown] == ["block"]


ADMONITIONS = {
    "titled": ('!!! note "T"\n    x\n', "note", "T"),
    "by its type": ("!!! warning\n    x\n", "warning", "Warning"),
    "without a title": ('!!! note ""\n    x\n', "note", ""),
    "more classes": ('!!! note inline end "T"\n    x\n', "note", "T"),
    "collapsed": ('??? note "T"\n    x\n', "note", "T"),
    "open": ('???+ note "T"\n    x\n', "note", "T"),
    "without a space": ('!!!note "T"\n    x\n', "note", "T"),
    "capital": ('!!! Note "T"\n    x\n', "note", "T"),
    "without a body": ('!!! note "T"\n\ntext\n', "note", "T"),
    "after a paragraph": ('text\n!!! note "T"\n    x\n', "note", "T"),
    "in a list": ('- x\n\n    !!! note "T"\n        y\n', "note", "T"),
    "markup in the title": ('!!! note "**T** `u`"\n    x\n', "note", "T u"),
}


@pytest.mark.parametrize(("text", "type_", "title"), ADMONITIONS.values(), ids=ADMONITIONS)
def test_admonitions(text: str, type_: str, title: str):
    (found,) = read(PAGE, text).examples
    assert (found.kind, found.type, found.title) == ("admonition", type_, title)
