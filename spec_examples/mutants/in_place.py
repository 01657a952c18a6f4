"""Put a defect into the runner that was imported, for the time of one run. Inside a target's process only."""

from __future__ import annotations
import __future__

import ast
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType
from typing import Any

from spec_examples.mutants.catalogue import MUTANTS
from spec_examples.mutants.mutant import EditDoesNotApply, Mutant
from spec_examples.targets import engine


@contextmanager
def with_defect(runner: str, name: str) -> Iterator[None]:
    """The runner called ``runner`` with the defect called ``name``; as it is, where that is empty.

    Raises ``CannotRun`` where there is no such defect, or where its edit does not apply.
    """
    if not name:
        yield
        return
    mutant = MUTANTS.get(name)
    if mutant is None:
        raise engine.CannotRun(f"no defect is called {name}")
    try:
        with mutated(engine.runner_class(runner), mutant):
            yield
    except EditDoesNotApply as error:
        raise engine.CannotRun(str(error)) from error


@contextmanager
def mutated(runner: type, mutant: Mutant) -> Iterator[None]:
    """``runner`` with ``mutant``'s edit of its method, on the first class that has the construct in it.

    Raises ``EditDoesNotApply``.
    """
    owner, changed = _edited_in(runner, mutant)
    original = vars(owner)[mutant.method]
    setattr(owner, mutant.method, changed)
    try:
        yield
    finally:
        setattr(owner, mutant.method, original)


@cache
def edited(method: Any, mutant: Mutant) -> Any:
    """``method``, a function or static method as it stands in its class, made anew from its edited source.

    The new function has the globals, closure (``super()`` included) and defaults' expressions of the original.
    """
    function = inspect.unwrap(getattr(method, "__func__", method))
    if not isinstance(function, FunctionType):
        raise EditDoesNotApply(f"defect {mutant.name} does not apply: {mutant.method} is no Python function")
    source, line = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(source)))
    mutant.apply(tree)
    ast.increment_lineno(tree, line - 1)
    free = function.__code__.co_freevars
    code = compile(_closing_over(tree, free), function.__code__.co_filename, "exec", _flags(function), True)
    made: dict[str, Any] = {}
    exec(code, function.__globals__, made)
    return made["__closing_over"](*(cell.cell_contents for cell in function.__closure__ or ()))


def _edited_in(runner: type, mutant: Mutant) -> tuple[type, Any]:
    """The class whose own method has the construct, and that method edited.

    A class that stands for a part of a runner names the part by ``producer``.
    """
    cls, *_ = getattr(runner, "producer", (runner,))
    refused = EditDoesNotApply(f"defect {mutant.name} does not apply: {cls.__name__} has no {mutant.method}")
    for each in cls.__mro__:
        if mutant.method in vars(each):
            try:
                return each, edited(vars(each)[mutant.method], mutant)
            except EditDoesNotApply as error:
                refused = error
    raise refused


def _closing_over(tree: ast.Module, free: tuple[str, ...]) -> ast.Module:
    """``tree``'s one definition inside a function that has its free variables, and returns it."""
    parameters = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    name = tree.body[0].name  # type: ignore[attr-defined]
    body = [*tree.body, ast.Return(ast.Name(name, ast.Load()))]
    around = ast.parse("def __closing_over(): pass")
    around.body[0].args, around.body[0].body = parameters, body  # type: ignore[attr-defined]
    return ast.fix_missing_locations(around)


def _flags(function: FunctionType) -> int:
    return function.__code__.co_flags & __future__.annotations.compiler_flag
