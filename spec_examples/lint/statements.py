"""Statements: how a function is gone through, and what is known on each of its ways."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from spec_examples.lint.combining import absent_numbers, added, branch
from spec_examples.lint.comparing import comparison
from spec_examples.lint.deciding import decide
from spec_examples.lint.definitions import Function, FunctionNode
from spec_examples.lint.displays import bind_loop, write
from spec_examples.lint.looking import NAMES_A_PHASE, look, test
from spec_examples.lint.one_row import is_first_call, made_one_row, one_kind_for_all, taken_off
from spec_examples.lint.reading import text_of
from spec_examples.lint.values import FIELD_KINDS, UNKNOWN, Facts, Value, has_phase, leaves, of_kind, value
from spec_examples.lint.walk import Env, Frame, Walk, joined, merged

FIELDS = tuple(FIELD_KINDS)

SUBJECT = "what a match is about"
"""Stands for the subject of a ``match``, so that it is looked at once; no name of a source reads so."""


def follow(walk: Walk, function: Function, bound: dict[str, Value], facts: Facts, frame: Frame) -> Value:
    """Go through a function once, with what is known of its parameters. What it may return."""
    if function.node not in walk.embeddings:
        walk.embeddings[function.node] = _returned_embeddings(function.node)
    frame.embedding_names = walk.embeddings[function.node]
    walk.visited.add(function.node)
    walk.active.append(function.node)
    try:
        block(walk, Env(bound, facts, frame), function.node.body)
    finally:
        walk.active.pop()
    returned = merged(walk, frame, frame.returns)
    if any(word in function.node.name.lower() for word in NAMES_A_PHASE) and not frame.hook and has_phase(returned):
        _returned_guess(walk, frame, returned)
    return returned


def _returned_guess(walk: Walk, frame: Frame, returned: Value) -> None:
    """A function with the phase in its name that goes by the span, called from another module if at all."""
    asked = replace(frame, hook="row")
    for leaf in leaves(returned):
        if leaf.kind == "many?" and leaf.at:
            walk.report(asked, "PHASE001", leaf.at)


def _returned_embeddings(node: FunctionNode) -> frozenset[str]:
    """The names that are returned in the second place of a tuple: a hook's embeddings."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Return) and isinstance(each.value, ast.Tuple) and len(each.value.elts) == 3:
            second = each.value.elts[1]
            found |= {second.id} if isinstance(second, ast.Name) else set()
    return frozenset(found)


def block(walk: Walk, env: Env | None, statements: list[ast.stmt]) -> Env | None:
    """Go through statements in order; ``None`` where none of the ways leads past them."""
    for position, statement in enumerate(statements):
        if env is None:
            return None
        known = STATEMENTS.get(type(statement))
        if isinstance(statement, ast.If):
            env = _if(walk, env, statement, statements[position + 1 :])
        elif known:
            env = known(walk, env, statement)
        else:
            for child in ast.iter_child_nodes(statement):
                if isinstance(child, ast.expr):
                    look(walk, env, child)
    return env


def raises(statements: list[ast.stmt]) -> bool:
    """Whether a branch ends in an error, whatever it says before."""
    return bool(statements) and isinstance(statements[-1], ast.Raise)


def ends(statements: list[ast.stmt]) -> bool:
    """Whether nothing after a branch is reached from it."""
    return bool(statements) and isinstance(statements[-1], ast.Raise | ast.Return | ast.Continue | ast.Break)


def _if(walk: Walk, env: Env, node: ast.If, rest: list[ast.stmt]) -> Env | None:
    one_kind_for_all(walk, env, node)
    condition = test(walk, env, node.test)
    other = node.orelse or (rest if ends(node.body) else [])
    if not raises(node.body):
        decide(walk, env, condition, walk.at(node.test), splits=bool(other))
        _chosen_by_state(walk, env, condition, node, other)
    _numbers_that_may_be_absent(walk, env, condition, node.body, other)
    chosen = block(walk, branch(walk, env, condition, True), node.body)
    going = branch(walk, env, condition, False)
    if raises(node.body) and going.facts.phase == "decided":  # an error is no way that a row may take
        going.facts = replace(going.facts, phase=env.facts.phase)
    return joined(walk, [chosen, block(walk, going, node.orelse)])


