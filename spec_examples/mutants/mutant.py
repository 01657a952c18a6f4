"""A known defect, as data: what a tired engineer did, where, and which clauses that breaks."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import Literal

from packaging.version import InvalidVersion, Version

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

    ``method`` is the one whose source ``edits`` change, in their order. ``otherwise`` are the edits for releases that
    word the construct in another way: of all, the first that apply are taken. ``since`` is the first release with the
    construct, where not all that keep the contract have it.
    """

    name: str
    what: str
    clauses: tuple[str, ...]
    method: str
    edits: tuple[Edit, ...]
    kind: Kind = "shared"
    otherwise: tuple[tuple[Edit, ...], ...] = ()
    since: str = ""

    def is_before(self, version: str) -> bool:
        """Whether ``version`` is older than the construct; one that cannot be compared is not."""
        try:
            return bool(self.since) and Version(version) < Version(self.since)
        except InvalidVersion:
            return False

    def apply(self, tree: ast.AST) -> None:
        """Edit the method's syntax tree in place. Raises ``EditDoesNotApply``, and leaves it as it was then."""
        refused: EditDoesNotApply | None = None
        for edits in (self.edits, *self.otherwise):
            edited = copy.deepcopy(tree)
            try:
                self._apply(edited, edits)
            except EditDoesNotApply as error:
                refused = refused or error
                continue
            tree.__dict__.update(edited.__dict__)
            ast.fix_missing_locations(tree)
            return
        assert refused is not None
        raise refused

    def _apply(self, tree: ast.AST, edits: tuple[Edit, ...]) -> None:
        for edit in edits:
            found = replace(tree, edit.find, edit.put)
            if found != edit.times:
                first = edit.find.strip().splitlines()[0]
                raise EditDoesNotApply(
                    f"defect {self.name} does not apply: {self.method} has {found} places of the shape "
                    f"{first!r}, not {edit.times}"
                )
