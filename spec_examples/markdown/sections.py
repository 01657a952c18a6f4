"""Which clauses an example belongs to: the anchors of its section, or of the nearest section around it with any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it.token import Token

from . import inline
from .errors import PageError

CLAUSE = re.compile(r"[A-Z]+-\d+")
"""A clause id, such as ``ROUTE-1``; ids of any other form are the page's own business."""

_ATTRIBUTE_LIST = re.compile(r"\{:?([^{}\n]*)\}")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG_ID = re.compile(r"""<[a-zA-Z][^<>]*?\sid\s*=\s*["']?([^\s"'<>]+)""")


@dataclass
class _Section:
    level: int
    outer: _Section | None
    clauses: list[str] = field(default_factory=list)


class Sections:
    """Follows a page's tokens from heading to heading; sections are those of headings outside lists and boxes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, int] = {}
        """The 1-based line of every clause anchor met so far."""
        self.headings: list[tuple[int, int, str]] = []
        """The 1-based line, the level and the text of every heading met so far, those in boxes and lists too."""
        self._here = _Section(0, None)
        self._level = 0

    def meet(self, token: Token) -> None:
        """Take in the next token. Raises PageError at a clause id that was anchored before."""
        if token.type == "heading_open" and token.level == 0:
            level = int(token.tag[1])
            outer: _Section | None = self._here
            while outer and outer.level >= level:
                outer = outer.outer
            self._here = _Section(level, outer)
        if token.type == "heading_open":
            self._level = int(token.tag[1])
        elif token.type == "inline" and self._level:
            self.headings.append(((token.map or [0])[0] + 1, self._level, inline.rendered(token)))
            self._level = 0
        for name in _anchors(token):
            if not CLAUSE.fullmatch(name):
                continue
            line = (token.map or [0])[0] + 1 + token.content[: token.content.find(name)].count("\n")
            if name in self.lines:
                message = f"clause {name} is already anchored on line {self.lines[name]}: anchor it once"
                raise PageError(self.path, line, message)
            self.lines[name] = line
            self._here.clauses.append(name)

    def here(self) -> _Section:
        """The section of the token met last, to be asked for its ``clauses_of`` once the page was followed."""
        return self._here


def clauses_of(section: _Section) -> tuple[str, ...]:
    """The clauses of ``section``, or of the nearest section around it that has any."""
    while not section.clauses and section.outer:
        section = section.outer
    return tuple(section.clauses)


def _anchors(token: Token) -> Iterator[str]:
    if token.type == "html_block":
        yield from _TAG_ID.findall(_COMMENT.sub("", token.content))
    elif token.type == "inline":
        for text in inline.plain(token):
            yield from _TAG_ID.findall(text)
            for attributes in _ATTRIBUTE_LIST.findall(text):
                yield from (word[1:] for word in attributes.split() if word.startswith("#"))
