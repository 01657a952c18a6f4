"""Proves that what is run is what is read: the examples of a page are those of the rendered page, in order.

markdown-it-py finds the examples, Python-Markdown makes the site, and they disagree more often than one thinks: about
a table right after a paragraph, a pipe in a code span, the indentation of a list. Where they do, the page is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from . import fence, site
from .errors import PageError
from .example import Example
from .html import Reader, Shown
from .sections import CLAUSE, Sections
from .source import Source

_RIGHT = {
    "block": 'write ```python or ```python title="…" on a line of its own, close it with the same marks at the same '
    "indentation, and indent by four spaces for each list, admonition or tab around it",
    "header": "put blank lines around the table, and keep pipes, braces and HTML out of its cells",
    "row": "put blank lines around the table, and keep pipes, braces and HTML out of its cells",
    "heading": "write # and a space before a heading, with blank lines around it",
    "admonition": 'write !!! type "Title" on a line of its own, and indent the body by four spaces',
}
_CALLED = {
    "block": "the block",
    "header": "the table header",
    "row": "the row",
    "admonition": "the admonition",
    "heading": "the heading",
}


def check(source: Source, body: str, examples: tuple[Example, ...], sections: Sections) -> None:
    """Raises PageError at the first example that a reader of ``body`` would not get as it is run, or at its neighbour.

    Code is compared line by line, tabs expanded; other texts with runs of white space made one space. Language and
    title of a block count where the site shows them. Examples have to stand in the same admonition, and headings at the
    same places, as clauses go by sections; clause anchors have to be anchors of the site.
    """
    reader = _render(source, body)
    expected = _expected(examples, sections)
    before = 1
    for at in range(max(len(expected), len(reader.shown))):
        run, line = expected[at] if at < len(expected) else (None, before)
        shown = reader.shown[at] if at < len(reader.shown) else None
        if run is None or shown is None or not _same(run, shown):
            if run and any(_same(run, later) for later in reader.shown[at + 1 :]):
                run, line = None, before
            elif shown and any(_same(later, shown) for later, _ in expected[at + 1 :]):
                shown = None
            raise PageError(source.path, line, _difference(run, shown))
        before = line
        if run.kind != "heading" and run.inside != shown.inside:
            message = f"a reader gets {_named(run, None)} in another admonition, or in none: {_RIGHT['admonition']}"
            raise PageError(source.path, line, message)
    for name, line in sections.lines.items():
        if name not in reader.ids:
            message = f"the site makes no anchor of {name}: write {{#{name}}} behind a heading, a link or a paragraph"
            raise PageError(source.path, line, message)
    for name in reader.ids:
        if CLAUSE.fullmatch(name) and name not in sections.lines:
            message = f"the site anchors {name}, and the examples do not know it: write {{#{name}}} in Markdown, once"
            line = next((at for at, text in enumerate(source.lines, 1) if name in text), 1)
            raise PageError(source.path, line, message)


def _render(source: Source, body: str) -> Reader:
    builder = site.builder(source.path)
    reader = Reader(site.diagrams(builder))
    try:
        reader.feed(builder.convert(body))
        reader.close()
    except Exception as error:  # extensions are other people's code, and raise what they like
        message = f"the site cannot render this page ({type(error).__name__}: {error}): simplify its Markdown"
        raise PageError(source.path, 1, message) from None
    finally:
        builder.reset()
    return reader


def _expected(examples: Iterable[Example], sections: Sections) -> list[tuple[Shown, int]]:
    """What the site has to show, and the 1-based line of each, in the order of the page."""
    found: list[tuple[Shown, int, int | None]] = [
        (Shown("heading", [text], level=level), line, None) for line, level, text in sections.headings
    ]
    found += _of_examples(examples)
    found.sort(key=lambda what: what[1])
    place = {line: at for at, (shown, line, _) in enumerate(found) if shown.kind == "admonition"}
    for shown, _, parent in found:
        shown.inside = place.get(parent or 0)
    return [(shown, line) for shown, line, _ in found]


def _of_examples(examples: Iterable[Example]) -> Iterator[tuple[Shown, int, int | None]]:
    """Each example and each table header, its line, and the line of the admonition around it."""
    table = 0
    for example in examples:
        if example.kind == "block":
            shown = Shown("block", [example.source], example.language, example.title)
        elif example.kind == "admonition":
            shown = Shown("admonition", [example.title])
        else:
            shown = Shown("row", list(example.cells))
            if example.table_line != table:
                table = example.table_line
                yield Shown("header", list(example.header)), table, example.parent
        yield shown, example.line, example.parent


def _same(run: Shown, shown: Shown) -> bool:
    if run.kind != shown.kind:
        return False
    if run.kind == "heading":
        # The text of a heading is not run, and its attribute list is gone from it on the site.
        return run.level == shown.level
    if run.kind != "block":
        return _texts(run) == _texts(shown)
    # A language that the highlighter does not know is shown as text, as is none.
    known = fence.language(shown.language) in (run.language, "text", "")
    return known and _texts(run) == _texts(shown) and run.title.split() == shown.title.split()


def _texts(shown: Shown) -> list[str]:
    if shown.kind == "block":
        lines = "".join(shown.texts).expandtabs(4).split("\n")
        return "\n".join(line.rstrip() for line in lines).strip("\n").split("\n")
    # An admonition without a title is one with an empty title.
    return [" ".join(text.split()) for text in shown.texts or [""]]


def _difference(run: Shown | None, shown: Shown | None) -> str:
    kind = shown.kind if shown else run.kind if run else "block"
    return f"a reader gets {_named(shown, run)}, what is run is {_named(run, shown)}: {_RIGHT[kind]}"


def _named(shown: Shown | None, other: Shown | None) -> str:
    if shown is None:
        return "nothing"
    texts = _texts(shown)
    if shown.kind == "block" and other and other.kind == "block":
        texts = _from_first_difference(texts, _texts(other)) or [shown.language or "text", shown.title]
    return f"{_CALLED[shown.kind]} {_short(' | '.join(texts))!r}"


def _from_first_difference(texts: list[str], others: list[str]) -> list[str]:
    """The first line of ``texts`` that differs; empty where none does."""
    for one, other in zip_longest(texts, others):
        if one != other:
            return ["(its end)" if one is None else one]
    return []


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
