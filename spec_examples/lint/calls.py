"""Calls: into the module they are followed, with what is known of their arguments; of others the result is guessed."""

from __future__ import annotations

import ast

from spec_examples.lint.definitions import Function
from spec_examples.lint.displays import handed_on, spread_constant
from spec_examples.lint.looking import NAMES_A_PHASE, integer, look, looks_at, truth
from spec_examples.lint.reading import one_token, read_key, size, text_of
from spec_examples.lint.statements import follow
from spec_examples.lint.values import FIELD_KINDS, FIELD_NAMES, NUMBERS, UNKNOWN, Value, join, of_kind, value
from spec_examples.lint.walk import Env, Frame, Walk
from spec_examples.trace import IS_PREFILL

ASKING = ("get", "pop", "setdefault")
DEEPEST = 8
"""Calls into calls; what is nested deeper is not followed."""

SAME_TOKENS = {
    *("reshape", "view", "flatten", "ravel", "squeeze", "unsqueeze", "contiguous", "clone", "detach", "tolist"),
    *("to", "type", "long", "int", "cpu", "cuda"),
}
"""Methods of a tensor of token ids after which it still has as many."""

SAME_ROWS = {"to", "clone", "contiguous", "detach", "float", "half", "bfloat16", "cpu", "cuda"}
"""Methods of a tensor of embeddings after which it still has as many rows."""


