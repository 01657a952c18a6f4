"""What ``mkdocs.yml`` says of the site: its name, its purpose, and the order of its pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

CONFIG = Path("mkdocs.yml")


class _Plain(yaml.SafeLoader):
    """Reads the texts: values of tags are left out."""


_Plain.add_multi_constructor("!", lambda *_: None)


def config() -> dict[str, Any]:
    """The file as plain data."""
    return dict(yaml.load(CONFIG.read_text(encoding="utf-8"), Loader=_Plain))


def section(title: str) -> list[str]:
    """The pages below a title of the navigation, as paths below ``docs/``. Raises ``KeyError`` without such a title."""
    for entry in config()["nav"]:
        if isinstance(entry, dict) and title in entry:
            return list(entry[title])
    raise KeyError(f"{CONFIG}: no {title!r} in nav")
