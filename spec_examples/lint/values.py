"""What lint knows of a value while it follows a hook: a set of atoms, each one thing that the value may be."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from spec_examples.lint.finding import Place
from spec_examples.trace import IS_PREFILL, NUM_COMPUTED, PROMPT_LEN

FIELD_KINDS = {IS_PREFILL: "flag", NUM_COMPUTED: "progress", PROMPT_LEN: "prompt"}
"""What each field is once it was read."""

FIELD_NAMES = {kind: key for key, kind in FIELD_KINDS.items()}

NUMBERS = frozenset({"progress", "prompt"})


@dataclass(frozen=True)
class Atom:
    """One thing that a value may be, and where it comes from.

    ``kind`` is one of:

    - ``self``, ``class`` (``key`` its name), ``function`` (``key`` names a function inside the one that is followed)
    - ``info``: the mapping of a request; ``infos``: a list of these
    - ``ids``: the token ids of a span of n; ``embeds``: its embeddings; ``shape``: the shape of either
    - ``span``: n, plus ``number``; ``length``: the length of some other tensor
    - ``many?``: a test of n, true where n is more than one, or else (not ``sense``) where it is one
    - ``flag``: true on prefill, or else (not ``sense``) on decode; ``maybe``: that, or nothing where it was absent
    - ``progress``, ``prompt``: the two numbers; ``present?``: whether the field ``key`` is there, or else is not
    - ``state``: what the model stored under ``key``; ``stored?``: a test of that
    - ``advanced``: what was stored under ``key`` (empty: wherever it goes), plus n or plus some length
    - ``constant`` (``key`` its text)
    - ``and``, ``or`` of ``parts``; ``tuple`` of ``parts``; ``object`` whose field ``names`` are ``parts``
    """

    kind: str
    at: Place | None = None
    key: str = ""
    sense: bool = True
    number: int = 0
    names: tuple[str, ...] = ()
    parts: tuple[Value, ...] = ()


Value = frozenset[Atom]
"""Everything that a value may be. Empty where nothing of interest is known."""

UNKNOWN: Value = frozenset()
MAX_ATOMS = 24
"""A value that may be more than this is given up: what matters is one or two things."""

PHASE_TESTS = frozenset({"many?", "flag", "maybe"})


def value(kind: str, at: Place | None = None, **more: object) -> Value:
    """A value that is one thing."""
    return frozenset((Atom(kind, at, **more),))  # type: ignore[arg-type]


def join(values: Iterable[Value]) -> Value:
    """What may be any of ``values``."""
    atoms = frozenset().union(*values)
    return atoms if len(atoms) <= MAX_ATOMS else UNKNOWN


def kinds(found: Value) -> set[str]:
    """The kinds of its atoms."""
    return {atom.kind for atom in found}


def of_kind(found: Value, *wanted: str) -> list[Atom]:
    """Its atoms of these kinds, in the order of the source."""
    return sorted((a for a in found if a.kind in wanted), key=lambda a: (a.at or Place(0, 0, 0, 0), a.key))


def negated(found: Value) -> Value:
    """``not`` of a test; of anything else nothing is known."""
    return frozenset(_negated(atom) for atom in found if atom.kind in NEGATES)


def _negated(atom: Atom) -> Atom:
    if atom.kind in ("and", "or"):
        other = "or" if atom.kind == "and" else "and"
        return replace(atom, kind=other, parts=tuple(negated(part) for part in atom.parts))
    if atom.kind == "constant":
        opposite = {"True": "False", "False": "True", "None": "True"}
        return replace(atom, key=opposite.get(atom.key, ""))
    return replace(atom, sense=not atom.sense)


NEGATES = frozenset({"many?", "flag", "maybe", "present?", "stored?", "and", "or", "constant"})


def leaves(found: Value) -> Iterable[Atom]:
    """The single tests in a condition."""
    for atom in found:
        if atom.kind in ("and", "or"):
            for part in atom.parts:
                yield from leaves(part)
        else:
            yield atom


def has_phase(found: Value) -> bool:
    """Whether a condition asks for the phase, by the flag or by the span."""
    return any(leaf.kind in PHASE_TESTS for leaf in leaves(found))


@dataclass(frozen=True)
class Facts:
    """What is certain at a place of a function.

    ``phase`` is ``prefill``, ``decode``, ``decided`` (one of the two) or empty. ``span`` is ``one``, ``many`` or empty.
    ``absent`` says that the flag is known not to be there, ``present`` that it is: no runner passes it
    without the other two.
    """

    phase: str = ""
    span: str = ""
    absent: bool = False
    present: bool = False


def refined(facts: Facts, condition: Value, truth: bool) -> Facts:
    """What is certain where ``condition`` is known to be true, or false."""
    if not truth:
        condition = negated(condition)
    if len(condition) != 1:
        return replace(facts, phase=facts.phase or ("decided" if has_phase(condition) else ""))
    (atom,) = condition
    if atom.kind == "many?":
        facts = replace(facts, span="many" if atom.sense else "one")
        return replace(facts, phase=facts.phase or ("prefill" if atom.sense else "decode"))
    if atom.kind in ("flag", "maybe"):
        there = facts.present or (atom.kind == "maybe" and atom.sense)
        return replace(facts, phase="prefill" if atom.sense else "decode", present=there)
    if atom.kind == "present?":
        if atom.key != IS_PREFILL:
            return facts
        return replace(facts, absent=not atom.sense, present=facts.present or atom.sense)
    if atom.kind == "and":
        for part in atom.parts:
            facts = refined(facts, part, True)
        return facts
    if atom.kind == "or" and not facts.phase:
        phases = {refined(facts, part, True).phase for part in atom.parts}
        return replace(facts, phase=phases.pop() if len(phases) == 1 else "decided" if any(phases) else "")
    return facts


def place(node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> Place:
    """Where a node stands; columns count from 1."""
    return Place(
        node.lineno, node.col_offset + 1, node.end_lineno or node.lineno, (node.end_col_offset or node.col_offset) + 1
    )
