"""Sums, and conditions made of conditions."""

from __future__ import annotations

import ast
from dataclasses import replace

from spec_examples.lint.deciding import decide
from spec_examples.lint.finding import Place
from spec_examples.lint.looking import integer, look, looks_at, test, truth
from spec_examples.lint.values import (
    NUMBERS,
    UNKNOWN,
    Atom,
    Value,
    join,
    kinds,
    leaves,
    negated,
    of_kind,
    place,
    refined,
    value,
)
from spec_examples.lint.walk import Env, Walk, merged
from spec_examples.trace import IS_PREFILL


@looks_at(ast.BinOp)
def _binary(walk: Walk, env: Env, node: ast.BinOp) -> Value:
    left, right = look(walk, env, node.left), look(walk, env, node.right)
    if isinstance(node.op, ast.BitOr) and kinds(left | right) & {"info"}:
        return value("info")
    if not isinstance(node.op, ast.Add | ast.Sub):
        return UNKNOWN
    return added(walk, (left, node.left), (right, node.right), isinstance(node.op, ast.Add))


def added(walk: Walk, left: tuple[Value, ast.expr], right: tuple[Value, ast.expr], plus: bool) -> Value:
    """A sum or a difference: a span with a number, or a position that a span moves on."""
    shift = integer(right[1])
    if shift is not None and of_kind(left[0], "span"):
        by = shift if plus else -shift
        return frozenset(replace(atom, number=atom.number + by) for atom in of_kind(left[0], "span"))
    if not plus:
        return UNKNOWN
    for (one, node), (other, other_node) in ((left, right), (right, left)):
        moved = bool(of_kind(other, "span")) or integer(other_node) is not None
        lengths = bool(of_kind(other, "length"))
        if moved or lengths:
            area = place(node)
            walk.counted |= {a.at for a in of_kind(one, "state") if a.at and _inside(a.at, area)}
        if (of_kind(other, "span") or lengths) and of_kind(one, "state"):
            return join(value("advanced", key=atom.key) for atom in of_kind(one, "state"))
    return UNKNOWN


def _inside(inner: Place, outer: Place) -> bool:
    starts = (outer.line, outer.column) <= (inner.line, inner.column)
    return starts and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


@looks_at(ast.UnaryOp)
def _unary(walk: Walk, env: Env, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        return negated(test(walk, env, node.operand))
    found = look(walk, env, node.operand)
    return UNKNOWN if isinstance(node.op, ast.USub) else found


@looks_at(ast.BoolOp)
def _boolean(walk: Walk, env: Env, node: ast.BoolOp) -> Value:
    """``and`` and ``or``, as a condition and as a value: ``x or default`` is x, and where x was absent a default."""
    is_and = isinstance(node.op, ast.And)
    going, parts, passed = env, [], set()
    for each in node.values:
        found = look(walk, going, each)
        condition = truth(walk, found, walk.at(each))
        parts.append(condition)
        passed |= {a for a in found if a.kind in ("state", "ids", "embeds", "info", "span", *NUMBERS)}
        going = branch(walk, going, condition, is_and)
    env.variables.update({k: v for k, v in going.variables.items() if k not in env.variables})
    if not is_and:
        for atom in passed:
            if atom.kind in NUMBERS and atom.key == "maybe" and atom.at:
                walk.report(env.frame, "PHASE004", atom.at)
        passed = {replace(a, key="") if a.kind in NUMBERS else a for a in passed}
    combined = Atom("and" if is_and else "or", walk.at(node), parts=tuple(parts))
    tested = any(part for part in parts)
    return frozenset({combined} if tested else ()) | frozenset(passed)


def branch(walk: Walk, env: Env, condition: Value, outcome: bool) -> Env:
    """Where ``condition`` turned out so. A field that is known to be there is no longer perhaps there."""
    going = env.copy(refined(env.facts, condition, outcome))
    for leaf in leaves(condition if outcome else negated(condition)):
        if leaf.kind != "present?" or (len(condition) == 1 and next(iter(condition)).kind == "or" and outcome):
            continue
        for name, found in going.variables.items():
            kept = frozenset(_presumed(atom, leaf) for atom in found)
            going.variables[name] = frozenset(atom for atom in kept if atom.kind != "gone")
    return going


def _presumed(atom: Atom, present: Atom) -> Atom:
    """An atom once it is known whether its field is there."""
    if atom.at != present.at or not (atom.kind == "maybe" or atom.key == "maybe"):
        return atom
    if not present.sense:
        return replace(atom, kind="gone")
    return replace(atom, kind="flag") if atom.kind == "maybe" else replace(atom, key="")


@looks_at(ast.IfExp)
def _if_expression(walk: Walk, env: Env, node: ast.IfExp) -> Value:
    condition = test(walk, env, node.test)
    decide(walk, env, condition, walk.at(node.test))
    absent_numbers(walk, env, condition, raises=False)
    chosen = look(walk, branch(walk, env, condition, True), node.body)
    other = look(walk, branch(walk, env, condition, False), node.orelse)
    return merged(walk, env.frame, [chosen, other])


def absent_numbers(walk: Walk, env: Env, condition: Value, raises: bool) -> None:
    """Report the numbers whose absence ``condition`` asks for, unless that is an error there."""
    for leaf in leaves(condition):
        asked = leaf.kind == "present?" and leaf.key != IS_PREFILL and not env.facts.present
        if asked and not raises and leaf.at:
            walk.report(env.frame, "PHASE004", leaf.at)
