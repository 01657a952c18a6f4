"""``<!-- not executed: REASON -->``: the only way to show something without running it."""

from __future__ import annotations

import re
from pathlib import Path

from markdown_it.token import Token

from .errors import PageError

_MARK = re.compile(r"<!--\s*not executed\b", re.IGNORECASE)
_ALONE = re.compile(r"\s*<!--\s*not executed:(.*?)-->\s*", re.DOTALL | re.IGNORECASE)
_EXEMPTIBLE = {"fence", "code_block", "table_open", "admonition_open"}
_RIGHT = "write <!-- not executed: REASON --> on a line of its own, directly before a block, a table or an admonition"


def exemptions(path: Path, tokens: list[Token]) -> dict[int, str]:
    """The reason for each exempted token, by its place in ``tokens``.

    Raises PageError for a mark without a reason, one that does not stand alone, and one with nothing to exempt.
    """
    found: dict[int, str] = {}
    for at, token in enumerate(tokens):
        if token.type not in ("html_block", "inline") or not _MARK.search(_html(token)):
            continue
        line = (token.map or [0])[0] + 1
        alone = _ALONE.fullmatch(token.content) if token.type == "html_block" else None
        if alone is None or "-->" in alone[1]:
            raise PageError(path, line, f"this exemption is incomplete, or does not stand alone: {_RIGHT}")
        reason = " ".join(alone[1].split())
        if not reason:
            raise PageError(path, line, f"an exemption without a reason: {_RIGHT}")
        if tokens[at + 1 : at + 2] == [] or tokens[at + 1].type not in _EXEMPTIBLE:
            raise PageError(path, line, f"this exemption precedes nothing that is run: {_RIGHT}")
        found[at + 1] = reason
    return found


def _html(token: Token) -> str:
    if token.type == "html_block":
        return token.content
    return "\n".join(child.content for child in token.children or [] if child.type == "html_inline")