def _numbers_that_may_be_absent(
    walk: Walk, env: Env, condition: Value, body: list[ast.stmt], other: list[ast.stmt]
) -> None:
    """Asked whether progress or prompt length is there: fine where its absence is an error."""
    for leaf in leaves(condition):
        if leaf.kind == "present?":
            absent = other if leaf.sense else body
            absent_numbers(walk, env, frozenset({leaf}), raises=raises(absent))


def _chosen_by_state(walk: Walk, env: Env, condition: Value, node: ast.If, other: list[ast.stmt]) -> None:
    """A branch that calls what is named after a phase, chosen by stored state alone."""
    tests = list(leaves(condition))
    if env.facts.phase or not tests or any(leaf.kind != "stored?" for leaf in tests):
        return
    alone = len(tests) == 1 and env.frame.function.hook == "row"  # with more beside it, it is another mode of the model
    first = alone and isinstance(node.body[-1], ast.Return) and _asks_for_the_phase(other)
    if first or (alone and is_first_call(node)) or _calls_a_phase(node.body) or _calls_a_phase(other):
        walk.latches[walk.at(node.test)] = (frozenset(leaf.key for leaf in tests), True)


def _asks_for_the_phase(statements: list[ast.stmt]) -> bool:
    """Whether the way that is left asks for the phase: by a field, or by a function that is named so."""
    for node in (each for statement in statements for each in ast.walk(statement)):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if any(f"is_{word}" in name for word in NAMES_A_PHASE) or getattr(node, "value", None) in FIELDS:
            return True
    return False


def _calls_a_phase(statements: list[ast.stmt]) -> bool:
    for statement in statements:
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Call):
            func = statement.value.func
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            return any(word in name.lower() for word in NAMES_A_PHASE)
    return False


def _assign(walk: Walk, env: Env, node: ast.Assign | ast.AnnAssign) -> Env:
    if node.value is None:
        return env
    found = look(walk, env, node.value)
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        assign(walk, env, target, found, node.value)
    return env


def assign(walk: Walk, env: Env, target: ast.expr, found: Value, node: ast.expr) -> None:
    """A value gets a name, or is stored."""
    if isinstance(target, ast.Name):
        env.variables[target.id] = found
        _named_phase(walk, env, target.id, found, node)
        made_one_row(walk, env, target.id, node)
        taken_off(walk, env, node)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(walk, env, target.elts, found, node)
    elif isinstance(target, ast.Starred):
        assign(walk, env, target.value, UNKNOWN, node)
    elif isinstance(target, ast.Subscript):
        base = look(walk, env, target.value)
        walk.counted.add(walk.at(target.value))  # to store something there is no reading of it
        key = text_of(walk, target.slice)
        look(walk, env, target.slice)
        keys = [key] if key is not None else [atom.key for atom in of_kind(base, "state")]
        for each in keys:
            write(walk, env, each, found, walk.at(target))
    elif isinstance(target, ast.Attribute):
        look(walk, env, target.value)
        write(walk, env, target.attr, found, walk.at(target))


def _unpack(walk: Walk, env: Env, targets: list[ast.expr], found: Value, node: ast.expr) -> None:
    parts: list[Value] = [UNKNOWN] * len(targets)
    for atom in of_kind(found, "tuple"):
        if len(atom.parts) == len(targets):
            parts = list(atom.parts)
    for atom in of_kind(found, "shape"):
        if atom.key and (atom.key == "ids" or len(targets) > 1):
            parts[0] = value("span", walk.at(node))
    for target, part in zip(targets, parts, strict=True):
        assign(walk, env, target, part, node)


def _named_phase(walk: Walk, env: Env, name: str, found: Value, node: ast.expr) -> None:
    """``is_prefill = state is None``: stored state under the name of a phase."""
    tests = list(leaves(found))
    named = name.lower().lstrip("_") in ("is_prefill", "prefill", "is_decode", "decode", "is_decoding", "is_prefilling")
    if named and tests and all(leaf.kind == "stored?" for leaf in tests) and not env.facts.phase:
        walk.latches[walk.at(node)] = (frozenset(leaf.key for leaf in tests), True)


def _augmented(walk: Walk, env: Env, node: ast.AugAssign) -> Env:
    found = look(walk, env, node.value)
    plus = isinstance(node.op, ast.Add)
    if isinstance(node.target, ast.Name):
        before = env.variables.get(node.target.id, UNKNOWN)
        env.variables[node.target.id] = added(walk, (before, node.target), (found, node.value), plus)
    else:
        stored = plus and bool(of_kind(found, "span", "length"))
        assign(walk, env, node.target, value("advanced") if stored else UNKNOWN, node.value)
    return env


