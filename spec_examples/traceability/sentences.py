"""The paragraphs of a page with the clauses that they state or belong to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from markdown_it.token import Token

from spec_examples.markdown import Page, blocks
from spec_examples.markdown.sections import Sections, clauses_of
from spec_examples.markdown.sections import _Section as Section
from spec_examples.markdown.source import Source

STRICT = re.compile(r"\b(must|never)\b", re.IGNORECASE)
"""Words of a sentence that binds somebody: a clause has to stand behind it."""

_LINK = re.compile(r"\]\([^()\s]*#(?P<id>[A-Z]+-\d+)\)")
_STATES = re.compile(r"\[(?P<id>[A-Z]+-\d+)\]\(#[A-Z]+-\d+\)\{#[^}]*\}\s*\*[^*]+\*:\s*")


@dataclass(frozen=True)
class Paragraph:
    """``text`` is Markdown without line breaks; ``line`` counts from 1.

    ``states`` is the clause whose text this is. ``belongs`` are the clauses of its section, ``links`` those that it
    refers to.
    """

    page: str
    line: int
    text: str
    states: str = ""
    belongs: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def binds(self) -> str:
        """The first sentence that says *must* or *never*; empty where none does."""
        return next((s for s in re.split(r"(?<=[.:;!?])\s+", self.text) if STRICT.search(s)), "")

    @property
    def is_covered(self) -> bool:
        """Whether a clause stands behind it."""
        return bool(self.states or self.belongs or self.links)


def paragraphs(page: Page) -> tuple[Paragraph, ...]:
    """Every paragraph, list item, cell and heading, in the order of the page."""
    return _of_text(page.path, page.text)


@lru_cache(maxsize=64)
def _of_text(path: Path, text: str) -> tuple[Paragraph, ...]:
    source = Source(path, text)
    sections = Sections(path)
    found = []
    for token in blocks.parse(source.body):
        sections.meet(token)
        if token.type == "inline":
            found.append((source.page, token, sections.here()))
    return tuple(_paragraph(*each) for each in found)


def _paragraph(page: str, token: Token, section: Section) -> Paragraph:
    text = " ".join(token.content.split())
    own = _STATES.match(text)
    return Paragraph(
        page=page,
        line=(token.map or [0])[0] + 1,
        text=text[own.end() :] if own else text,
        states=own["id"] if own else "",
        belongs=clauses_of(section),
        links=tuple(match["id"] for match in _LINK.finditer(text)),
    )