@looks_at(ast.Call)
def look_at_call(walk: Walk, env: Env, node: ast.Call) -> Value:
    """What a call gives."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if isinstance(node.func, ast.Attribute):
        return _method(walk, env, node, node.func, name)
    if name == "super":
        return value("self", key="super")
    built_in = _built_in(walk, env, node, name)
    if built_in is not None:
        return built_in
    target = env.variables.get(name, UNKNOWN)
    for atom in of_kind(target, "function"):
        return _local(walk, env, node, atom.key)
    for atom in of_kind(target or look(walk, env, node.func), "class"):
        return _made(walk, env, node, atom.key)
    function = walk.found.functions.get(name)
    return _into(walk, env, node, function, None) if function and not target else _elsewhere(walk, env, node, UNKNOWN)


def _method(walk: Walk, env: Env, node: ast.Call, func: ast.Attribute, name: str) -> Value:
    base = look(walk, env, func.value)
    for atom in base:
        if atom.kind == "self":
            cls = env.frame.self_class
            function = _above(walk, cls, name) if atom.key == "super" else walk.found.method(cls, name)
            if function:
                return _into(walk, env, node, function, base)
        if atom.kind == "class":
            function = walk.found.method(atom.key, name)
            if function:
                return _into(walk, env, node, function, base)
    key = text_of(walk, node.args[0]) if node.args else None
    if name in ASKING and key is not None and len(node.args) <= 2:
        return _ask(walk, env, base, key, node, name)
    if name == "update":
        for given in node.args:
            spread_constant(walk, env, given)
        for each in node.keywords:
            if each.arg in FIELD_KINDS:
                walk.report(env.frame, "PHASE005", walk.at(each.value), str(each.arg))
    return _of_tensor(walk, env, node, base, name) or _elsewhere(walk, env, node, base)


def _above(walk: Walk, cls: str, name: str) -> Function | None:
    bases = walk.found.classes[cls].bases if cls in walk.found.classes else ()
    return next((found for base in bases if (found := walk.found.method(base, name))), None)


def _ask(walk: Walk, env: Env, base: Value, key: str, node: ast.Call, name: str) -> Value:
    """``get``, ``pop`` and ``setdefault`` with a key; the last two also write."""
    default = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "default"), None)
    if name != "get" and key in FIELD_KINDS:
        walk.report(env.frame, "PHASE005", walk.at(node), key)
    if name == "pop" and default is None:
        return read_key(walk, env, base, key, node, None, False)
    return read_key(walk, env, base, key, node, default, True)


def _of_tensor(walk: Walk, env: Env, node: ast.Call, base: Value, name: str) -> Value:
    """Methods of a tensor that keep, count or pick its tokens."""
    ids, embeds = bool(of_kind(base, "ids")), bool(of_kind(base, "embeds"))
    numbers = [integer(each) for each in node.args]
    if name in ("numel", "nelement", "__len__") and not node.args:
        return value("span" if ids else "length", walk.at(node))
    if name == "size":
        kind = "ids" if ids else "embeds" if embeds else ""
        return size(walk, kind, numbers[0], node) if numbers and numbers[0] is not None else value("shape", key=kind)
    if ids and name == "item":
        one_token(walk, env, walk.at(node))
    if ids and name in SAME_TOKENS:
        _elsewhere(walk, env, node, UNKNOWN)
        if name in ("reshape", "view") and numbers and all(number == 1 for number in numbers):
            one_token(walk, env, walk.at(node))
        return value("ids")
    if embeds and name in SAME_ROWS:
        _elsewhere(walk, env, node, UNKNOWN)
        return value("embeds")
    if name == "copy" and of_kind(base, "info"):
        return value("info")
    return UNKNOWN


def _built_in(walk: Walk, env: Env, node: ast.Call, name: str) -> Value | None:
    """Functions of the language that keep what is known; ``None`` for all others."""
    if name in env.variables or name in walk.found.functions or not node.args:
        return None
    if name == "bool":
        return truth(walk, look(walk, env, node.args[0]), walk.at(node.args[0]))
    if name in ("int", "float", "abs"):
        found = look(walk, env, node.args[0])
        if of_kind(found, "ids"):
            one_token(walk, env, walk.at(node))
        return frozenset(a for a in found if a.kind in ("span", "length", "state", "advanced", *NUMBERS))
    if name in ("max", "min"):
        found = join(look(walk, env, each) for each in node.args)
        return frozenset(a for a in found if a.kind in ("span", "length", "state", "advanced", *NUMBERS))
    if name == "len":
        found = look(walk, env, node.args[0])
        return value("span" if of_kind(found, "ids", "embeds") else "length", walk.at(node))
    if name == "cast":
        return look(walk, env, node.args[-1])
    if name == "dict" and len(node.args) == 1:
        return _elsewhere(walk, env, node, UNKNOWN) or look(walk, env, node.args[0])
    if name == "getattr" and len(node.args) > 1:
        return _attribute_by_name(walk, env, node)
    if name == "isinstance" and len(node.args) == 2:
        return _is_instance(walk, env, node)
    return None


def _attribute_by_name(walk: Walk, env: Env, node: ast.Call) -> Value:
    base, key = look(walk, env, node.args[0]), text_of(walk, node.args[1])
    default = node.args[2] if len(node.args) > 2 else None
    if key is None or (key not in FIELD_KINDS and not of_kind(base, "self", "state")):
        return _elsewhere(walk, env, node, UNKNOWN)
    return read_key(walk, env, base, key, node, default, default is not None)


def _is_instance(walk: Walk, env: Env, node: ast.Call) -> Value:
    found, at = look(walk, env, node.args[0]), walk.at(node)
    for atom in found:
        if atom.kind == "maybe":
            return value("present?", atom.at, key=IS_PREFILL)
        if atom.kind in NUMBERS and atom.key == "maybe":
            return value("present?", atom.at, key=FIELD_NAMES[atom.kind])
    return join(value("stored?", at, key=atom.key) for atom in of_kind(found, "state"))


def _elsewhere(walk: Walk, env: Env, node: ast.Call, base: Value) -> Value:
    """A call that is not followed. A mapping stays one, and what is looked up in stored state is stored state."""
    found = [look(walk, env, each.value if isinstance(each, ast.Starred) else each) for each in node.args]
    for keyword in node.keywords:
        given = look(walk, env, keyword.value)
        if keyword.arg and any(word in keyword.arg.lower() for word in NAMES_A_PHASE):
            handed_on(walk, env, keyword.arg, given)
        found.append(given if keyword.arg is None else UNKNOWN)
    handed = [atom for each in found for atom in of_kind(each, "info")]
    if handed and len(node.args) == 1:
        return frozenset(handed)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return frozenset(of_kind(base, "state")) if name in ("get", "setdefault", "pop") else UNKNOWN


def _made(walk: Walk, env: Env, node: ast.Call, name: str) -> Value:
    """An object of a class of this module: what each field was given."""
    cls = walk.found.classes.get(name)
    given: dict[str, Value] = {}
    for position, each in enumerate(node.args):
        found = look(walk, env, each.value if isinstance(each, ast.Starred) else each)
        if cls and position < len(cls.fields) and not isinstance(each, ast.Starred):
            given[cls.fields[position]] = found
    for keyword in node.keywords:
        found = look(walk, env, keyword.value)
        if keyword.arg:
            given[keyword.arg] = found
            if cls is None or keyword.arg not in cls.fields:
                handed_on(walk, env, keyword.arg, found)
    return value("object", key=name, names=tuple(given), parts=tuple(given.values()))


def _local(walk: Walk, env: Env, node: ast.Call, name: str) -> Value:
    """A function that is defined inside the one that is followed; it sees that one's variables."""
    found = env.frame.local_functions.get(name)
    if found is None:
        return _elsewhere(walk, env, node, UNKNOWN)
    definition, _ = found
    function = Function(definition)
    bound = _bound(walk, env, node, function, None)
    if len(walk.active) >= DEEPEST or definition in walk.active:
        return UNKNOWN
    return follow(walk, function, {**env.variables, **bound}, env.facts, _inner_frame(env, function))


