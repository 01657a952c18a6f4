"""Where a report points to in the files of a change: the runner's own source, where that is what is under test."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spec_examples.targets import Target, TargetUnavailable
from spec_examples.targets.reading import ReadRunner, read_runners
from spec_examples.trace import Environment

ABOUT_MTP = ("ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-5", "HOOK-2")


@dataclass(frozen=True)
class Place:
    """A file, relative to the workspace, and a line from 1."""

    path: str
    line: int


def workspace() -> Path:
    """The folder that holds the change: that of the job where there is one, else the working directory."""
    return Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()).resolve()


def is_in_workspace(path: str) -> bool:
    """Whether a page, by its path as reports show it, is a file of the workspace."""
    return (workspace() / path).is_file()


def producer(target: Target, environment: Environment, clause: str = "") -> Place | None:
    """Where the runner under test preprocesses; ``None`` where its source is no part of the workspace.

    For a clause about MTP it is the first condition on single tokens there that does not ask for prefill, if any.
    """
    if ":" in target.runner:
        return _class(target.runner)
    found = in_tree(target, environment, clause)
    file = Path(target.vllm_omni, found.path) if found else None
    if found is None or file is None or not file.is_relative_to(workspace()):
        return None
    return Place(file.relative_to(workspace()).as_posix(), found.line)


def in_tree(target: Target, environment: Environment, clause: str = "") -> Place | None:
    """As ``producer``, with the path below a folder of vLLM-Omni, wherever that lies; ``None`` for any other target."""
    if target.is_installed or target.is_release or ":" in target.runner:
        return None
    runner = _reading(Path(target.vllm_omni), environment.preprocess_from)
    if runner is None or runner.preprocess is None:
        return None
    open_guards = [guard.line for guard in runner.guards if not guard.asks_for_prefill]
    line = min(open_guards) if open_guards and clause in ABOUT_MTP else runner.preprocess.line
    return Place(runner.preprocess.path, line)


@cache
def _reading(folder: Path, cls: str) -> ReadRunner | None:
    """The runner of a folder's ``vllm_omni`` in which ``cls`` preprocesses, as its source says."""
    try:
        found = (runner for runner in read_runners(folder) if runner.preprocess is not None)
        return next((runner for runner in found if runner.preprocess and runner.preprocess.cls == cls), None)
    except (TargetUnavailable, OSError, SyntaxError):
        return None


def _class(runner: str) -> Place | None:
    """A runner of one's own, ``package.module:Class``, whose module lies in the workspace."""
    module, _, name = runner.partition(":")
    path = Path(*module.split(".")).with_suffix(".py")
    try:
        tree = ast.parse((workspace() / path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
    lines = (node.lineno for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    line = next(lines, None)
    return Place(path.as_posix(), line) if line else None
