"""Find a construct in a syntax tree by its shape, and put another in its place.

A shape is Python source. A name of one capital letter stands for any expression, the same one wherever it is repeated;
``...`` stands for any run of statements, operands, elements or arguments. What they stood for goes where the
replacement repeats them, runs in their order.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

ANY = re.compile(r"[A-Z]")
IGNORED = {"ctx", "kind", "type_comment", "type_params"}


@dataclass(frozen=True)
class Bound:
    """What the parts of a shape stood for: expressions by name, and runs in the order of their dots."""

    names: dict[str, ast.AST] = field(default_factory=dict)
    runs: tuple[list[ast.AST], ...] = ()


def replace(tree: ast.AST, find: str, put: str) -> int:
    """Replace every place in ``tree`` that has the shape ``find``; the number of them.

    Where both shapes are expressions, an expression is replaced; otherwise statements that follow one another are.
    """
    shape, other = ast.parse(find).body, ast.parse(put).body
    if _expression(shape) is not None and _expression(other) is not None:
        replacer = _Expressions(_expression(shape), _expression(other))
        replacer.visit(tree)
        return replacer.count
    return sum(_replace_statements(body, shape, other) for body in list(_bodies(tree)))


def _expression(shape: Sequence[ast.stmt]) -> ast.expr | None:
    one = shape[0] if len(shape) == 1 else None
    return one.value if isinstance(one, ast.Expr) else None


class _Expressions(ast.NodeTransformer):
    def __init__(self, shape: Any, put: Any) -> None:
        self.shape, self.put, self.count = shape, put, 0

    def visit(self, node: ast.AST) -> Any:
        bound = next(_same(self.shape, node, Bound()), None)
        if bound is None:
            return self.generic_visit(node)
        self.count += 1
        return ast.copy_location(_filled(self.put, bound, iter(bound.runs)), node)


def _replace_statements(body: list[ast.AST], shape: Sequence[ast.AST], put: Sequence[ast.AST]) -> int:
    count, at = 0, 0
    while at < len(body):
        end, bound = next(_same_run(shape, body, at, Bound()), (0, None))
        if bound is None:
            at += 1
            continue
        count += 1
        new = _filled_list(put, bound, iter(bound.runs))
        for node in new:
            ast.copy_location(node, body[at])
        body[at:end] = new
        at += max(1, len(new))
    return count


def _bodies(tree: ast.AST) -> Iterator[list[ast.AST]]:
    """Every list of statements, the inner ones first, so that what was put in is not searched again."""
    for node in reversed(list(ast.walk(tree))):
        for value in vars(node).values():
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def _is_run(node: object) -> bool:
    value = node.value if isinstance(node, ast.Expr) else node
    return isinstance(value, ast.Constant) and value.value is ...


def _same(shape: Any, node: Any, bound: Bound) -> Iterator[Bound]:
    """Every way in which ``node`` has the shape."""
    if isinstance(shape, ast.Name) and ANY.fullmatch(shape.id):
        if not isinstance(node, ast.expr):
            return
        earlier = bound.names.get(shape.id)
        if earlier is None:
            yield Bound({**bound.names, shape.id: node}, bound.runs)
        elif ast.dump(earlier) == ast.dump(node):
            yield bound
    elif isinstance(shape, ast.AST):
        if type(shape) is type(node):
            pairs = [(value, getattr(node, name)) for name, value in ast.iter_fields(shape) if name not in IGNORED]
            yield from _same_fields(pairs, bound)
    elif isinstance(shape, list):
        if isinstance(node, list):
            yield from (found for end, found in _same_run(shape, node, 0, bound) if end == len(node))
    elif shape == node:
        yield bound


def _same_fields(pairs: Sequence[tuple[Any, Any]], bound: Bound) -> Iterator[Bound]:
    if not pairs:
        yield bound
        return
    for found in _same(*pairs[0], bound):
        yield from _same_fields(pairs[1:], found)


def _same_run(shape: Sequence[Any], nodes: Sequence[Any], at: int, bound: Bound) -> Iterator[tuple[int, Bound]]:
    """Where a run of nodes that starts at ``at`` and has the shape ends; shorter ones first."""
    if not shape:
        yield at, bound
    elif _is_run(shape[0]):
        for end in range(at, len(nodes) + 1):
            longer = Bound(bound.names, (*bound.runs, list(nodes[at:end])))
            yield from _same_run(shape[1:], nodes, end, longer)
    elif at < len(nodes):
        for found in _same(shape[0], nodes[at], bound):
            yield from _same_run(shape[1:], nodes, at + 1, found)


def _filled(put: Any, bound: Bound, runs: Iterator[list[ast.AST]]) -> Any:
    if isinstance(put, ast.Name) and put.id in bound.names:
        return copy.deepcopy(bound.names[put.id])
    if isinstance(put, list):
        return _filled_list(put, bound, runs)
    if not isinstance(put, ast.AST):
        return put
    new = type(put)(**{name: _filled(value, bound, runs) for name, value in ast.iter_fields(put)})
    return ast.copy_location(new, put)


def _filled_list(put: Sequence[Any], bound: Bound, runs: Iterator[list[ast.AST]]) -> list[Any]:
    new: list[Any] = []
    for part in put:
        if _is_run(part):
            new += [copy.deepcopy(node) for node in next(runs)]
        else:
            new.append(_filled(part, bound, runs))
    return new