def _into(walk: Walk, env: Env, node: ast.Call, function: Function, base: Value | None) -> Value:
    """A call of a function of this module."""
    bound = _bound(walk, env, node, function, base)
    if len(walk.active) >= DEEPEST or function.node in walk.active:
        return UNKNOWN
    frame = _inner_frame(env, function)
    known = (function.node, frozenset(bound.items()), env.facts, frame.hook)
    if known not in walk.done:
        walk.done[known] = UNKNOWN
        walk.done[known] = follow(walk, function, bound, env.facts, frame)
    return walk.done[known]


def _inner_frame(env: Env, function: Function) -> Frame:
    same = not function.cls or env.frame.self_class
    cls = env.frame.self_class if same and function.cls != "" and env.frame.self_class else function.cls
    inner = Frame(function, env.frame.hook, cls or env.frame.self_class)
    inner.local_functions = dict(env.frame.local_functions)
    return inner


def _bound(walk: Walk, env: Env, node: ast.Call, function: Function, base: Value | None) -> dict[str, Value]:
    """The values of the parameters, defaults included."""
    arguments = function.node.args
    positional = [each.arg for each in [*arguments.posonlyargs, *arguments.args]]
    bound: dict[str, Value] = {}
    takes_self = bool(function.cls) and not function.is_static
    if takes_self and positional and (base is None or not _is_class(base) or function.is_class_method):
        first = positional.pop(0)
        bound[first] = value("class", key=function.cls) if function.is_class_method else value("self")
    for name, each in zip(positional, node.args, strict=False):
        bound[name] = look(walk, env, each.value if isinstance(each, ast.Starred) else each)
    for each in node.args[len(positional) :]:
        look(walk, env, each)
    rest = UNKNOWN
    for keyword in node.keywords:
        found = look(walk, env, keyword.value)
        if keyword.arg is None:
            rest |= found
        elif keyword.arg in {each.arg for each in function.parameters}:
            bound[keyword.arg] = found
    return {**_defaults(walk, env, function, rest), **bound}


def _is_class(base: Value) -> bool:
    return bool(of_kind(base, "class"))


def _defaults(walk: Walk, env: Env, function: Function, rest: Value) -> dict[str, Value]:
    """Parameters that were not given: their defaults, or what a mapping that was spread may hold for them."""
    arguments = function.node.args
    given: dict[str, Value] = {}
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    for parameter, default in pairs:
        given[parameter.arg] = look(walk, env, default)
    if of_kind(rest, "info"):
        given |= spread(walk, function, dict(pairs_by_name(pairs)), env.frame)
    if arguments.kwarg:
        given[arguments.kwarg.arg] = rest
    if arguments.vararg:
        given[arguments.vararg.arg] = UNKNOWN
    return given


def pairs_by_name(pairs: list[tuple[ast.arg, ast.expr]]) -> dict[str, ast.expr]:
    """Defaults by the names of their parameters."""
    return {parameter.arg: default for parameter, default in pairs}


def spread(walk: Walk, function: Function, defaults: dict[str, ast.expr], frame: Frame) -> dict[str, Value]:
    """Parameters under the names of the fields, as the runner's keywords fill them."""
    found: dict[str, Value] = {}
    for parameter in function.parameters:
        kind = FIELD_KINDS.get(parameter.arg)
        at, default = walk.at(parameter), defaults.get(parameter.arg)
        if kind is None:
            if parameter.arg.startswith("_omni_"):
                walk.report(frame, "PHASE009", at, parameter.arg)
            continue
        found[parameter.arg] = value(kind, at)
        if isinstance(default, ast.Constant) and default.value is None:
            found[parameter.arg] = value("maybe", at) if kind == "flag" else value(kind, at, key="maybe")
        elif default is not None:
            walk.report(frame, "PHASE003" if kind == "flag" else "PHASE004", at)
    return found


def entry(walk: Walk, function: Function) -> tuple[dict[str, Value], Frame]:
    """The parameters of a function that nobody here calls, as the runner fills them where it is a hook."""
    frame = Frame(function, function.hook, function.cls)
    arguments = function.node.args
    bound = {each.arg: UNKNOWN if function.hook else value("info") for each in function.parameters}
    positional = [*arguments.posonlyargs, *arguments.args]
    if function.cls and not function.is_static and positional:
        bound[positional[0].arg] = value("class" if function.is_class_method else "self", key=function.cls)
    row = function.hook == "row" or (not function.hook and _names_a_phase(function))
    known = {"input_ids": value("ids") if row else UNKNOWN, "input_embeds": value("embeds") if row else UNKNOWN}
    known |= {"req_infos": value("infos"), "model_intermediate_buffer": value("state", key="model_intermediate_buffer")}
    bound |= {name: found for name, found in known.items() if name in bound}
    if arguments.kwarg:
        bound[arguments.kwarg.arg] = value("info")
    pairs = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    if function.hook == "row":
        bound |= spread(walk, function, pairs_by_name(pairs), frame)
    return bound, frame


def _names_a_phase(function: Function) -> bool:
    return any(word in function.node.name.lower() for word in NAMES_A_PHASE)
