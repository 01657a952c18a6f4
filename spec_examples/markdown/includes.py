"""Generated files that a page takes in with pymdownx.snippets: allowed as paragraphs of their own, nowhere else."""

from __future__ import annotations

import re

from markdown_it.token import Token

from .errors import PageError
from .source import Source

CHANGELOG = "CHANGELOG.md"

GENERATED = "build/generated/"
"""Where the build writes what pages show of recorded results."""

_LINE = re.compile(r"""[ \t]*-+8<-+[ \t]+(["'])(.+)\1[ \t]*""")
_MARK = re.compile(r"^[ \t>]*;*-+8<-+([ \t]|$)|-+8<-+[ \t]+\[", re.MULTILINE)


def includes(source: Source, tokens: list[Token]) -> dict[str, int]:
    """The 1-based line of each file taken in.

    Raises PageError for a snippet inside a block and for any other form of the mark than a line
    ``--8<-- "generated/matrix.md"`` with blank lines around it.
    """
    found: dict[str, int] = {}
    for token in tokens:
        for mark in _MARK.finditer(token.content):
            line = (token.map or [0])[0] + 1 + token.content[: mark.start()].count("\n")
            if token.type in ("fence", "code_block"):
                line += token.type == "fence"
                right = "write the code out, so that what is read is what is run"
                raise PageError(source.path, line, f"a snippet inside a block: {right}")
            written = _LINE.fullmatch(source.lines[line - 1])
            if not written or (token.type == "inline" and not _alone(source, token, line)):
                right = 'write --8<-- "generated/name.md" as a line with blank lines around it'
                raise PageError(source.path, line, f"a snippet that is not a paragraph of its own: {right}")
            found.setdefault(written[2], line)
    return found


def _alone(source: Source, token: Token, line: int) -> bool:
    return "\n" not in token.content and not "".join(source.lines[line : line + 1]).strip()


def without_includes(source: Source, found: dict[str, int]) -> str:
    """The body with every include line blank, for a rendering that has only what stands on the page itself."""
    lines = [("" if _LINE.fullmatch(line) else line) for line in source.lines] if found else source.lines
    return "\n".join(lines)


def generated(found: dict[str, int]) -> list[str]:
    """Names of the generated files among those taken in: what they show was recorded, and is checked as such."""
    return [name.removeprefix(GENERATED) for name in found if name.startswith(GENERATED)]


def only_changelog(tokens: list[Token], found: dict[str, int]) -> bool:
    """Whether the page is a heading at most, and the changelog."""
    paragraphs = [token for token in tokens if token.level == 0 and token.nesting >= 0 and token.type != "heading_open"]
    return list(found) == [CHANGELOG] and [token.type for token in paragraphs] == ["paragraph_open"]
