"""Read, without importing it, who defines and who inherits preprocessing and MTP in a vLLM-Omni folder.

For runners that cannot be imported here: NPU and XPU ones, and releases that are too old. What was read says what the
source says; that hardware still has to show that it behaves so.

Seen to work on every published release, 0.11.0rc1 to 0.32.0rc1.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from spec_examples.targets import catalogue, install
from spec_examples.targets.errors import TargetUnavailable
from spec_examples.trace import PHASE_KEYS

RUNNER_METHODS = ("_preprocess", "_talker_mtp_forward")
STATE_METHODS = ("run_preprocess", "_run_batched_mtp")
"""What calls the hooks and MTP: in a runner, and in the model state of Model Runner V2."""

DECLARES = re.compile(r"^class \w*(ModelRunner|ModelState|Mixin)\w*\b", re.MULTILINE)
PREFILL_NAMES = ("is_prefill", "_is_prefill", "prefill")


@dataclass(frozen=True)
class Definition:
    """Where a method stands: class, file (relative to the folder that holds ``vllm_omni``) and line."""

    cls: str
    path: str
    line: int


@dataclass(frozen=True)
class Guard:
    """A condition in preprocessing that asks for a span of one token, as it is written."""

    text: str
    line: int
    asks_for_prefill: bool


@dataclass(frozen=True)
class ReadRunner:
    """What the source says of one class that preprocesses.

    ``platform`` is ``shared``, ``v2``, or the platform's folder (``npu``, ``xpu``, …). ``preprocess`` and ``mtp`` are
    the definitions that it uses, ``None`` where none stands in vLLM-Omni. ``outside`` names the classes of other
    packages that come before ``preprocess`` in the order of inheritance: they could define it. ``extends`` are the
    definitions that ``preprocess`` reaches by ``super()``. ``keys`` are the phase keys that all of these set,
    ``guards`` their conditions on single tokens.
    """

    name: str
    path: str
    platform: str
    bases: tuple[str, ...]
    preprocess: Definition | None
    mtp: Definition | None
    outside: tuple[str, ...] = ()
    extends: tuple[Definition, ...] = ()
    keys: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()

    @property
    def inherits_preprocess(self) -> bool:
        """Whether another class of vLLM-Omni defines it."""
        return self.preprocess is not None and self.preprocess.cls != self.name

    @property
    def sets_all_keys(self) -> bool:
        """Whether all three phase keys are set where it preprocesses."""
        return set(self.keys) == set(PHASE_KEYS)

    @property
    def guarded(self) -> bool:
        """Whether every condition on single tokens also asks whether the row is prefill."""
        return bool(self.guards) and all(guard.asks_for_prefill for guard in self.guards)


def read_release(version: str, say: Callable[[str], None] = lambda _: None) -> tuple[ReadRunner, ...]:
    """The runners of a published release, downloaded where it is not there. Raises ``TargetUnavailable``."""
    release = catalogue.release(version)
    if release is None:
        raise TargetUnavailable(f"release {version} is not in the catalogue")
    return read_runners(install.install(release, say))


def read_runners(folder: Path) -> tuple[ReadRunner, ...]:
    """The runners of the ``vllm_omni`` in ``folder``, shared ones first.

    Raises ``TargetUnavailable`` where there is none, or where a file of it is no Python.
    """
    if not (folder / "vllm_omni").is_dir():
        raise TargetUnavailable(f"{folder} contains no vllm_omni/: give the folder that the package lies in")
    classes = _classes(folder)
    found = [_read(cls, methods, classes) for cls in classes.values() if (methods := _methods(cls, classes))]
    order = {"shared": 0, "v2": 1}
    return tuple(sorted(found, key=lambda r: (order.get(r.platform, 2), r.platform, r.path, r.name)))


@dataclass
class _Class:
    """A class of one module; ``names`` maps what the module imported or defined to ``module.name``."""

    module: str
    path: str
    node: ast.ClassDef
    names: dict[str, str] = field(repr=False)

    @property
    def key(self) -> str:
        return f"{self.module}.{self.node.name}"

    @cached_property
    def bases(self) -> tuple[str, ...]:
        """Each base as ``module.name``."""
        return tuple(self._resolved(ast.unparse(base)) for base in self.node.bases)

    def _resolved(self, base: str) -> str:
        first, _, rest = base.partition(".")
        return ".".join(filter(None, (self.names.get(first, first), rest)))

    def method(self, name: str) -> ast.FunctionDef | None:
        return next((n for n in self.node.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def _classes(folder: Path) -> dict[str, _Class]:
    found: dict[str, _Class] = {}
    for file in sorted((folder / "vllm_omni").rglob("*.py")):
        try:
            text = file.read_text(encoding="utf-8")
            if not DECLARES.search(text):
                continue
            tree = ast.parse(text, str(file))
        except (OSError, SyntaxError, ValueError) as error:
            raise TargetUnavailable(f"{file} cannot be read: {error}") from error
        path = file.relative_to(folder)
        module = ".".join(path.with_suffix("").parts)
        nodes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        names = _imported(tree) | {node.name: f"{module}.{node.name}" for node in nodes}
        for node in nodes:
            found[f"{module}.{node.name}"] = _Class(module, str(path), node, names)
    return found


def _imported(tree: ast.Module) -> dict[str, str]:
    """What a module imports, under a condition too: the last one of a name wins."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
    return names


