"""Reading: of fields, of what the model stored, and of the tokens themselves."""

from __future__ import annotations

import ast
from dataclasses import replace

from spec_examples.lint.deciding import decide
from spec_examples.lint.finding import Place
from spec_examples.lint.looking import integer, look, looks_at, truth
from spec_examples.lint.values import FIELD_KINDS, UNKNOWN, Value, has_phase, leaves, of_kind, value
from spec_examples.lint.walk import Env, Walk
from spec_examples.trace import IS_PREFILL

UNPROMISED = ("duplex_token_offset", "duplex_prompt_len")
"""Keys that the shared runner also passes, which say what the fields say (read in 0.28.0 to 0.32.0rc1)."""

NOT_STATE = ("request_id", "req_id", "global_request_id")
"""Keys under which the runner says whose row it is."""


def text_of(walk: Walk, node: ast.expr) -> str | None:
    """The string that an expression is, by itself or under a name of the module."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        named = walk.found.constants.get(node.id)
        return named if isinstance(named, str) else None
    return None


def read_key(
    walk: Walk, env: Env, base: Value, key: str, node: ast.expr, default: ast.expr | None, asked: bool
) -> Value:
    """``base[key]``, or with ``asked`` ``base.get(key, default)``."""
    at = walk.at(node)
    if key in FIELD_KINDS and not env.frame.hook and not of_kind(base, "info", "state", "object"):
        return UNKNOWN  # no hook led here, and it is no mapping that was handed in: a runner, a test, a report
    if key in FIELD_KINDS:
        if env.frame.hook == "batch":
            walk.report(env.frame, "PHASE010", at)
        if asked:
            return _field_or(walk, env, key, at, default)
        env.facts = replace(env.facts, present=env.facts.present or key == IS_PREFILL)
        return value(FIELD_KINDS[key], at)
    found = look(walk, env, default)
    if (key.startswith("_omni_") or key in UNPROMISED) and not of_kind(base, "self"):
        walk.report(env.frame, "PHASE009", at, key)
        return UNKNOWN
    if key == "additional_information":
        return value("info", key=key)
    if key in NOT_STATE:
        return UNKNOWN
    if env.frame.hook:
        walk.reads[key].add(at)
    return value("state", at, key=key) | frozenset(of_kind(found, "span"))


def _field_or(walk: Walk, env: Env, key: str, at: Place, default: ast.expr | None) -> Value:
    """A field that was asked for, with what stands in where it is absent."""
    instead = look(walk, env, default)
    nothing = default is None or is_none(default)
    if env.facts.present and nothing and key != IS_PREFILL:
        return value(FIELD_KINDS[key], at)
    if nothing or (isinstance(default, ast.Name) and isinstance(walk.found.constants.get(default.id), ast.Call)):
        return value("maybe", at) if key == IS_PREFILL else value(FIELD_KINDS[key], at, key="maybe")
    if key != IS_PREFILL and env.facts.present:
        return value(FIELD_KINDS[key], at)
    if key != IS_PREFILL:
        walk.counted |= {atom.at for atom in of_kind(instead, "state") if atom.at}
        walk.report(env.frame, "PHASE004", at)
        return value(FIELD_KINDS[key], at)
    spans = [leaf for leaf in leaves(instead) if leaf.kind == "many?"]
    if spans or _looks_like_a_span_test(default):
        walk.report(env.frame, "PHASE002", at)
    elif not of_kind(instead, "flag"):
        walk.report(env.frame, "PHASE003", at)
    return value("flag", at)


def _looks_like_a_span_test(node: ast.expr | None) -> bool:
    """A comparison with 1 of something that was not followed."""
    return isinstance(node, ast.Compare) and any(
        isinstance(each, ast.Constant) and each.value == 1 for each in (node.left, *node.comparators)
    )


@looks_at(ast.Attribute)
def _attribute(walk: Walk, env: Env, node: ast.Attribute) -> Value:
    base = look(walk, env, node.value)
    if node.attr in FIELD_KINDS and not of_kind(base, "self"):
        return read_key(walk, env, base, node.attr, node, None, False)
    for atom in of_kind(base, "object"):
        if node.attr in atom.names:
            return atom.parts[atom.names.index(node.attr)]
    if node.attr == "shape":
        return _shape_of(walk, base, node)
    if of_kind(base, "self", "state"):
        at = walk.at(node)
        if env.frame.hook:
            walk.reads[node.attr].add(at)
        return value("state", at, key=node.attr)
    return base if node.attr == "T" else UNKNOWN


def _shape_of(walk: Walk, base: Value, node: ast.expr) -> Value:
    for kind in ("ids", "embeds"):
        if of_kind(base, kind):
            return value("shape", walk.at(node), key=kind)
    return value("shape", walk.at(node))


@looks_at(ast.Subscript)
def _subscript(walk: Walk, env: Env, node: ast.Subscript) -> Value:
    base = look(walk, env, node.value)
    key = text_of(walk, node.slice)
    if key is not None:
        return read_key(walk, env, base, key, node, None, False)
    index = truth(walk, look(walk, env, node.slice), walk.at(node.slice))
    if has_phase(index):
        decide(walk, env, index, walk.at(node.slice))
    number = integer(node.slice)
    for atom in base:
        if atom.kind == "shape" and number is not None:
            return size(walk, atom.key, number, node)
        if atom.kind == "tuple" and number is not None and -len(atom.parts) <= number < len(atom.parts):
            return atom.parts[number]
        if atom.kind == "infos":
            return value("info") if not isinstance(node.slice, ast.Slice) else base
    if of_kind(base, "ids"):
        return _some_tokens(walk, env, base, node, number)
    return frozenset(atom for atom in base if atom.kind == "state")


def size(walk: Walk, kind: str, dimension: int, node: ast.expr) -> Value:
    """One dimension of a shape: of the ids all, of embeddings the first is the span."""
    if kind == "ids" or (kind == "embeds" and dimension in (0, -2)):
        return value("span", walk.at(node))
    return value("length", walk.at(node))


def _some_tokens(walk: Walk, env: Env, base: Value, node: ast.Subscript, number: int | None) -> Value:
    """Part of the ids; the first or the last alone is what a decode branch for one token takes."""
    if isinstance(node.slice, ast.Slice):
        bounds = (integer(node.slice.lower), integer(node.slice.upper), node.slice.step)
        if bounds in ((None, 1, None), (0, 1, None), (-1, None, None)):
            one_token(walk, env, walk.at(node))
        return base if bounds == (None, None, None) else UNKNOWN
    if number in (0, -1):
        one_token(walk, env, walk.at(node))
    return UNKNOWN


def one_token(walk: Walk, env: Env, at: Place) -> None:
    """A decode branch takes its row for one token: reported once a function, unless the span was asked before."""
    if env.facts.phase == "decode":
        only_once(walk, env, at)


def only_once(walk: Walk, env: Env, at: Place) -> None:
    """The report itself, for a row that is decode, or may be."""
    node = env.frame.function.node
    if env.frame.hook == "row" and env.facts.span != "one" and node not in walk.one_token:
        walk.one_token.add(node)
        walk.report(env.frame, "PHASE007", at)


def is_none(node: ast.expr | None) -> bool:
    """Whether ``None`` itself stands there."""
    return isinstance(node, ast.Constant) and node.value is None
