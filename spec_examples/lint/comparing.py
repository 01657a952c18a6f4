"""Comparisons: of a span with a number, of progress with the prompt length, and with what is absent."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from spec_examples.lint.finding import Place
from spec_examples.lint.looking import compared, integer, look, looks_at
from spec_examples.lint.reading import is_none, text_of
from spec_examples.lint.values import FIELD_KINDS, FIELD_NAMES, NUMBERS, UNKNOWN, Value, join, negated, of_kind, value
from spec_examples.lint.walk import Env, Walk
from spec_examples.trace import IS_PREFILL


@looks_at(ast.Compare)
def comparison(walk: Walk, env: Env, node: ast.Compare) -> Value:
    """A comparison, as the test that it is."""
    at = walk.at(node)
    operands = [look(walk, env, each) for each in (node.left, *node.comparators)]
    if len(node.ops) == 1:
        special = _single_comparison(walk, node, operands, at)
        if special:
            return special
    if any(of_kind(found, "span") for found in operands):
        return _span_comparison(node, operands, at)
    stored = [atom for found in operands for atom in of_kind(found, "state")]
    return join(value("stored?", at, key=atom.key) for atom in stored)


def _single_comparison(walk: Walk, node: ast.Compare, operands: list[Value], at: Place) -> Value:
    left, right = operands
    asks = node.ops[0]
    key = text_of(walk, node.left)
    if isinstance(asks, ast.In | ast.NotIn) and key in FIELD_KINDS:
        return value("present?", at, key=key, sense=isinstance(asks, ast.In))
    wanted = node.comparators[0]
    if isinstance(asks, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        equal = isinstance(asks, ast.Is | ast.Eq)
        flags = frozenset(of_kind(left, "flag", "maybe"))
        if flags and isinstance(wanted, ast.Constant) and isinstance(wanted.value, bool):
            return flags if equal == wanted.value else negated(flags)
        by_name = isinstance(asks, ast.Is | ast.IsNot) and isinstance(wanted, ast.Name)
        asked = _presence(left, equal) if is_none(wanted) or by_name else UNKNOWN
        if asked:
            return asked
        shapes = of_kind(left, "shape")
        if shapes and shapes[0].key == "ids" and ast.unparse(wanted) in ("(1,)", "[1]", "torch.Size([1])"):
            return value("many?", at, sense=not equal)
    orders: dict[type[Any], tuple[str, bool]] = {ast.Lt: ("<", True), ast.GtE: ("<", False)}
    orders |= {ast.Gt: (">", True), ast.LtE: (">", False)}
    order, sense = orders.get(type(asks), ("", True))
    low, high = (left, right) if order == "<" else (right, left)
    if order and of_kind(low, "progress") and of_kind(high, "prompt"):
        return value("flag", at, sense=sense)
    return UNKNOWN


def _presence(found: Value, equal: bool) -> Value:
    """``x is None``, where x is a field that may be absent, asks whether it is there."""
    maybe = [a for a in found if a.kind == "maybe" or (a.kind in NUMBERS and a.key == "maybe")]
    names = {"maybe": IS_PREFILL, **FIELD_NAMES}
    return join(value("present?", atom.at, key=names[atom.kind], sense=not equal) for atom in maybe)


def _span_comparison(node: ast.Compare, operands: list[Value], at: Place) -> Value:
    """A comparison of a span with numbers, in any spelling: what it says of 1, of 2 and of 3 tells what it asks."""
    terms = [_as_number(each, found) for each, found in zip((node.left, *node.comparators), operands, strict=True)]
    if any(term is None for term in terms) or any(type(op) not in HOLDS for op in node.ops):
        return UNKNOWN

    def holds(n: int) -> bool:
        numbers = [term(n) for term in terms if term]
        return all(HOLDS[type(op)](*pair) for op, pair in zip(node.ops, pairwise(numbers), strict=True))

    try:
        return compared(holds, at)
    except TypeError:  # an order between a number and a tuple
        return UNKNOWN


HOLDS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}


def _as_number(node: ast.expr, found: Value) -> Callable[[int], Any] | None:
    """The term of a comparison as a function of the span; ``None`` where it is neither that nor a number."""
    spans = of_kind(found, "span")
    if spans:
        shift = spans[0].number
        return lambda n: n + shift
    numbers = _numbers(node)
    return None if numbers is None else lambda n: numbers


def _numbers(node: ast.expr) -> Any:
    """A number, or a display of numbers, as it stands in the source."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        each = [_numbers(element) for element in node.elts]
        return None if None in each else tuple(each)
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return node.value
    return integer(node)
