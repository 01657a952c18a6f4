"""What a module stores of a request, by key: found without following anything, so that nothing is missed."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from spec_examples.lint.definitions import FunctionNode

LATCH_WORDS = ("prefill", "decode", "started", "phase", "first")
"""What a key is called that holds where a request is in its life."""


def written(tree: ast.Module) -> dict[str, set[str]]:
    """What is stored outside of a constructor: for each key or attribute the constants, ``other`` for the rest."""
    found: dict[str, set[str]] = defaultdict(set)
    for key, value in _stores(tree):
        constant = isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, bool))
        found[key].add(repr(value.value) if constant and isinstance(value, ast.Constant) else "other")
    return dict(found)


def _stores(tree: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, FunctionNode) and node.name == "__init__":
            continue
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _target(target, node.value)
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            yield from _target(node.target, node.value)
        waiting.extend(ast.iter_child_nodes(node))


def _target(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Attribute):
        yield target.attr, value
    elif isinstance(target, ast.Subscript):
        if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            yield target.slice.value, value
        elif isinstance(target.value, ast.Attribute):
            yield target.value.attr, None


def is_latch(key: str, values: set[str]) -> bool:
    """Whether a key with such a name is set once, and never back."""
    return any(word in key.lower() for word in LATCH_WORDS) and "True" in values and not values & {"False", "None"}
