"""What lint says of one place in a source."""

from __future__ import annotations

from dataclasses import dataclass

from spec_examples.lint.rules import BY_NAME, Rule


@dataclass(frozen=True, order=True)
class Place:
    """Where an expression stands. Lines count from 1, columns too, in characters."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, order=True)
class Finding:
    """A rule that one place of a source breaks. ``message`` says what stands there and what to write instead."""

    path: str
    place: Place
    rule: str
    message: str

    @property
    def its_rule(self) -> Rule:
        """The rule itself."""
        return BY_NAME[self.rule]

    def __str__(self) -> str:
        return f"{self.path}:{self.place.line}:{self.place.column}: {self.rule} {self.its_rule.name}: {self.message}"
