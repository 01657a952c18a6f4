"""Finds the examples of a page in its tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from markdown_it.token import Token

from . import fence, inline
from .errors import PageError
from .example import Example
from .exemptions import exemptions
from .sections import Sections, clauses_of
from .source import Source
from .tables import rows

_INDENTED = (
    "indented code is shown and not run: use a fence, or exempt it with <!-- not executed: REASON -->; to stay inside "
    "an admonition, a list or a tab, indent by four spaces for each and leave one blank line at most"
)


def find(source: Source, tokens: list[Token]) -> tuple[tuple[Example, ...], Sections]:
    """The examples in the order of the page, and its sections, with the line of every heading and clause anchor.

    Raises PageError at the first thing that would be shown and not run, or run and not shown as written.
    """
    reasons = exemptions(source.path, tokens)
    sections = Sections(source.path)
    open_admonitions: list[int] = []
    found = []
    for at, token in enumerate(tokens):
        sections.meet(token)
        if token.type == "admonition_close":
            open_admonitions.pop()
        parent = open_admonitions[-1] if open_admonitions else None
        for example in _examples(source, tokens, at, reasons.get(at)):
            found.append((replace(example, parent=parent), sections.here()))
        if token.type == "admonition_open":
            open_admonitions.append(_line(token))
    return tuple(replace(example, clauses=clauses_of(section)) for example, section in found), sections


def _examples(source: Source, tokens: list[Token], at: int, reason: str | None) -> Iterator[Example]:
    token = tokens[at]
    if token.type == "fence":
        yield replace(_block(source, token), exempt=reason)
    elif token.type == "code_block":
        if reason is None:
            raise PageError(source.path, _line(token), _INDENTED)
        code = _example(source, token, "block", source=token.content, source_line=_line(token))
        yield replace(code, end_line=_line(token) + token.content.rstrip().count("\n"), exempt=reason)
    elif token.type == "table_open":
        for row in rows(source, tokens, at):
            row_token = row.pop("token")
            yield _example(source, row_token, "row", table_line=_line(token), exempt=reason, **row)
    elif token.type == "admonition_open":
        titled = tokens[at + 1].type == "admonition_title_open"
        title = inline.rendered(tokens[at + 2]) if titled else ""
        words = {"marker": token.markup, "type": token.meta["tag"], "title": title}
        yield _example(source, token, "admonition", exempt=reason, **words)


def _block(source: Source, token: Token) -> Example:
    line = _line(token)
    if not token.meta["closed"]:
        message = f"this fence is not closed: end it with {token.markup} on a line of its own, indented as here"
        raise PageError(source.path, line, message)
    language, attributes = fence.info(token.info)
    if "linenums" in attributes:
        raise PageError(source.path, line, "linenums would number code that is not the page's: remove it")
    code = _example(source, token, "block", language=language, title=attributes.get("title", ""))
    assert token.map is not None
    return replace(code, end_line=token.map[1], source=token.content, source_line=line + 1)


def _example(page: Source, token: Token, kind: Any, /, **what: Any) -> Example:
    line = _line(token)
    start, end = token.meta["start"], token.meta["end"]
    end = start + len(page.body[start:end].rstrip())
    return Example(kind, page.path, page.page, line, line, page.offset(start), page.offset(end), **what)


def _line(token: Token) -> int:
    return (token.map or [0])[0] + 1
