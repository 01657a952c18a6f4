"""Import the vLLM-Omni that a worker was started for, and say in one line why that does not work.

No trace depends on this module: it decides whether a target starts, not what the target does.
"""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path

from spec_examples.setting_up import environments
from spec_examples.targets import absent, older_lines
from spec_examples.targets.errors import TargetBroken, TargetUnavailable

FOLDERS = "PHASE_CONTRACT_FOLDERS"
"""Environment variable: JSON, where ``tree`` and ``vllm`` are folders to import from. A path may contain a colon."""

MODULES = (
    "spec_examples.targets.drive",
    "vllm_omni.worker.gpu_ar_model_runner",
    "vllm_omni.worker.gpu_generation_model_runner",
    "vllm_omni.core.sched.omni_ar_scheduler",
    "vllm_omni.core.sched.omni_generation_scheduler",
)
"""What has to import before any runner of a target can be built."""

ITS_OWN = (NameError, AttributeError, TypeError, ValueError, LookupError, AssertionError)
"""What code raises that is wrong by itself, where it was raised in the tree."""


def prepare(expect: str | None) -> None:
    """Import the target and check that it is the one that was asked for."""
    gc.disable()  # until a control has run: what an import makes stays, and is looked through for nothing
    folders = json.loads(os.environ.get(FOLDERS, "{}"))
    tree, vllm = folders.get("tree"), folders.get("vllm")
    try:
        missing = absent.collect(lambda: _import(tree, vllm, expect))
    except ModuleNotFoundError as error:
        raise _explained(error, expect) from error
    except Exception as error:
        if isinstance(error, TargetUnavailable):
            raise
        raise _explained(error, expect) from error
    if missing:
        raise TargetUnavailable(_not_installed(missing, expect))
    # vLLM looks for plugins in every package for each runner that it builds; what is installed stays as it is.
    importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)  # type: ignore[assignment]


def _import(tree: str | None, vllm_folder: str | None, expect: str | None) -> None:
    """Import vLLM from its folder, then vLLM-Omni from the tree, then what a runner needs."""
    older_lines.answer_for_torch()
    if vllm_folder:
        _put_first(vllm_folder)
        import vllm
    if tree:
        _put_first(tree)
    import vllm
    import vllm_omni

    if expect and not os.path.samefile(vllm_omni.__file__, Path(expect, "vllm_omni", "__init__.py")):
        raise TargetUnavailable(f"vllm_omni was imported from {Path(vllm_omni.__file__).parent.parent}, not {expect}")
    if not expect and not vllm_folder:
        _check_pairing(str(getattr(vllm_omni, "__version__", "")), str(getattr(vllm, "__version__", "")))
    for module in MODULES:
        importlib.import_module(module)
    older_lines.convert_model_config()


def _put_first(folder: str) -> None:
    sys.path[:] = [folder, *(each for each in sys.path if each != folder)]


def _check_pairing(vllm_omni: str, vllm: str) -> None:
    """VLLM pairs by minor version; a checkout that reports none is taken at its word."""
    ours, theirs = vllm_omni.split(".")[:2], vllm.split(".")[:2]
    if len(ours) == len(theirs) == 2 and all(part.isdigit() for part in ours + theirs) and ours != theirs:
        raise TargetUnavailable(
            f"vLLM {vllm} does not pair with vLLM-Omni {vllm_omni}: install vLLM {'.'.join(ours)}.x beside it"
        )


def _explained(error: Exception, expect: str | None) -> TargetUnavailable | TargetBroken:
    """Say whose fault it is that the target does not import: its own, or that of what it is imported with."""
    said = " ".join(str(error).split()) or type(error).__name__
    if expect is None:
        return TargetUnavailable(f"vLLM-Omni does not import: {said}")
    place, is_last = _place(error, Path(expect))
    if isinstance(error, SyntaxError) and (file := _below(error.filename, Path(expect))):
        return TargetBroken(f"{file}:{error.lineno}: syntax error: {error.msg}")
    if isinstance(error, ImportError) and place:
        name = error.name or ""
        if name.partition(".")[0] == "vllm_omni":
            return TargetBroken(f"{place}: {said.partition(' (')[0]}")
        if name.partition(".")[0] == "vllm":
            return TargetUnavailable(
                f"{place}: {said.partition(' (')[0]}, in vLLM {_vllm_version()}: name one that has it with --vllm"
            )
    if place and is_last and isinstance(error, ITS_OWN) and not _is_of_vllm(error):
        return TargetBroken(f"{place}: {type(error).__name__}: {said}")
    where = f"{place}: " if place else ""
    return TargetUnavailable(
        f"{where}vLLM-Omni does not import with vLLM {_vllm_version()}: {type(error).__name__}: {said}"
    )


def _place(error: Exception, tree: Path) -> tuple[str, bool]:
    """Where in the tree an import failed, as ``path:line`` below it; whether nothing else was called from there."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "importlib._bootstrap" not in frame.filename
    ]
    for frame in reversed(frames):
        if file := _below(frame.filename, tree):
            return f"{file}:{frame.lineno}", frame is frames[-1]
    return "", False


def _below(file: str | None, tree: Path) -> str:
    """A file's path below ``vllm_omni`` of the tree, links or not; empty where it is elsewhere."""
    for base in (tree, tree.resolve()):
        if file and Path(file).is_relative_to(base / "vllm_omni"):
            return str(Path(file).relative_to(base))
    package = (tree / "vllm_omni").resolve()
    return str("vllm_omni" / Path(file).relative_to(package)) if file and Path(file).is_relative_to(package) else ""


def _is_of_vllm(error: Exception) -> bool:
    """Whether what lacks an attribute is vLLM's, so that another vLLM may have it."""
    lacking = getattr(error, "obj", None)
    module = getattr(lacking, "__module__", None) or getattr(lacking, "__name__", "")
    return str(module).partition(".")[0] == "vllm" or "vllm." in str(error)


def _vllm_version() -> str:
    return str(getattr(sys.modules.get("vllm"), "__version__", "of this environment"))


def _not_installed(missing: tuple[str, ...], expect: str | None) -> str:
    """List all that is missing: what stopped the import, and what the tree's source imports besides."""
    more = _read(Path(expect)) if expect else ()
    every = list(dict.fromkeys((*missing, *more)))
    packages = [absent.package_of(module) for module in every]
    install = f"{_pip()} install {' '.join(packages)}"
    if environments.brings(packages) and not environments.is_one(sys.prefix):
        install = f"add --setup, or {install}"
    return f"vLLM-Omni does not import: {', '.join(every)} not installed here; {install}"


def _pip() -> str:
    """The command for this environment's pip; that of an environment which ``--setup`` made is nobody's ``pip``."""
    return f"{sys.executable} -m pip" if environments.is_one(sys.prefix) else "pip"


def _read(tree: Path) -> tuple[str, ...]:
    """The top-level modules that a runner of the tree imports in any case and that are not installed."""
    from spec_examples.targets.reached import Tree

    ours = ("vllm", "vllm_omni", *absent.HARMLESS)
    tops = {
        each.module.partition(".")[0]
        for module in Tree(tree).modules.values()
        for each in module.imports
        if each.certain
    }
    return tuple(sorted(top for top in tops if top and top not in ours and not _is_installed(top)))


def _is_installed(module: str) -> bool:
    try:
        return module in sys.modules or importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
