"""What came of one example. Plain data, between execution and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spec_examples.scenario import Row, Scenario

State = Literal["passed", "failed", "drifted", "diverges", "exempt", "error"]
"""``drifted``: the page says something else than this runner does, and no clause is violated."""


@dataclass(frozen=True)
class Rewrite:
    """What the page would say if it said what was observed.

    ``text`` is a cell's word or a block's lines; ``column`` the 0-based column of a cell. ``added`` says that a block
    titled 'Output' is missing. ``guessed`` is a word in a cell that had none: the row has to be asked again.
    """

    text: str
    column: int | None = None
    added: bool = False
    guessed: bool = False


class Disagreement(Exception):
    """Page and runner disagree. ``clauses`` are those that the runner violates; ``detail`` shows the run, in lines."""

    def __init__(
        self,
        message: str,
        clauses: tuple[str, ...] = (),
        detail: str = "",
        line: int | None = None,
        rewrite: Rewrite | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.clauses = clauses
        self.detail = detail
        self.line = line
        self.rewrite = rewrite


class Unexpected(Disagreement):
    """What a run came to is not what the page expects of it, which need not be about a promise."""


class Unaskable(Exception):
    """The page asks something that cannot be asked. ``line`` and ``column`` say where, if not at the example's line."""

    def __init__(
        self, message: str, line: int | None = None, column: int | None = None, rewrite: Rewrite | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.rewrite = rewrite


@dataclass(frozen=True)
class Shown:
    """A run in which a clause was seen broken: its scenario, and the rows of the step, ``request`` the one at fault."""

    clause: str
    scenario: Scenario
    rows: tuple[Row, ...]
    request: str | None = None


@dataclass(frozen=True)
class Result:
    """One example's outcome.

    ``clauses`` are those violated where it failed, else those of its section. ``message`` is one line; ``detail``
    more, for the person who has to mend it. ``shown`` has a run for each clause that the runner was seen to break.
    ``rewrite`` is there where the page alone may be wrong: no run of the example violates a clause.
    """

    id: str
    kind: str
    path: str
    line: int
    clauses: tuple[str, ...]
    outcome: State
    message: str = ""
    detail: str = ""
    column: int | None = None
    shown: tuple[Shown, ...] = ()
    rewrite: Rewrite | None = None
    stops: tuple[Scenario | None, ...] = ()
    """Runs that stopped in code that is not the runner's: their scenarios, ``None`` if the process ended."""
    text: str = ""
    """Of the example, as written."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" + (f":{self.column}" if self.column else "")
        clauses = f"{' '.join(self.clauses)}: " if self.clauses and self.outcome != "error" else ""
        detail = f"\n{self.detail}" if self.detail else ""
        return f"{place}: {clauses}{self.message}{detail}"
