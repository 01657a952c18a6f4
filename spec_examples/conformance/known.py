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

    ``until`` is ``None`` where the newest release does so too; then it is expected of a checkout without a version as
    well. ``gate`` says whether a check stays green with it; it does not on releases older than the contract.
    """

    id: str
    title: str
    gate: bool
    runners: tuple[str, ...]
    since: str
    clauses: tuple[str, ...]
    until: str | None = None

    def covers(self, version: str, runner: str) -> bool:
        """Whether it speaks of this release and runner."""
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


def known(version: str, runner: str, *, gate: bool = False) -> dict[str, Divergence]:
    """The clauses that a release's runner is known to fail, and the divergence that says so.

    ``gate`` asks for those with which a check stays green.
    """
    found = [d for d in divergences() if d.covers(version, runner) and (d.gate or not gate)]
    return {clause: d for d in found for clause in d.clauses}
