"""A known defect, as data: what a tired engineer did, where, and which clauses that breaks."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from spec_examples.mutants.shape import replace

Kind = Literal["shared", "v2"]
"""Whose source is edited: the shared runner that AR and generation runners inherit, or Model Runner V2."""


class EditDoesNotApply(LookupError):
    """A release does not have the construct that a defect edits, or has it more than once."""


@dataclass(frozen=True)
class Edit:
    """``find`` and ``put`` are shapes (``spec_examples.mutants.shape``); the construct has to be there ``times``."""

    find: str
    put: str
    times: int = 1


@dataclass(frozen=True)
class Mutant:
    """``name`` is stable. ``what`` is one sentence. ``clauses`` are the promises of which it breaks at least one.

    ``method`` is the one whose source ``edits`` change, in their order.
    """

    name: str
    what: str
    clauses: tuple[str, ...]
    method: str
    edits: tuple[Edit, ...]
    kind: Kind = "shared"

    def apply(self, tree: ast.AST) -> None:
        """Edit the method's syntax tree in place. Raises ``EditDoesNotApply``."""
        for edit in self.edits:
            found = replace(tree, edit.find, edit.put)
            if found != edit.times:
                first = edit.find.strip().splitlines()[0]
                raise EditDoesNotApply(
                    f"defect {self.name} does not apply: {self.method} has {found} places of the shape "
                    f"{first!r}, not {edit.times}"
                )
        ast.fix_missing_locations(tree)
