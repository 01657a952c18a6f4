"""What an expression is, as far as phases go: each kind of expression is looked at by one function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

from spec_examples.lint.finding import Place
from spec_examples.lint.values import UNKNOWN, Atom, Value, of_kind, value
from spec_examples.lint.walk import Env, Walk

NAMES_A_PHASE = ("prefill", "decode", "decoding")
"""A name with one of these in it speaks of the phase."""

Looker = TypeVar("Looker", bound=Callable[..., Value])

LOOKERS: dict[type[ast.expr], Callable[[Walk, Env, Any], Value]] = {}
"""What looks at which kind of expression. The modules beside this one fill it in."""


def looks_at(*kinds: type[ast.expr]) -> Callable[[Looker], Looker]:
    """The function looks at expressions of these kinds."""

    def register(looker: Looker) -> Looker:
        LOOKERS.update(dict.fromkeys(kinds, looker))
        return looker

    return register


def look(walk: Walk, env: Env, node: ast.expr | None) -> Value:
    """What ``node`` is. Everything inside it is looked at once."""
    if node is None:
        return UNKNOWN
    known = LOOKERS.get(type(node))
    if known:
        return known(walk, env, node)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            look(walk, env, child)
    return UNKNOWN


def test(walk: Walk, env: Env, node: ast.expr) -> Value:
    """What ``node`` is as a condition."""
    return truth(walk, look(walk, env, node), walk.at(node))


def truth(walk: Walk, found: Value, at: Place) -> Value:
    """A value as a condition: a span is true unless it is 0, stored state where there is any."""
    combined = [atom for atom in found if atom.kind in ("and", "or")]
    if combined:
        return frozenset(combined)
    tests = {atom for atom in found if atom.kind in ("many?", "flag", "maybe", "present?", "stored?", "constant")}
    for atom in of_kind(found, "span"):
        tests |= compared(_not_zero(atom.number), at)
    if not tests:
        tests = {Atom("stored?", at, atom.key) for atom in of_kind(found, "state")}
    return frozenset(tests)


def _not_zero(shift: int) -> Callable[[int], bool]:
    return lambda n: n + shift != 0


def compared(holds: Callable[[int], bool], at: Place) -> Value:
    """A test of a span: told apart are one token, and any other number."""
    one, two, three = holds(1), holds(2), holds(3)
    if one != two and two == three:
        return value("many?", at, sense=two)
    return UNKNOWN


def integer(node: ast.expr | None) -> int | None:
    """The integer that stands there, negative ones too."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = integer(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    return None


@looks_at(ast.Constant)
def _constant(walk: Walk, env: Env, node: ast.Constant) -> Value:
    if node.value is None or isinstance(node.value, bool | int):
        return value("constant", walk.at(node), key=repr(node.value))
    return UNKNOWN


@looks_at(ast.Name)
def _name(walk: Walk, env: Env, node: ast.Name) -> Value:
    if node.id in env.variables:
        return env.variables[node.id]
    if node.id in walk.found.classes:
        return value("class", key=node.id)
    return UNKNOWN


@looks_at(ast.NamedExpr)
def _named(walk: Walk, env: Env, node: ast.NamedExpr) -> Value:
    found = look(walk, env, node.value)
    env.variables[node.target.id] = found
    return found
