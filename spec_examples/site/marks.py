"""The quiet mark at each executed example of a built page: that it ran, on which release, and with what result.

A built page has the examples of its source in their order (``phase-contract check`` proves it), so the mark of the
n-th goes to the n-th.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser
from itertools import accumulate

from spec_examples.execution.tables import ROUTING
from spec_examples.markdown import Example
from spec_examples.markdown.html import _VOID as VOID
from spec_examples.site.verified import Verified

GENERATED = {"matrix", "evidence"}
"""Classes of what is taken in from recorded results, and holds no examples."""

WORDS = {"passed": "✓", "diverges": "≠", "exempt": "–", "failed": "✗", "error": "✗"}


class PageDiffers(ValueError):
    """A built page does not have the examples of its source; the message says which page."""


@dataclass(frozen=True)
class Place:
    """Where a mark goes: behind the ``offset``-th character of the page, for an example of ``kind``."""

    kind: str
    offset: int


class Places(HTMLParser):
    """Feed it a built page; ``found`` has a place for each block, row and admonition of its article, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self._starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
        self._open: list[tuple[str, frozenset[str], int | None]] = []
        self._at: list[Place | None] = []
        self.feed(text)
        self.close()
        self.found = [place for place in self._at if place is not None]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what a mark will belong to; it goes before the end of the element."""
        if tag in VOID:
            return
        classes = frozenset((dict(attrs).get("class") or "").split())
        kind = self._kind(tag, classes) if self._is_text() else None
        if kind:
            self._at.append(None)
        self._open.append((tag, classes, len(self._at) - 1 if kind else None))

    def _is_text(self) -> bool:
        inside = frozenset().union(*(classes for _, classes, _ in self._open))
        return any(tag == "article" for tag, _, _ in self._open) and not inside & GENERATED

    def _kind(self, tag: str, classes: frozenset[str]) -> str | None:
        if tag == "div" and "highlight" in classes:
            return "block"
        if tag == "tr" and any(outer == "tbody" for outer, _, _ in self._open):
            return "row"
        if tag == "summary" or (tag == "p" and "admonition-title" in classes):
            return "admonition"
        return None

    def handle_endtag(self, tag: str) -> None:
        """An element ends: there goes its mark. A row's goes into its last cell."""
        line, column = self.getpos()
        offset = self._starts[line - 1] + column
        if not any(outer == tag for outer, _, _ in self._open):
            return
        while self._open:
            ended, _, at = self._open.pop()
            if tag == "td" and ended == "td":
                self._cell_ended = offset
            if at is not None:
                kind = {"div": "block", "tr": "row"}.get(ended, "admonition")
                self._at[at] = Place(kind, self._cell_ended if kind == "row" else offset)
            if ended == tag:
                return

    _cell_ended = 0


def marked(text: str, examples: Iterable[Example], verified: Verified, explorer: str) -> str:
    """The page with a mark at each example. ``explorer`` is the way from the page to the explorer.

    Raises ``PageDiffers`` where page and examples are not the same ones.
    """
    places, wanted = Places(text).found, list(examples)
    if [place.kind for place in places] != [example.kind for example in wanted]:
        page = wanted[0].page if wanted else "a page"
        raise PageDiffers(f"{page}: the built page has {len(places)} examples, its source {len(wanted)}")
    parts, before = [], 0
    for place, example in sorted(zip(places, wanted, strict=True), key=lambda each: each[0].offset):
        parts += [text[before : place.offset], mark(example, verified, explorer)]
        before = place.offset
    return "".join([*parts, text[before:]])


def mark(example: Example, verified: Verified, explorer: str) -> str:
    """One mark; none for an example that the check does not name."""
    found: Mapping[str, str] | None = verified.outcomes.get(example.id)
    if found is None:
        return ""
    outcome = found["outcome"]
    on = f"vLLM-Omni {verified.vllm_omni}"
    said = {
        "passed": f"observed on {on}" if example.title == "Output" else f"ran on {on}",
        "exempt": f"not executed: {found['message']}",
        "diverges": f"{on} diverges, as is known",
    }.get(outcome, f"failed on {on}")
    if example.kind == "block":
        return f'<small class="ran {outcome}">{WORDS[outcome]} {escape(said)}</small>'
    shown = f'<span class="ran {outcome}" title="{escape(said)}">{WORDS[outcome]}<span>{escape(said)}</span></span>'
    return f"{shown}{_link(example, explorer)}"


def _link(example: Example, explorer: str) -> str:
    """A row about routing can be looked at on every release."""
    if example.header != ROUTING:
        return ""
    prompt_len, computed, span = example.cells[:3]
    place = f"{explorer}?prompt_len={prompt_len}&amp;computed={computed}&amp;span={span}"
    words = f"({prompt_len}, {computed}, {span}) on every release"
    return f' <a class="ran" href="{place}" title="{words}" aria-label="{words}">→</a>' if _is_asked(example) else ""


def _is_asked(example: Example) -> bool:
    from spec_examples.explorer import grid

    numbers: Iterator[tuple[str, tuple[int, ...]]] = zip(
        example.cells[:3], (grid.PROMPT_LENS, grid.COMPUTED, grid.SPANS), strict=True
    )
    return all(int(cell) in axis for cell, axis in numbers)
