"""Decode rows that are taken for one token by what is made of them: a single row, one of a queue, one kind for all."""

from __future__ import annotations

import ast

from spec_examples.lint.looking import integer
from spec_examples.lint.reading import one_token, only_once
from spec_examples.lint.values import Value, of_kind
from spec_examples.lint.walk import Env, Walk


def made_one_row(walk: Walk, env: Env, name: str, node: ast.expr) -> None:
    """The embeddings of a decode row are made one row, or of one row of stored state beside all tokens."""
    if name not in env.frame.embedding_names or not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Attribute):
        arguments = [ast.unparse(each) for each in node.args]
        reshaped = node.func.attr in ("reshape", "view") and arguments[:2] == ["1", "-1"]
        made = node.func.attr in ("zeros", "empty", "new_zeros", "new_empty") and arguments[:1] == ["1"]
        if reshaped or made:
            one_token(walk, env, walk.at(node))
    one = [each for each in node.args if _is_one_row(each) and of_kind(_rooted(env, each), "state")]
    all_tokens = [each for each in node.args if not _is_one_row(each) and of_kind(_rooted(env, each), "ids")]
    if one and all_tokens:
        one_token(walk, env, walk.at(node))


def _is_one_row(node: ast.expr) -> bool:
    """``x.unsqueeze(0)``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "unsqueeze"
        and [integer(each) for each in node.args] == [0]
    )


def _rooted(env: Env, node: ast.expr) -> Value:
    """What the name is that a chain of methods starts with."""
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return env.variables.get(node.id, frozenset()) if isinstance(node, ast.Name) else frozenset()


def taken_off(walk: Walk, env: Env, node: ast.expr) -> None:
    """The first row of a stored queue is taken, and the rest is kept, once for each decode row: ``queue[0:1]``."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return
    queue = node.value.id
    if _rows(node.slice) not in ((0, 1), (None, 1)) or not of_kind(env.variables.get(queue, frozenset()), "state"):
        return
    for each in ast.walk(env.frame.function.node):
        rest = isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name) and each.value.id == queue
        if rest and _rows(each.slice) == (1, None):  # type: ignore[attr-defined]
            one_token(walk, env, walk.at(node))
            return


def _rows(index: ast.expr) -> tuple[int | None, int | None] | None:
    """Bounds of the first dimension, where a slice stands there."""
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    return (integer(first.lower), integer(first.upper)) if isinstance(first, ast.Slice) else None


def one_kind_for_all(walk: Walk, env: Env, node: ast.If) -> None:
    """``if input_ids[0] == special: embeds = …``, on a row that may be decode."""
    asked = node.test.left if isinstance(node.test, ast.Compare) and len(node.test.ops) == 1 else None
    if not isinstance(asked, ast.Subscript) or not isinstance(asked.value, ast.Name):
        return
    tokens = of_kind(env.variables.get(asked.value.id, frozenset()), "ids")
    if not tokens or integer(asked.slice) not in (0, -1) or env.facts.phase == "prefill":
        return
    assigned = [each for made in node.body if isinstance(made, ast.Assign) for each in made.targets]
    if any(isinstance(each, ast.Name) and each.id in env.frame.embedding_names for each in assigned):
        only_once(walk, env, walk.at(asked))


def is_first_call(node: ast.If) -> bool:
    """``if request_id not in self.sessions:``, with a hook's own three results for the request's first row."""
    asked = node.test
    if not isinstance(asked, ast.Compare) or len(asked.ops) != 1 or not isinstance(asked.ops[0], ast.NotIn):
        return False
    named = isinstance(asked.left, ast.Name) and asked.left.id in ("request_id", "req_id", "request")
    last = node.body[-1]
    triple = isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple) and len(last.value.elts) == 3
    return named and triple
