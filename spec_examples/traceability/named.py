"""Which tests name which clauses: read from their source, by the marker ``clause``. Nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from spec_examples.contract.clauses import CLAUSES, MODEL_CLAUSES

MARKER = "clause"


@dataclass(frozen=True)
class NamedTest:
    """A test function and the clauses that it, or its module, is marked with. ``path`` is below the repository."""

    path: str
    name: str
    line: int
    clauses: tuple[str, ...]


def named_tests(root: Path) -> tuple[NamedTest, ...]:
    """The marked tests below ``root``/tests, by file and line."""
    return tuple(
        test for path in sorted((root / "tests").rglob("test_*.py")) for test in _of(path, path.relative_to(root))
    )


def _of(path: Path, shown: Path) -> Iterator[NamedTest]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    whole = [
        clause
        for node in tree.body
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets)
        for clause in _clauses(node.value)
    ]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            clauses = [*whole, *(clause for mark in node.decorator_list for clause in _clauses(mark))]
            if clauses:
                yield NamedTest(shown.as_posix(), node.name, node.lineno, tuple(dict.fromkeys(clauses)))


def _clauses(mark: ast.expr) -> Iterator[str]:
    """The arguments of each ``pytest.mark.clause(…)`` in an expression; ``FIELD-*`` stands for each that it matches."""
    for node in ast.walk(mark):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == MARKER:
            for each in node.args:
                if isinstance(each, ast.Constant):
                    name = str(each.value)
                    yield from [id_ for id_ in (*CLAUSES, *MODEL_CLAUSES) if fnmatchcase(id_, name)] or [name]
