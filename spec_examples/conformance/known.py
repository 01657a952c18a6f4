"""Divergences that are known: which clause a shipped runner fails, and where that is written down."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.version import InvalidVersion, Version

PAGE = "docs/conformance/divergences.md"


@dataclass(frozen=True)
class Divergence:
    """One known divergence: the runners and the releases (both ends included) that fail ``clauses``."""

    id: str
    title: str
    runners: tuple[str, ...]
    since: str
    until: str
    clauses: tuple[str, ...]

    def covers(self, version: str, runner: str) -> bool:
        """Whether it speaks of this release and runner."""
        try:
            return runner in self.runners and Version(self.since) <= Version(version) <= Version(self.until)
        except InvalidVersion:
            return False


@cache
def divergences() -> tuple[Divergence, ...]:
    """All that are known, in the order of their page."""
    data = tomllib.loads(Path(__file__).with_name("divergences.toml").read_text(encoding="utf-8"))
    return tuple(
        Divergence(e["id"], e["title"], tuple(e["runners"]), e["since"], e["until"], tuple(e["clauses"]))
        for e in data["divergence"]
    )


def known(version: str, runner: str) -> dict[str, Divergence]:
    """The clauses that a release's runner is known to fail, and the divergence that says so."""
    return {clause: d for d in divergences() if d.covers(version, runner) for clause in d.clauses}
