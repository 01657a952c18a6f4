"""Divergences that are known: which clause a shipped runner fails, and where that is written down."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec
from packaging.version import InvalidVersion, Version

from spec_examples.targets.errors import DamagedFile

PAGE = "docs/conformance/divergences.md"


@dataclass(frozen=True)
class Divergence:
    """One known divergence: the runners and the releases (both ends included) that fail ``clauses``.

    ``producers`` are the classes whose own code makes the phase and diverges, whatever runner it is part of: a subclass
    that inherits the code diverges like its base. ``until`` is ``None`` if the newest release diverges too; it is then
    expected of that code in any tree. ``gate`` says whether a check stays green with it; it does not on releases older
    than the contract.
    """

    id: str
    title: str
    gate: bool
    runners: tuple[str, ...]
    since: str
    clauses: tuple[str, ...]
    until: str | None = None
    producers: tuple[str, ...] = ()

    def covers(self, version: str, runner: str, producer: str = "") -> bool:
        """Whether it speaks of this release and runner, or of the code that makes the phase there."""
        if self.until is None and producer in self.producers:
            return True
        if runner not in self.runners:
            return False
        try:
            parsed = Version(version)
        except InvalidVersion:
            return self.until is None
        return Version(self.since) <= parsed and (self.until is None or parsed <= Version(self.until))


@cache
def divergences() -> tuple[Divergence, ...]:
    """All that are known, in the order of their page."""
    return read(Path(__file__).with_name("divergences.toml").read_bytes())


def read(content: bytes) -> tuple[Divergence, ...]:
    """The divergences in a file's text. Raises ``DamagedFile``."""
    try:
        found = tuple(msgspec.convert(entry, Divergence) for entry in tomllib.loads(content.decode())["divergence"])
        for each in found:
            Version(each.since), Version(each.until or each.since)
        return found
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFile("spec_examples/conformance/divergences.toml", error) from error


def known(version: str, runner: str, producer: str = "", *, gate: bool = False) -> dict[str, Divergence]:
    """The clauses that a release's runner is known to fail, and the divergence that says so.

    ``producer`` is the class whose code makes the phase there. ``gate`` asks for those with which a check stays green.
    """
    found = [d for d in divergences() if d.covers(version, runner, producer) and (d.gate or not gate)]
    return {clause: d for d in found for clause in d.clauses}
