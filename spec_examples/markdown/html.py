"""What a reader of a rendered page gets of the things that examples are: code, table rows, admonition titles."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_CODE_CLASS = "language-"


@dataclass
class Shown:
    """One thing on a rendered page, in the order of the page.

    ``kind`` is ``block``, ``header``, ``row``, ``admonition`` or ``heading``; ``texts`` its code, cells, title or text.
    """

    kind: str
    texts: list[str] = field(default_factory=list)
    language: str = ""
    """Of a block: the name that it was highlighted by; empty where the page does not say."""
    title: str = ""
    """Of a block: the title above it."""
    level: int = 0
    """Of a heading: 1 to 6."""
    inside: int | None = None
    """Which of the things before it is the innermost admonition around it, counted from 0."""


@dataclass
class _Open:
    """An element that has not ended; ``text`` where its text is wanted."""

    tag: str
    shown: Shown | None = None
    text: list[str] | None = None
    title: bool = False
    classes: tuple[str, ...] = ()


class Reader(HTMLParser):
    """Feed it a page; ``shown`` has what stood on it, ``ids`` the anchors.

    ``diagrams`` are the classes of elements that hold code for the browser to draw.
    """

    def __init__(self, diagrams: frozenset[str] = frozenset()) -> None:
        super().__init__(convert_charrefs=True)
        self.shown: list[Shown] = []
        self.ids: list[str] = []
        self._diagrams = diagrams
        self._open: list[_Open] = []
        self._admonitions: dict[int, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        attributes = dict(attrs)
        if "id" in attributes:
            self.ids.append(attributes["id"] or "")
        if tag in _VOID:
            if tag == "br":
                self.handle_data(" ")
            return
        element = _Open(tag, classes=tuple((attributes.get("class") or "").split()))
        self._open.append(element)
        self._classify(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A slash means nothing to a browser, except on elements that are void anyway."""
        self.handle_starttag(tag, attrs)

    def _classify(self, element: _Open) -> None:
        tag, classes = element.tag, element.classes
        if tag == "pre" or (tag == "div" and self._diagrams.intersection(classes)):
            element.shown, element.text = self._new("block"), []
            element.shown.language = self._language(element)
            element.shown.title, self._title = self._title, ""
        elif tag == "tr":
            element.shown = self._new("row")
        elif tag in ("td", "th"):
            row = self._nearest("tr")
            if row and row.shown:
                row.shown.kind = "header" if tag == "th" else "row"
                element.shown, element.text = row.shown, []
        elif tag == "details" or (tag == "div" and "admonition" in classes):
            element.shown = self._new("admonition")
        elif tag == "summary" or (tag == "p" and "admonition-title" in classes):
            box = self._open[-2] if len(self._open) > 1 else None
            if box and box.shown and box.shown.kind == "admonition":
                element.shown, element.text = box.shown, []
        elif len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            element.shown, element.text = self._new("heading"), []
            element.shown.level = int(tag[1])
        elif tag == "span" and "filename" in classes:
            element.text, element.title = [], True

    _title = ""

    def _new(self, kind: str) -> Shown:
        boxes = (element.shown for element in reversed(self._open[:-1]) if element.tag in ("div", "details"))
        box = next((box for box in boxes if box and box.kind == "admonition"), None)
        self.shown.append(Shown(kind, inside=self._admonitions.get(id(box))))
        if kind == "admonition":
            self._admonitions[id(self.shown[-1])] = len(self.shown) - 1
        return self.shown[-1]

    def _nearest(self, tag: str) -> _Open | None:
        return next((element for element in reversed(self._open) if element.tag == tag), None)

    def _language(self, element: _Open) -> str:
        outer = self._open[-2].classes if len(self._open) > 1 else ()
        drawn = self._diagrams.intersection(element.classes)
        named = [name for name in outer + element.classes if name.startswith(_CODE_CLASS)]
        return named[0].removeprefix(_CODE_CLASS) if named else next(iter(drawn), "")

    def handle_endtag(self, tag: str) -> None:
        """An element ends, and with it those inside it that were left open."""
        if not self._nearest(tag):
            return
        while True:
            element = self._open.pop()
            if element.text is not None and element.title:
                self._title = "".join(element.text)
            elif element.text is not None and element.shown:
                element.shown.texts.append("".join(element.text))
            if element.tag == tag:
                return

    def handle_data(self, data: str) -> None:
        """Text belongs to every element around it whose text is wanted."""
        if any("headerlink" in element.classes for element in self._open):
            return  # the mark beside a heading that links to it
        for element in self._open:
            if element.text is not None:
                element.text.append(data)
