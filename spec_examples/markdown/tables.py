"""The body rows of a table: their cells as read, and where each stands in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from markdown_it.token import Token

from . import inline
from .errors import PageError
from .example import Cell
from .rows import spans, unescaped
from .source import Source

_FOOTNOTE = re.compile(r"\[\^[^\]]+\]")
_BRACES = re.compile(r"\{[^{}]*\}")


def rows(source: Source, tokens: list[Token], at: int) -> Iterator[dict[str, Any]]:
    """``token``, ``header``, ``cells`` and ``columns`` of each body row of the table that opens at ``tokens[at]``.

    Raises PageError for a row with too many or too few cells, a header that is empty or doubled, a table without a
    body row, and for what a cell may not have: a footnote, or an attribute list.
    """
    header: tuple[str, ...] = ()
    line = 0
    for row, cells in _rows(tokens, at):
        columns = _columns(source, row, cells, len(header) or len(cells))
        texts = tuple(inline.rendered(cell) for cell in cells)
        line = (row.map or [0])[0] + 1
        for cell, column in zip(cells, columns, strict=False):
            _check_cell(source, line, cell, column)
        if header:
            yield {"token": row, "header": header, "cells": texts, "columns": columns}
            continue
        header = texts
        table_line = line
        _check_header(source, line, header, columns)
    if line == table_line:
        raise PageError(source.path, line, "a table without a row claims nothing: add a row, or remove the table")


def _rows(tokens: list[Token], at: int) -> Iterator[tuple[Token, list[Token]]]:
    row: Token | None = None
    cells: list[Token] = []
    while tokens[at].type != "table_close":
        token = tokens[at]
        if token.type == "tr_open":
            row, cells = token, []
        elif token.type == "inline":
            cells.append(token)
        elif token.type == "tr_close" and row:
            yield row, cells
        at += 1


def _columns(source: Source, row: Token, cells: list[Token], expected: int) -> tuple[Cell, ...]:
    start, end = row.meta["start"], row.meta["end"]
    text = source.body[start:end]
    line = (row.map or [0])[0] + 1
    places = spans(text)
    if len(places) != expected:
        shown = f"{len(places)} cell{'s' * (len(places) != 1)} where the header has {expected}"
        right = "write one cell for each column, and a pipe inside a cell as \\| outside backticks"
        raise PageError(source.path, line, f"{shown}: {right}", source.column(start))
    for cell, (left, right_) in zip(cells, places, strict=False):
        if unescaped(text[left:right_]) != cell.content:
            message = f"this cell is read as '{cell.content}': write it so that its pipes are plain"
            raise PageError(source.path, line, message, source.column(start + left))
    return tuple(
        Cell(source.column(start + left), text[left:right], source.offset(start + left), source.offset(start + right))
        for left, right in places
    )


def _check_header(source: Source, line: int, header: tuple[str, ...], columns: tuple[Cell, ...]) -> None:
    for at, (name, column) in enumerate(zip(header, columns, strict=True)):
        if not name:
            raise PageError(source.path, line, "a column without a header: name it", column.column)
        if name.casefold() in (other.casefold() for other in header[:at]):
            raise PageError(source.path, line, f"the column '{name}' is there twice: keep one", column.column)


def _check_cell(source: Source, line: int, cell: Token, column: Cell) -> None:
    # A defined footnote looks like a link here, so it is looked for in what was written.
    if found := _FOOTNOTE.search(inline.without_code(cell)):
        message = f"a footnote in a cell, {found[0]}: say it below the table"
        raise PageError(source.path, line, message, column.column)
    for text in inline.plain(cell):
        if found := _BRACES.search(text):
            message = f"the site takes {found[0]} in a cell for an attribute list: put it in backticks, or outside"
            raise PageError(source.path, line, message, column.column)
