"""What a module defines: its functions and classes, and which of them are hooks that a runner calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

HOOKS = {
    "preprocess": "row",
    "preprocess_decode_batch": "decode",
    "preprocess_decode_batch_mrv2": "decode",
    "preprocess_batch": "batch",
    "preprocess_batch_mrv2": "batch",
}
"""The hooks by name, and what each is given: one row's span, single-token decode rows, or a whole batch."""

REGISTERED_BY = "set_custom_preprocess"
"""A mixin of vLLM-Omni's models takes any function as ``preprocess`` by this name, in every release that was read."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Function:
    """A function with the class that it stands in, if any. ``hook`` is what it is given as a hook, else empty."""

    node: FunctionNode
    cls: str = ""
    hook: str = ""

    @property
    def is_static(self) -> bool:
        """Whether it takes no instance and no class."""
        return not self.cls or any(_decorator(each) == "staticmethod" for each in self.node.decorator_list)

    @property
    def is_class_method(self) -> bool:
        """Whether its first parameter is the class."""
        return any(_decorator(each) == "classmethod" for each in self.node.decorator_list)

    @property
    def parameters(self) -> list[ast.arg]:
        """The positional and keyword parameters, in order."""
        arguments = self.node.args
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


@dataclass(frozen=True, eq=False)
class Class:
    """A class of the module: its own methods, the names of its bases, and its annotated fields in order."""

    name: str
    methods: dict[str, Function]
    bases: tuple[str, ...]
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Definitions:
    """Everything in a module by name. ``constants`` are its strings that have a name."""

    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    constants: dict[str, object] = field(default_factory=dict)

    def method(self, cls: str, name: str) -> Function | None:
        """The method that an instance of ``cls`` has, of its own or of a base in the same module."""
        seen: set[str] = set()
        order = [cls]
        while order:
            current = order.pop(0)
            if current in seen or current not in self.classes:
                continue
            seen.add(current)
            found = self.classes[current].methods.get(name)
            if found:
                return found
            order.extend(self.classes[current].bases)
        return None

    def all(self) -> Iterator[Function]:
        """Every function and method."""
        yield from self.functions.values()
        for cls in self.classes.values():
            yield from cls.methods.values()

    def hooks(self) -> list[Function]:
        """The functions that a runner calls."""
        return [function for function in self.all() if function.hook]


def definitions(tree: ast.Module, text: str) -> Definitions:
    """What ``tree`` defines, at any depth but inside functions; ``text`` is its source."""
    found = Definitions()
    registered = _registered(tree) if REGISTERED_BY in text or ".preprocess" in text else set()
    for node, cls in _named(tree.body, ""):
        if isinstance(node, ast.ClassDef):
            found.classes.setdefault(node.name, _class(node, registered))
        elif isinstance(node, FunctionNode) and not cls:
            hook = "row" if node.name in registered else ""
            found.functions.setdefault(node.name, Function(node, hook=hook))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not cls and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    value = node.value.value if isinstance(node.value, ast.Constant) else node.value
                    found.constants[target.id] = value
    return found


def _named(body: list[ast.stmt], cls: str) -> Iterator[tuple[ast.stmt, str]]:
    """Statements with the class that they stand in; those under ``if`` and ``try`` too."""
    for node in body:
        yield node, cls
        if isinstance(node, ast.ClassDef):
            yield from _named(node.body, node.name)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _named(node.body, cls)
            yield from _named(getattr(node, "orelse", []), cls)
            for handler in getattr(node, "handlers", []):
                yield from _named(handler.body, cls)


def _class(node: ast.ClassDef, registered: set[str]) -> Class:
    methods: dict[str, Function] = {}
    fields: list[str] = []
    for statement, cls in _named(node.body, node.name):
        if isinstance(statement, FunctionNode) and cls == node.name:
            methods[statement.name] = Function(statement, node.name, _hook(statement, registered))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            fields.append(statement.target.id)
    bases = tuple(name for base in node.bases if (name := _last_name(base)))
    return Class(node.name, methods, bases, tuple(fields))


def _hook(node: FunctionNode, registered: set[str]) -> str:
    """What the method is given as a hook. A ``preprocess`` of images or text has other parameters, and is none."""
    names = {each.arg for each in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
    kind = HOOKS.get(node.name, "row" if node.name in registered else "")
    taken = {"row": {"input_ids"}, "decode": {"req_infos", "input_ids"}, "batch": {"req_ids", "req_infos"}}
    if kind and (names & taken[kind] or (node.args.kwarg and names <= {"self"})):
        return kind
    return ""


def _registered(tree: ast.Module) -> set[str]:
    """The names of functions that are made a ``preprocess`` by a call or an assignment."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) == REGISTERED_BY and node.args:
            found.add(_last_name(node.args[0]))
        elif isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Attribute) and target.attr == "preprocess" for target in node.targets
        ):
            found.add(_last_name(node.value))
    return found - {""}


def _last_name(node: ast.expr) -> str:
    """``foo`` of ``foo``, ``self.foo`` and ``package.foo``."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _decorator(node: ast.expr) -> str:
    return _last_name(node.func if isinstance(node, ast.Call) else node)
