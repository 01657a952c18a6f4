"""Find the vLLM that a tree of vLLM-Omni goes with, before anything is imported and without any vLLM at hand.

A tree imports names from vLLM. The vLLMs that have all of them are possible; what the tree's files say decides between
several. Names decide first because files lag: a branch moves to a new vLLM before its recipes do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.version import InvalidVersion, Version

from spec_examples.targets import catalogue, inherited, vllm_names
from spec_examples.targets.errors import TargetUnavailable
from spec_examples.targets.hints import Hint, hints
from spec_examples.targets.reached import Tree, certain_imports

OLDEST_RUN = (0, 17)
"""The first minor version whose runners are run here; of older ones the source can be read."""

GUESSED = "the newest that fits"
"""Why a vLLM is taken if several fit and the tree says nothing."""

ALSO_LOOKED_AT = ("worker", "core", "config", "engine", "inputs", "patch.py", "request.py", "outputs.py")
"""Parts of ``vllm_omni`` that follow vLLM closely: what no runner imports tells the minor too."""

Name = tuple[str, str]
"""A module of vLLM and a name in it; the empty name stands for the module alone."""


@dataclass(frozen=True)
class Pairing:
    """The chosen vLLM, why it was chosen, and all that have every name."""

    version: str
    why: str
    fitting: tuple[str, ...]


def choose(folder: Path, installed: str | None = None, tag: str = "") -> Pairing:
    """The vLLM that the tree in ``folder`` goes with, among those of the catalogue.

    ``installed`` is the environment's, which is preferred where nothing says otherwise; ``tag`` is the nearest one of
    the tree's repository. Raises ``TargetUnavailable`` where none has all the names.
    """
    tree = Tree(folder)
    needed = {(each.module, each.name) for _, each in tree.imports("vllm")}
    index = vllm_names.index()
    missing = {version: lacking(index, version, needed) for version in index.versions}
    fitting = [version for version in index.versions if not missing[version]]
    if not fitting:
        raise TargetUnavailable(_none_fits(missing))
    more = set(_looked_at(folder))
    closer = [version for version in fitting if not lacking(index, version, more)] or fitting
    closer = _least_wrong(index, closer, _calls(tree))
    version, why = _decide(closer, list(hints(folder, tag)), installed)
    return Pairing(version, why, tuple(closer))


def lacking(index: vllm_names.Index, version: str, names: Iterable[Name]) -> tuple[str, ...]:
    """The names that a version of vLLM has not, as they would be written."""
    return tuple(sorted(".".join(filter(None, name)) for name in names if not index.has(version, *name)))


def _calls(tree: Tree) -> set[str]:
    """What the tree's runners and schedulers need of the methods that they inherit."""
    modules = [
        ast.parse(module.path.read_bytes())
        for name, module in tree.modules.items()
        if name.startswith(("vllm_omni.worker", "vllm_omni.core")) and not module.error
    ]
    own = {name for module in modules for name in inherited.own_names(module)}
    return {feature for module in modules for feature in inherited.needed(module, own)}


def _least_wrong(index: vllm_names.Index, versions: list[str], calls: set[str]) -> list[str]:
    """The versions whose methods the fewest calls do not fit. Attributes may be set elsewhere, so none is required."""
    wrong = {version: sum(not index.allows(version, call) for call in calls) for version in versions}
    return [version for version in versions if wrong[version] == min(wrong.values())]


def _looked_at(folder: Path) -> Iterable[Name]:
    for part in ALSO_LOOKED_AT:
        root = folder / "vllm_omni" / part
        for file in [root] if root.is_file() else sorted(root.rglob("*.py")):
            yield from ((each.module, each.name) for each in certain_imports(folder, file, "vllm"))


def _decide(fitting: list[str], said: list[Hint], installed: str | None) -> tuple[str, str]:
    """One of several that have every name."""
    if len(fitting) == 1:
        return fitting[0], "the only one that fits"
    for hint in said:
        for version in fitting:
            if catalogue.minor(version) == hint.minor:
                return version, hint.source
    if said:
        nearest = min(fitting, key=lambda version: _distance(version, said[0].minor))
        return nearest, f"the nearest to {said[0].version}, which {said[0].source} names"
    if installed and (same := next((v for v in fitting if is_minor_of(v, installed)), None)):
        return same, "installed here"
    return fitting[-1], GUESSED


def _distance(version: str, wanted: tuple[int, int]) -> int:
    major, number = catalogue.minor(version)
    return abs((major - wanted[0]) * 1000 + number - wanted[1])


def is_minor_of(version: str, other: str) -> bool:
    """Whether two versions of vLLM share their minor version."""
    try:
        return catalogue.minor(version) == catalogue.minor(other)
    except InvalidVersion:
        return False


def _none_fits(missing: dict[str, tuple[str, ...]]) -> str:
    fewest = min(len(names) for names in missing.values())
    nearest = max((version for version in missing if len(missing[version]) == fewest), key=Version)
    lacks = missing[nearest]
    some = ", ".join(lacks[:3]) + (", …" if len(lacks) > 3 else "")
    return (
        f"no published vLLM has every name that this tree imports: vLLM {nearest}, the nearest, lacks {len(lacks)} "
        f"({some}); if another vLLM has them, name its folder with --vllm PATH"
    )


@cache
def is_run(version: str) -> bool:
    """Whether runners on that vLLM are run here."""
    return catalogue.minor(version) >= OLDEST_RUN
