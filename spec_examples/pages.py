"""Where the pages of the contract lie: in the clone that this package is imported from, else in the package itself."""

from __future__ import annotations

from pathlib import Path

CONFIG = "mkdocs.yml"

NEEDS_CLONE = {
    "docs/guides/contributing.md": "it is about a clone of the repository, and there is none here",
    "docs/traces/qwen3-tts.md": "what it shows was recorded by tests that only the repository has",
}
"""Pages that a check of the package's own copy leaves out, and why. They are executed in every clone."""

_SHIPPED = Path(__file__).with_name("shipped")
"""In a wheel: ``mkdocs.yml``, the changelog, ``docs/`` and pins, laid out as in the repository by ``setup.py``."""


class NoPages(ValueError):
    """There is nothing to check; the message says where pages were looked for."""


def root() -> Path:
    """The folder that contains ``mkdocs.yml`` and ``docs/``; ids of examples are relative to it."""
    clone = Path(__file__).resolve().parents[1]
    return clone if (clone / CONFIG).is_file() and (clone / "docs").is_dir() else _SHIPPED


def folder() -> Path:
    """``docs/``, with every page below it."""
    return root() / "docs"


def is_clone() -> bool:
    """Whether the whole repository is there, and not the pages alone."""
    return root() != _SHIPPED


def site_url() -> str:
    """Where the site stands, ending in a slash; empty where ``mkdocs.yml`` names no address."""
    lines = (root() / CONFIG).read_text(encoding="utf-8").splitlines()
    said = next((line.partition(":")[2] for line in lines if line.startswith("site_url:")), "")
    address = said.strip().strip("\"'")
    return f"{address.rstrip('/')}/" if address else ""
