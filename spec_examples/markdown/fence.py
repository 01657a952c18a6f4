"""What stands behind a fence's backticks: the language and the attributes."""

from __future__ import annotations

import re

_LANGUAGE = re.compile(r"\s*\.?([\w#.+-]+)(?=[\t ]|$)")
_ATTRIBUTES = re.compile(r"\s*\{(.*)\}\s*$")
_WORD = re.compile(r"""([^\s={}"']+)(?:=(?:"([^"]*)"|'([^']*)'|([^\s}]+)))?""")
_PYTHON = {"py", "py3", "python3"}


def language(name: str) -> str:
    """``name`` in the one spelling that examples use: lower case, ``python`` for its short forms."""
    name = name.lower()
    return "python" if name in _PYTHON else name


def info(text: str) -> tuple[str, dict[str, str]]:
    """The language (empty where none is named) and the attributes of a fence.

    Reads ``python title="x"``, ``{.python title="x"}`` and ``python {title="x"}``, which the site renders alike. What
    the site would not take for a fence is found when the rendered page is compared.
    """
    name = ""
    if found := _LANGUAGE.match(text):
        name, text = found[1], text[found.end() :]
    braced = _ATTRIBUTES.match(text)
    attributes: dict[str, str] = {}
    for word in _WORD.finditer(braced[1] if braced else text):
        key, *values = word.groups()
        value = next((value for value in values if value is not None), None)
        if braced and key.startswith("."):
            name = name or key[1:]
        else:
            attributes[key] = value or ""
    return language(name), attributes
