"""What importing a runner reaches in a vLLM-Omni tree, read from its source: nothing of it is imported.

Modules of ``vllm_omni`` are followed from those that every runner needs, along the imports that run whenever a module
is imported. Imports inside functions, and those under ``if TYPE_CHECKING``, do not.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

OURS = "vllm_omni"

ROOTS = (
    "vllm_omni",
    "vllm_omni.config.model",
    "vllm_omni.model_executor.models",
    "vllm_omni.core.sched.output",
    "vllm_omni.core.sched.omni_ar_scheduler",
    "vllm_omni.core.sched.omni_generation_scheduler",
    "vllm_omni.worker.gpu_ar_model_runner",
    "vllm_omni.worker.gpu_generation_model_runner",
)
"""The modules that are imported to run the AR and the generation runner."""


@dataclass(frozen=True)
class Import:
    """``from module import name``, or ``import module`` with an empty name.

    ``certain`` says that it runs whenever its module is imported, and that its failure is not caught.
    """

    module: str
    name: str
    line: int
    certain: bool


@dataclass(frozen=True)
class Broken:
    """A place in a tree that stops its import: a path relative to the tree, a line, and what is wrong there."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class Module:
    """One file of Python, with the imports that run with it and the names that it has then.

    ``open_ended`` says that it may have any name: it has a ``__getattr__`` or takes over all names of another module.
    """

    path: Path
    imports: tuple[Import, ...]
    names: frozenset[str]
    open_ended: bool
    error: tuple[int, str] | None = None


@cache
def _module(path: Path, name: str, is_package: bool, stamp: tuple[int, int]) -> Module:
    try:
        content = path.read_bytes()
        tree = ast.parse(content)
    except SyntaxError as error:
        return Module(path, (), frozenset(), True, (error.lineno or 1, _syntax_error(error, content)))
    except ValueError as error:  # a null byte, before Python 3.12
        return Module(path, (), frozenset(), True, (1, str(error)))
    package = name if is_package else name.rpartition(".")[0]
    imports = tuple(_imports(tree.body, package, True))
    return Module(path, imports, frozenset(defined(tree)), is_open_ended(tree))


def _syntax_error(error: SyntaxError, content: bytes) -> str:
    lines = content.splitlines()
    line = lines[error.lineno - 1] if error.lineno and error.lineno <= len(lines) else b""
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        return "a merge marker"
    return f"syntax error: {error.msg}"


def _imports(body: list[ast.stmt], package: str, certain: bool) -> Iterator[Import]:
    """The imports of statements that run with their module, in their order."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, "", node.lineno, certain) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = absolute(node, package)
            yield from (Import(module, alias.name, node.lineno, certain) for alias in node.names)
        elif isinstance(node, ast.If):
            if not _is_type_checking(node.test):
                yield from _imports(node.body, package, False)
            yield from _imports(node.orelse, package, False)
        elif isinstance(node, ast.Try):
            for part in (node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody):
                yield from _imports(part, package, False)
        elif isinstance(node, ast.With | ast.For | ast.While):
            yield from _imports(node.body, package, False)
        elif isinstance(node, ast.ClassDef):
            yield from _imports(node.body, package, certain)


def absolute(node: ast.ImportFrom, package: str) -> str:
    """The full name of the module that names are taken from, by a module of ``package``."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _is_type_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def defined(tree: ast.Module) -> Iterator[str]:
    """Every name that a module may have, whatever branch it takes; names inside functions and classes are not."""
    left: list[ast.AST] = list(tree.body)
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Import):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        left.extend(ast.iter_child_nodes(node))


def is_open_ended(tree: ast.Module) -> bool:
    """Whether names may come from elsewhere: a module's ``__getattr__``, ``import *``, or ``globals()`` written to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "globals":
            return True
    return any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)


class Tree:
    """The folder that holds ``vllm_omni``, and what importing a runner reads of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def module(self, name: str) -> Module | None:
        """The module so called, ``None`` where there is none."""
        base = self.folder.joinpath(*name.split("."))
        for path, is_package in ((base / "__init__.py", True), (base.with_name(f"{base.name}.py"), False)):
            if path.is_file():
                stat = os.stat(path)
                return _module(path, name, is_package, (stat.st_mtime_ns, stat.st_size))
        return None

    def _is_namespace(self, name: str) -> bool:
        return self.folder.joinpath(*name.split(".")).is_dir()

    @cached_property
    def modules(self) -> dict[str, Module]:
        """What importing a runner imports of the tree, by name. Those that it may do without are left out."""
        found: dict[str, Module] = {}
        left = list(ROOTS)
        while left:
            name = left.pop()
            if name in found or (module := self.module(name)) is None:
                continue
            found[name] = module
            left.append(name.rpartition(".")[0] or name)
            for each in module.imports:
                if each.certain and _is_in(each.module, OURS):
                    left += [each.module, f"{each.module}.{each.name}"]
        return found

    def imports(self, package: str) -> Iterator[tuple[Module, Import]]:
        """Each certain import from ``package`` in those modules."""
        for module in self.modules.values():
            yield from ((module, each) for each in module.imports if each.certain and _is_in(each.module, package))

    @property
    def broken(self) -> Iterator[Broken]:
        """The places that stop the import of a runner: syntax errors, and names that the tree's own modules lack."""
        for module in self.modules.values():
            if module.error:
                yield Broken(self._relative(module), *module.error)
        for module, each in self.imports(OURS):
            if reason := self._lacks(each):
                yield Broken(self._relative(module), each.line, reason)

    def _lacks(self, each: Import) -> str:
        source = self.module(each.module)
        if source is None:
            return "" if self._is_namespace(each.module) else f"the tree has no module {each.module}"
        if not each.name or each.name == "*" or source.open_ended or each.name in source.names:
            return ""
        below = f"{each.module}.{each.name}"
        if each.name.startswith("__") or self.module(below) or self._is_namespace(below):
            return ""
        return "" if self._is_set_elsewhere(each.name) else f"{each.module} has no {each.name}"

    def _is_set_elsewhere(self, name: str) -> bool:
        """Whether some module may give another one this name, as patches do: only an import can tell then."""
        setting = re.compile(rf"""\.{name}\s*(:[^=\n]*)?=[^=]|["']{name}["']""")
        return any(setting.search(module.path.read_text(errors="replace")) for module in self.modules.values())

    def _relative(self, module: Module) -> str:
        return str(module.path.relative_to(self.folder))


def certain_imports(folder: Path, file: Path, package: str) -> Iterator[Import]:
    """Each import from ``package`` that runs whenever ``file``, somewhere below ``folder``, is imported."""
    parts = file.relative_to(folder).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    stat = os.stat(file)
    name = ".".join(parts[:-1] if is_package else parts)
    read = _module(file, name, is_package, (stat.st_mtime_ns, stat.st_size))
    yield from (each for each in read.imports if each.certain and _is_in(each.module, package))


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
