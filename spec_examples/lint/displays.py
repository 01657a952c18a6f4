"""Displays, comprehensions and loops, and what they store or go through."""

from __future__ import annotations

import ast

from spec_examples.lint.deciding import decide
from spec_examples.lint.finding import Place
from spec_examples.lint.looking import NAMES_A_PHASE, look, looks_at, test
from spec_examples.lint.reading import text_of
from spec_examples.lint.values import FIELD_KINDS, UNKNOWN, Value, leaves, of_kind, value
from spec_examples.lint.walk import Env, Walk


@looks_at(ast.Tuple, ast.List)
def _tuple(walk: Walk, env: Env, node: ast.Tuple | ast.List) -> Value:
    return value("tuple", walk.at(node), parts=tuple(look(walk, env, each) for each in node.elts))


@looks_at(ast.Dict)
def _dictionary(walk: Walk, env: Env, node: ast.Dict) -> Value:
    info = False
    for key_node, each in zip(node.keys, node.values, strict=True):
        found = look(walk, env, each)
        if key_node is None:
            info = info or bool(of_kind(found, "info"))
            spread_constant(walk, env, each)
            continue
        look(walk, env, key_node)
        key = text_of(walk, key_node)
        if key is not None:
            write(walk, env, key, found, walk.at(key_node), key_node)
    return value("info") if info else UNKNOWN


def spread_constant(walk: Walk, env: Env, node: ast.expr) -> None:
    """A mapping that has a name in the module is spread, or updates another: what it holds is stored."""
    named = walk.found.constants.get(node.id) if isinstance(node, ast.Name) else None
    for key in named.keys if isinstance(named, ast.Dict) else ():
        if key is not None and text_of(walk, key) in FIELD_KINDS:
            write(walk, env, str(text_of(walk, key)), UNKNOWN, walk.at(node))


def write(walk: Walk, env: Env, key: str, found: Value, at: Place, node: ast.expr | None = None) -> None:
    """Something is stored under a key or an attribute."""
    if key in FIELD_KINDS:
        walk.report(env.frame, "PHASE005", at, key)
        return
    moved = any(atom.key in ("", key) for atom in of_kind(found, "advanced"))
    if env.frame.hook and moved and env.facts.phase != "decode":  # what only decode moves is no position in the prompt
        walk.advanced.add(key)
    handed_on(walk, env, key, found)


def handed_on(walk: Walk, env: Env, name: str, found: Value) -> None:
    """A test that is given on under a name that speaks of the phase is a decision, wherever it is taken."""
    if any(word in name.lower() for word in NAMES_A_PHASE) and any(leaf.kind == "many?" for leaf in leaves(found)):
        decide(walk, env, frozenset(a for a in found if a.kind in ("many?", "and", "or")), Place(0, 0, 0, 0))


@looks_at(ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
def _comprehension(walk: Walk, env: Env, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    inner = env.copy()
    gone_through = UNKNOWN
    for generator in node.generators:
        gone_through |= bind_loop(walk, inner, generator.target, generator.iter)
        for condition in generator.ifs:
            decide(walk, inner, test(walk, inner, condition), walk.at(condition), splits=False)
    if isinstance(node, ast.DictComp):
        look(walk, inner, node.key)
        look(walk, inner, node.value)
        return frozenset(of_kind(gone_through, "info"))
    found = look(walk, inner, node.elt)
    return value("infos") if of_kind(found, "info") else UNKNOWN


def bind_loop(walk: Walk, env: Env, target: ast.expr, iterated: ast.expr) -> Value:
    """Names of a loop: a request's mapping, where its list is gone through, by itself or with others.

    The mapping itself, where it is its items that are gone through.
    """
    gone_through: Value = UNKNOWN
    parts: list[Value]
    name = iterated.func.id if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) else ""
    if isinstance(iterated, ast.Call) and name in ("enumerate", "zip"):
        inside = [look(walk, env, each) for each in iterated.args]
        parts = [value("info") if of_kind(each, "infos") else UNKNOWN for each in inside]
        parts = [UNKNOWN, *parts[:1]] if name == "enumerate" else parts
    elif isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute) and iterated.func.attr == "items":
        gone_through, parts = look(walk, env, iterated.func.value), []
    else:
        parts = [value("info") if of_kind(look(walk, env, iterated), "infos") else UNKNOWN]
    names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    for position, each in enumerate(names):
        if isinstance(each, ast.Name):
            env.variables[each.id] = parts[position] if len(names) == len(parts) else UNKNOWN
    return gone_through


@looks_at(ast.Lambda)
def _lambda(walk: Walk, env: Env, node: ast.Lambda) -> Value:
    inner = env.copy()
    for each in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
        inner.variables[each.arg] = UNKNOWN
    return look(walk, inner, node.body)
