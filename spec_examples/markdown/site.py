"""The site that a page belongs to: its folder, and the Markdown extensions that it renders with."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import config_file
from .errors import PageError

if TYPE_CHECKING:
    from markdown import Markdown

CONFIG = "mkdocs.yml"

MARKDOWN_S_OWN = ("admonition", "attr_list", "def_list", "fenced_code", "footnotes", "md_in_html", "tables", "toc")
"""Extensions of Python-Markdown by their short names."""

BUILTIN = ("toc", "tables", "fenced_code")
"""What MkDocs 1.6 loads before the extensions that ``mkdocs.yml`` names."""

WITHOUT_CONFIG: dict[str, dict[str, Any]] = {
    "admonition": {},
    "attr_list": {},
    "md_in_html": {},
    "pymdownx.details": {},
    "pymdownx.superfences": {},
    "pymdownx.highlight": {},
    "pymdownx.inlinehilite": {},
    "pymdownx.snippets": {},
    "pymdownx.tabbed": {"alternate_style": True},
}
"""The extensions of a page that has no ``mkdocs.yml`` above it."""

_PLAIN_CODE = {"linenums": None, "line_spans": "", "anchor_linenums": False, "line_anchors": "", "auto_title": False}
"""Options of pymdownx.highlight that dress code up without changing it, undone to read the code back."""


def config_of(path: Path) -> Path | None:
    """The nearest ``mkdocs.yml`` above ``path``."""
    return next((folder / CONFIG for folder in _absolute(path).parents if (folder / CONFIG).is_file()), None)


def _absolute(path: Path) -> Path:
    """Return ``path`` from the root and without ``..``, so that a page has one name from any working directory."""
    return Path(os.path.abspath(path))


def name(path: Path) -> str:
    """``path`` as ids show it: below the folder of ``mkdocs.yml``, else below the working directory, else as given."""
    config = config_of(path)
    for folder in (config.parent if config else None, Path.cwd()):
        if folder and _absolute(path).is_relative_to(folder):
            return _absolute(path).relative_to(folder).as_posix()
    return path.as_posix()


def builder(path: Path) -> Markdown:
    """Python-Markdown as the site of ``path`` uses it, without snippets; built once for each state of ``mkdocs.yml``.

    Raises PageError, in the name of ``mkdocs.yml``, where that is no configuration.
    """
    config = config_of(path)
    return _builder(config, config.stat().st_mtime_ns if config else 0)


def diagrams(markdown: Markdown) -> frozenset[str]:
    """The classes of the elements that ``markdown`` writes for custom fences, such as Mermaid's."""
    fences = (getattr(extension, "superfences", []) for extension in markdown.registeredExtensions)
    formatters = (entry["formatter"] for entries in fences for entry in entries)
    classes = (getattr(formatter, "keywords", {}).get("class_name") for formatter in formatters)
    return frozenset(name for name in classes if name)


def renders_with(packages: tuple[str, ...], path: Path) -> bool:
    """Whether every extension of the page's site comes from one of ``packages``."""
    config = config_of(path)
    try:
        names = _extensions(config, config.stat().st_mtime_ns) if config else tuple(WITHOUT_CONFIG)
    except (PageError, OSError):
        return False
    known = {"Markdown": (*MARKDOWN_S_OWN, "markdown."), "pymdown-extensions": ("pymdownx.",)}
    starts = tuple(start for package, starts in known.items() if package in packages for start in starts)
    return all(name in starts or name.startswith(tuple(s for s in starts if s.endswith("."))) for name in names)


@lru_cache(maxsize=8)
def _extensions(config: Path, _changed: int) -> tuple[str, ...]:
    return tuple(config_file.extensions(config))


@lru_cache(maxsize=8)
def _builder(config: Path | None, _changed: int) -> Markdown:
    import markdown

    extensions: dict[str, dict[str, Any]] = {name: {} for name in BUILTIN}
    extensions |= config_file.extensions(config) if config else WITHOUT_CONFIG
    extensions.pop("pymdownx.snippets", None)
    highlight = extensions.get("pymdownx.highlight", {})
    extensions["pymdownx.highlight"] = {**highlight, **_PLAIN_CODE, "pygments_lang_class": True}
    try:
        return markdown.Markdown(extensions=list(extensions), extension_configs=extensions)
    except Exception as error:  # extensions are other people's code, and raise what they like
        message = f"markdown_extensions cannot be loaded ({error}): name installed extensions with their own options"
        raise PageError(config or Path(CONFIG), 1, message) from None