def _methods(cls: _Class, classes: dict[str, _Class]) -> tuple[str, str] | None:
    """The methods to look for in a class, or ``None`` where it is not one that preprocesses.

    Runners of V2 leave preprocessing to their model state; diffusion has no prefill.
    """
    name = cls.node.name
    if "iffusion" in name or "iffusion" in cls.path:
        return None
    if name.endswith("ModelState"):
        line = [c for c, _ in _order(cls, classes) if c]
        return STATE_METHODS if any(c.method(STATE_METHODS[0]) for c in line) else None
    if name.endswith("ModelRunner") and "worker_v2" not in cls.path:
        return RUNNER_METHODS
    return None


def _order(cls: _Class, classes: dict[str, _Class]) -> Iterator[tuple[_Class | None, str]]:
    """The class and its ancestors, depth first from the left, each once; ``None`` for one of another package."""
    seen: set[str] = set()
    pending = [cls.key]
    while pending:
        key = pending.pop(0)
        if key in seen:
            continue
        seen.add(key)
        found = classes.get(key)
        yield found, key
        pending = [*(found.bases if found else ()), *pending]


def _read(cls: _Class, methods: tuple[str, str], classes: dict[str, _Class]) -> ReadRunner:
    chain, outside = _definitions(cls, methods[0], classes)
    mtp, _ = _definitions(cls, methods[1], classes)
    set_here = {key for _, body in chain for key in _set_keys(body)}
    return ReadRunner(
        name=cls.node.name,
        path=cls.path,
        platform=_platform(cls.path),
        bases=tuple(base.rpartition(".")[2] for base in cls.bases),
        preprocess=_place(*chain[0]) if chain else None,
        mtp=_place(*mtp[0]) if mtp else None,
        outside=outside,
        extends=tuple(_place(*found) for found in chain[1:]),
        keys=tuple(key for key in PHASE_KEYS if key in set_here),
        guards=tuple(guard for _, body in chain for guard in _guards(body)),
    )


def _platform(path: str) -> str:
    parts = Path(path).parts
    if "platforms" in parts:
        return parts[parts.index("platforms") + 1]
    if "npu" in parts:  # 0.11 and 0.12 keep it under worker/
        return "npu"
    return "v2" if "worker_v2" in parts or "model_executor" in parts else "shared"


def _definitions(
    cls: _Class, method: str, classes: dict[str, _Class]
) -> tuple[list[tuple[_Class, ast.FunctionDef]], tuple[str, ...]]:
    """The definition of ``method`` that ``cls`` uses and those that it reaches by ``super()``.

    Also the classes of other packages that come before the first.
    """
    outside: list[str] = []
    chain: list[tuple[_Class, ast.FunctionDef]] = []
    for found, key in _order(cls, classes):
        if found is None:
            outside += [] if chain else [key]
        elif node := found.method(method):
            chain.append((found, node))
            if not _calls_super(node):
                break
    return chain, tuple(outside)


def _calls_super(function: ast.FunctionDef) -> bool:
    called = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    return f"super().{function.name}" in called


def _place(cls: _Class, function: ast.FunctionDef) -> Definition:
    return Definition(cls.node.name, cls.path, function.lineno)


def _set_keys(function: ast.FunctionDef) -> Iterator[str]:
    """String keys that the function stores under: ``info["key"] = …`` and ``{"key": …}``."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            keys: list[ast.expr | None] = [node.slice]
        else:
            keys = list(node.keys) if isinstance(node, ast.Dict) else []
        yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _guards(function: ast.FunctionDef) -> Iterator[Guard]:
    """Conditions of statements and comprehensions that ask for one token."""
    for node in ast.walk(function):
        tests = [node.test] if isinstance(node, ast.If) else node.ifs if isinstance(node, ast.comprehension) else []
        for test in tests:
            if any(_asks_for_one(part) for part in ast.walk(test)):
                names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
                yield Guard(ast.unparse(test), test.lineno, any(name in names for name in PREFILL_NAMES))


def _asks_for_one(node: ast.AST) -> bool:
    """``span_len == 1``, ``n_tok == 1``, …; not a length of something else."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Eq)
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value == 1
        and isinstance(node.left, (ast.Name, ast.Subscript))
    )
