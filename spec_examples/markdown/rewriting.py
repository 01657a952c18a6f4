"""Write a cell's word or a block's lines anew, so that nothing else of the page changes, to the byte."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .example import Cell, Example, Page

_LINE_END = re.compile(r"\r\n?|\n")
_IDENTIFIER = re.compile(r"\w*_\w*")


@dataclass(frozen=True)
class Edit:
    """``page.text[start:end]`` becomes ``text``. ``line`` is the 1-based line at which it is seen."""

    line: int
    start: int
    end: int
    text: str


class CannotRewrite(ValueError):
    """What would have to stand there cannot be written there; the message says why."""


def applied(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with every edit; they do not overlap."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def cell(page: Page, row: Example, column: int, old: str, new: str) -> Edit:
    """The word ``old`` of a cell as rendered becomes ``new``; a reason behind it stays, and so does the column's width.

    Where another row has the same word, it is written as there: in backticks, for example.
    """
    place = row.columns[column]
    reason = row.cells[column][len(old) :]
    written = _as_elsewhere(page, row, column, new)
    if written is not None and not reason:
        raw = written
    elif old and old in place.raw:
        raw = place.raw.replace(old, new, 1)
    else:
        raw = " ".join(filter(None, (written or _IDENTIFIER.sub(r"`\g<0>`", new), reason.strip())))
    end, room = _room(page, row, column, place)
    if room is None:
        return Edit(row.line, place.start, place.end, raw)
    return Edit(row.line, place.start, end, raw.ljust(room) if len(raw) < room else f"{raw} ")


def _as_elsewhere(page: Page, row: Example, column: int, word: str) -> str | None:
    """How another row of a table with these headers writes ``word``, or what stands in a column like this one."""
    others = [e for e in page.examples if e.kind == "row" and e.header == row.header and e.line != row.line]
    for other in others:
        if other.cells[column] == word:
            return other.columns[column].raw
    if others and all(other.columns[column].raw == f"`{other.cells[column]}`" for other in others):
        return f"`{word}`"
    return None


def _room(page: Page, row: Example, column: int, place: Cell) -> tuple[int, int | None]:
    """Where the spaces behind a cell end, and how many characters every other line of an aligned table has up to there.

    ``None`` where the table is not aligned at this column.
    """
    behind = page.text[place.end :]
    end = place.end + len(behind) - len(behind.lstrip(" \t"))
    lines = _LINE_END.split(page.text)
    at = place.column - 1
    own = _pipes(lines[row.line - 1])
    number = sum(pipe < at for pipe in own)
    others = [_pipes(lines[n - 1]) for n in _lines_of(page, row) if n != row.line]
    if page.text[end : end + 1] != "|" or any(len(pipes) != len(own) for pipes in others):
        return place.end, None
    places = {(pipes[number - 1] if number else -1, pipes[number]) for pipes in others}
    if len(places) != 1:
        return place.end, None
    ((left, right),) = places
    return end, right - left - (at - (own[number - 1] if number else -1))


def _lines_of(page: Page, row: Example) -> range:
    """The lines of a row's table."""
    rows = [e.line for e in page.examples if e.kind == "row" and e.table_line == row.table_line]
    return range(row.table_line, max(rows) + 1)


def _pipes(line: str) -> list[int]:
    return [found.start() for found in re.finditer(r"(?<!\\)\|", line)]


def block(page: Page, example: Example, text: str) -> Edit:
    """The lines between the fences become those of ``text``, indented as the closing fence is."""
    first = _LINE_END.search(page.text, example.start)
    last = max(page.text.rfind("\n", 0, example.end), page.text.rfind("\r", 0, example.end)) + 1
    assert first is not None
    closing = page.text[last : example.end]
    prefix = closing[: len(closing) - len(closing.lstrip(" \t>"))]
    _check(text, closing.strip(" \t>"))
    return Edit(example.line, first.end(), last, _lines(text, prefix, first[0]))


def output_after(page: Page, example: Example, title: str, text: str) -> Edit:
    """A text block with ``title`` after a block that prints ``text``."""
    last = max(page.text.rfind("\n", 0, example.end), page.text.rfind("\r", 0, example.end)) + 1
    found = _LINE_END.search(page.text, example.start)
    assert found is not None
    newline = found[0]
    closing = page.text[last : example.end]
    prefix = closing[: len(closing) - len(closing.lstrip(" \t>"))]
    _check(text, "```")
    lines = _lines(f'```text title="{title}"\n{text}\n```', prefix, newline)
    return Edit(
        example.end_line, example.end, example.end, newline + prefix.rstrip() + newline + lines[: -len(newline)]
    )


def _lines(text: str, prefix: str, newline: str) -> str:
    return "".join(
        f"{prefix}{line}".rstrip() + newline if not line else f"{prefix}{line}{newline}" for line in text.split("\n")
    )


def _check(text: str, fence: str) -> None:
    for line in text.split("\n"):
        if line.strip().startswith(fence):
            raise CannotRewrite(f"a line of it starts with {fence}, which would end the block")
        if any(ord(c) < 32 and c != "\t" for c in line):
            raise CannotRewrite("a line of it has control characters, which a page may not have")
