"""Inline content as a reader gets it: text without markup."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_it.token import Token


def rendered(inline: Token) -> str:
    """The text of ``inline`` as it reads on the site, runs of white space made one space."""
    return " ".join("".join(_pieces(inline.children or [])).split())


def plain(inline: Token) -> Iterator[str]:
    """The pieces of ``inline`` outside code spans; HTML tags are pieces of their own."""
    return (child.content for child in inline.children or [] if child.type in ("text", "html_inline"))


def without_code(inline: Token) -> str:
    """``inline`` as written, without its code spans."""
    written = inline.content
    for child in inline.children or []:
        if child.type == "code_inline":
            written = written.replace(child.content, "")
    return written


def _pieces(children: list[Token]) -> Iterator[str]:
    for child in children:
        if child.type in ("text", "code_inline"):
            yield child.content
        elif child.type in ("softbreak", "hardbreak") or child.content.lower().startswith("<br"):
            yield " "