def _return(walk: Walk, env: Env, node: ast.Return) -> None:
    found = look(walk, env, node.value)
    env.frame.returns.append(found)


def _raise(walk: Walk, env: Env, node: ast.Raise) -> None:
    look(walk, env, node.exc)


def _stop(walk: Walk, env: Env, node: ast.stmt) -> None:
    return None


def _expression(walk: Walk, env: Env, node: ast.Expr) -> Env:
    found = look(walk, env, node.value)
    if isinstance(node.value, ast.BoolOp):  # ``prefill and do()``, a statement that decides
        decide(walk, env, frozenset(atom for atom in found if atom.kind in ("and", "or")), walk.at(node))
    return env


def _assert(walk: Walk, env: Env, node: ast.Assert) -> Env:
    return branch(walk, env, test(walk, env, node.test), True)


def _while(walk: Walk, env: Env, node: ast.While) -> Env | None:
    condition = test(walk, env, node.test)
    decide(walk, env, condition, walk.at(node.test))
    after = block(walk, branch(walk, env, condition, True), node.body)
    joined_again = joined(walk, [env, after])
    return block(walk, joined_again, node.orelse)


def _for(walk: Walk, env: Env, node: ast.For | ast.AsyncFor) -> Env | None:
    inner = env.copy()
    bind_loop(walk, inner, node.target, node.iter)
    after = block(walk, inner, node.body)
    return block(walk, joined(walk, [env, after]), node.orelse)


def _try(walk: Walk, env: Env, node: ast.Try) -> Env | None:
    done = block(walk, env.copy(), node.body)
    before = replace(env.facts, absent=env.facts.absent or _reads_the_flag(node.body))
    ways = [block(walk, env.copy(before), handler.body) for handler in node.handlers]
    ways.insert(0, block(walk, done, node.orelse))
    together = joined(walk, ways)
    if together is not None:
        together.facts = replace(together.facts, absent=env.facts.absent)
    return block(walk, together, node.finalbody) if together else block(walk, env.copy(), node.finalbody) and None


def _reads_the_flag(statements: list[ast.stmt]) -> bool:
    """Whether what is tried reads a field, so that whoever catches its absence has no flag."""
    constants = (each for statement in statements for each in ast.walk(statement) if isinstance(each, ast.Constant))
    return any(each.value in FIELD_KINDS for each in constants if isinstance(each.value, str))


def _with(walk: Walk, env: Env, node: ast.With | ast.AsyncWith) -> Env | None:
    for item in node.items:
        found = look(walk, env, item.context_expr)
        if item.optional_vars is not None:
            assign(walk, env, item.optional_vars, found, item.context_expr)
    return block(walk, env, node.body)


def _delete(walk: Walk, env: Env, node: ast.Delete) -> Env:
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            look(walk, env, target.value)
            key = text_of(walk, target.slice)
            if key in FIELD_KINDS:
                walk.report(env.frame, "PHASE005", walk.at(target), str(key))
    return env


def _match(walk: Walk, env: Env, node: ast.Match) -> Env | None:
    """Cases of numbers are comparisons; other patterns are ways that may be taken."""
    env = env.copy()
    env.variables[SUBJECT] = look(walk, env, node.subject)
    subject = ast.copy_location(ast.Name(SUBJECT, ast.Load()), node.subject)
    ways: list[Env | None] = []
    for case in node.cases:
        going = env
        if isinstance(case.pattern, ast.MatchValue):
            asked = ast.copy_location(ast.Compare(subject, [ast.Eq()], [case.pattern.value]), case.pattern.value)
            condition = comparison(walk, env, ast.fix_missing_locations(asked))
            decide(walk, env, condition, walk.at(case.pattern.value))
            going, env = branch(walk, env, condition, True), branch(walk, env, condition, False)
        if case.guard is not None:
            decide(walk, going, test(walk, going, case.guard), walk.at(case.guard))
        ways.append(block(walk, going.copy(), case.body))
    return joined(walk, [*ways, env])


def _function(walk: Walk, env: Env, node: FunctionNode) -> Env:
    env.frame.local_functions[node.name] = (node, env)
    env.variables[node.name] = value("function", key=node.name)
    return env


STATEMENTS: dict[type[ast.stmt], Callable[..., Env | None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _assign,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Continue: _stop,
    ast.Break: _stop,
    ast.Expr: _expression,
    ast.Assert: _assert,
    ast.While: _while,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Delete: _delete,
    ast.Match: _match,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
}
