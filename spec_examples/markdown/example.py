"""What a page is made of, as plain data: its examples, and the page itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Kind = Literal["block", "row", "admonition"]


@dataclass(frozen=True)
class Cell:
    """Where one cell of a body row stands in the source.

    ``raw`` is the cell as written, pipes and surrounding spaces removed; ``column`` the 1-based column of its first
    character in its line (of an empty cell: where text would go). ``page.text[start:end] == raw``, so a cell is
    rewritten by replacing that slice.
    """

    column: int
    raw: str
    start: int
    end: int


@dataclass(frozen=True)
class Example:
    """One thing on a page that is run: a code block, a body row of a table, or the title of an admonition.

    ``line`` is the 1-based line of the fence, the row or the title, and ``end_line`` the last line of the example's
    own region: the closing fence; ``line`` itself for rows and admonitions. ``page.text[start:end]`` is that region;
    regions of a page never overlap. ``page`` is the path below the folder of ``mkdocs.yml``, as ids show it.
    """

    kind: Kind
    path: Path
    page: str
    line: int
    end_line: int
    start: int
    end: int
    clauses: tuple[str, ...] = ()
    """The clause ids of its section, or of the nearest enclosing section that has any."""
    exempt: str | None = None
    """Why it is not run, from ``<!-- not executed: REASON -->``. An admonition's reason covers its own title only."""
    parent: int | None = None
    """The line of the innermost admonition around it."""

    language: str = ""
    """Of a block: lower case, and ``python`` for every spelling of it; empty where the fence names none."""
    title: str = ""
    """Of a block: ``title="…"``. Of an admonition: its title as rendered, empty where it has none."""
    source: str = ""
    """Of a block: its text without the fence and its indentation."""
    source_line: int = 0
    """Of a block: the 1-based line of the first line of code."""

    header: tuple[str, ...] = ()
    """Of a row: the header cells as rendered."""
    cells: tuple[str, ...] = ()
    """Of a row: its cells as rendered, without backticks and emphasis; as many as ``header``."""
    columns: tuple[Cell, ...] = ()
    """Of a row: where each cell stands in the source."""
    table_line: int = 0
    """Of a row: the line of its table's header."""

    marker: str = ""
    """Of an admonition: ``!!!``, ``???`` or ``???+``."""
    type: str = ""
    """Of an admonition: its first word, in lower case, such as ``warning``."""

    @property
    def id(self) -> str:
        """The name that reports use, such as ``docs/contract/routing.md:41``."""
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Page:
    """A page that was read without error: what is executed on it is what a reader gets.

    ``text`` is the page as given, line endings included; ``clauses`` has the 1-based line of every clause anchor, and
    ``includes`` the line of every generated file that the page takes in (their content is not read here).
    """

    path: Path
    text: str
    examples: tuple[Example, ...]
    clauses: dict[str, int] = field(default_factory=dict)
    includes: dict[str, int] = field(default_factory=dict)
    only_shows_changelog: bool = False

    def children(self, admonition: Example) -> tuple[Example, ...]:
        """The examples directly inside ``admonition``, which is one of this page's."""
        return tuple(example for example in self.examples if example.parent == admonition.line)
