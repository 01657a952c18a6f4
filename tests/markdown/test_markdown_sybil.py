"""Sybil gets every example of a page; a wrong page fails once, in one line."""

from pathlib import Path

from sybil import Document

from spec_examples.markdown.sybil_parser import PageDocument, examples_parser

pytest_plugins = ["pytester"]

PAGE = """\
# T

```python title="x"
a = 1
```

!!! note "N"

    | a | b |
    |---|---|
    | 1 | 2 |
    | 3 | 4 |
"""

CONFTEST = """\
from sybil import Sybil
from spec_examples.markdown.sybil_parser import PageDocument, examples_parser

def evaluate(example):
    if example.parsed.kind == "row" and example.parsed.cells[0] == "3":
        return "three is wrong"

sybil = Sybil([examples_parser(evaluate)], pattern="*.md", document_types={".md": PageDocument})
pytest_collect_file = sybil.pytest()
"""


def test_each_example_is_a_region_with_its_line(tmp_path: Path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    seen = []
    document = Document.parse(str(path), examples_parser(lambda example: seen.append(example.parsed)))
    for example in document:
        assert example.line == example.parsed.line
        example.evaluate()
    assert [(example.kind, example.line) for example in seen] == [
        ("block", 3),
        ("admonition", 7),
        ("row", 11),
        ("row", 12),
    ]


def test_under_pytest_an_example_is_an_item(pytester):
    pytester.makeconftest(CONFTEST)
    pytester.path.joinpath("page.md").write_text(PAGE)
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*three is wrong*"])


def test_under_pytest_a_wrong_page_is_one_failure_in_one_line(pytester):
    pytester.makeconftest(CONFTEST)
    pytester.path.joinpath("page.md").write_text(PAGE + "\n```python\na\n")
    pytester.path.joinpath("bytes.md").write_bytes(b"# T\n\n\xff\n")
    pytester.path.joinpath("empty.md").write_bytes(b"")
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "*bytes.md:3:1: U+FFFD, which stands for bytes that were not UTF-8: *",
            "*empty.md:1: a page with no example: *",
            "*page.md:14: this fence is not closed: *",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_wrong_page_is_a_region_that_has_its_error(tmp_path: Path):
    path = tmp_path / "page.md"
    path.write_bytes(b"x\r\n\r\n```py\r\n")
    (region,) = PageDocument.parse(str(path), examples_parser(lambda example: None))
    assert (region.line, region.parsed.line) == (3, 3)
