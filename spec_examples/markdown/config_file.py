"""The Markdown extensions that a ``mkdocs.yml`` names, read without MkDocs, which a gate need not have installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .errors import PageError


def extensions(config: Path) -> dict[str, dict[str, Any]]:
    """The options of each extension, in order, Python names resolved as MkDocs resolves them.

    An option whose value is not to be had here (a name of a package that is not installed, an environment variable)
    is left at the extension's default. Raises PageError, in the name of ``config``, where it is no configuration.
    """
    try:
        data = _load(config)
        if "INHERIT" in data:
            raise ValueError("INHERIT is not followed")
        listed = data.get("markdown_extensions") or []
        entries = listed.items() if isinstance(listed, dict) else [_entry(item) for item in listed]
        return {str(name): dict(options or {}) for name, options in entries}
    except Exception as error:  # tags in the file import and call what they name
        message = f"cannot be read ({error}): list markdown_extensions in this file as MkDocs does"
        raise PageError(config, 1, message) from None


def _entry(item: Any) -> tuple[str, Any]:
    if isinstance(item, str):
        return item, {}
    ((name, options),) = item.items()
    return name, options


def _absent(*_arguments: Any, **_options: Any) -> Any:
    """Stands for a value that is not to be had here; callable, as what a tag names may be called."""
    return _absent


def _load(config: Path) -> dict[str, Any]:
    import yaml  # takes a while, and pages below no configuration do not need it

    class Loader(yaml.UnsafeLoader):
        """Resolves names as MkDocs does: a site's configuration is code that its builder runs."""

        def find_python_name(self, name: str, mark: Any) -> Any:
            try:
                return super().find_python_name(name, mark)  # type: ignore[misc]
            except yaml.constructor.ConstructorError:
                return _absent

    # MkDocs' own tags: !ENV and !relative.
    Loader.add_multi_constructor("!", _absent)
    data = yaml.load(config.read_bytes(), Loader=Loader)
    if not isinstance(data, dict):
        raise ValueError("it is no mapping")
    return dict(_without_absent(data))


def _without_absent(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_absent(item) for key, item in value.items() if item is not _absent}
    if isinstance(value, list):
        return [_without_absent(item) for item in value if item is not _absent]
    return value
