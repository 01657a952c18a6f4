"""Methods that a runner inherits from vLLM, and how it calls them: what tells apart two vLLMs with the same names.

A feature is text: ``name`` for a method, ``name(keyword`` for an argument that it takes, ``name/2`` for a result of two
values. ``name(*`` and ``name/*`` stand for any. vLLM provides features; a tree needs them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

WHERE = ("vllm/v1/worker", "vllm/v1/core")
"""The folders of vLLM that hold the base classes of runners and schedulers."""


def provided(tree: ast.Module) -> Iterator[str]:
    """The features of the methods of a module's classes."""
    for cls in ast.walk(tree):
        if isinstance(cls, ast.ClassDef):
            for method in cls.body:
                if isinstance(method, ast.FunctionDef):
                    yield from _provided(method)


def _provided(method: ast.FunctionDef) -> Iterator[str]:
    name, given = method.name, method.args
    yield name
    yield from (f"{name}({each.arg}" for each in (*given.args, *given.kwonlyargs))
    if given.kwarg:
        yield f"{name}(*"
    returned = [node.value for node in _own(method.body) if isinstance(node, ast.Return) and node.value is not None]
    counts = {len(value.elts) if isinstance(value, ast.Tuple) else 0 for value in returned}
    if not counts or 0 in counts or "contextmanager" in ast.dump(ast.Tuple(elts=method.decorator_list)):
        yield f"{name}/*"
    yield from (f"{name}/{count}" for count in counts if count)


def _own(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every node of a function, without those of functions inside it."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from _own(ast.iter_child_nodes(node))


def own_names(tree: ast.Module) -> Iterator[str]:
    """The methods that a tree defines itself, and the attributes that it sets: calls of them tell nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def needed(tree: ast.Module, own: set[str]) -> Iterator[str]:
    """The features that the calls of inherited methods in a module need; ``own`` are the names of the whole tree."""
    unpacked = {
        id(node.value): len(node.targets[0].elts)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and not any(isinstance(each, ast.Starred) for each in node.targets[0].elts)
    }
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (name := _inherited(call.func, own)):
            yield name
            yield from (f"{name}({each.arg}" for each in call.keywords if each.arg)
            if id(call) in unpacked:
                yield f"{name}/{unpacked[id(call)]}"


def _inherited(called: ast.expr, own: set[str]) -> str:
    """The method's name in ``self.name`` and ``super().name``, if it comes from vLLM."""
    if not isinstance(called, ast.Attribute):
        return ""
    if isinstance(called.value, ast.Name) and called.value.id == "self" and called.attr not in own:
        return called.attr
    above = called.value
    is_super = isinstance(above, ast.Call) and isinstance(above.func, ast.Name) and above.func.id == "super"
    return called.attr if is_super and called.attr != "__init__" else ""


def method_of(feature: str) -> str:
    """The method that a feature is one of."""
    return feature.partition("(")[0].partition("/")[0]


def any_of(feature: str) -> str:
    """The feature that stands for every one like this, such as ``name(*`` for ``name(keyword``."""
    for mark in "(/":
        if mark in feature:
            return feature.partition(mark)[0] + mark + "*"
    return feature
