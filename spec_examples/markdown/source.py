"""A page's text, as both parsers get it, and the way back to lines, columns and offsets of the text as written."""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path

from . import site
from .errors import PageError

_NEWLINE = re.compile(r"\r\n?|\n")
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029\ufeff\ufffd\ud800-\udfff]")
_FRONT_MATTER = re.compile(r"-{3}[ \t]*\n(.*?\n)(?:\.{3}|-{3})[ \t]*(?:\n|$)", re.DOTALL)

LONGEST = 300_000
"""Characters of a page. A denser one takes long to read, and a reader a day."""


class Source:
    """``text`` as written; ``body`` as parsed: line feeds only, a byte order mark and front matter blank.

    Both have the same lines. Raises PageError where a character would be read differently by the two parsers.
    """

    def __init__(self, path: Path, text: str) -> None:
        if len(text) > LONGEST:
            raise PageError(path, 1, f"a page of {len(text)} characters, of at most {LONGEST}: cut it into several")
        self.path = path
        self.page = site.name(path)
        self.text = text
        self._bom = len(text) - len(text.removeprefix("\ufeff"))
        self._starts = [self._bom] + [match.end() for match in _NEWLINE.finditer(text)]
        self.body = _NEWLINE.sub("\n", text[self._bom :])
        self._body_starts = _line_starts(self.body)
        if bad := _UNREADABLE.search(self.body):
            line, column = self._place(bad.start())
            raise PageError(path, line, f"{_name(bad[0])}: remove it, and save the page as UTF-8", column)
        self.body = _without_front_matter(path, self.body)
        self._body_starts = _line_starts(self.body)
        self.lines = self.body.split("\n")

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self._body_starts, at)
        return line, at - self._body_starts[line - 1] + 1

    def offset(self, at: int) -> int:
        """Where character ``at`` of ``body`` stands in ``text``."""
        line, column = self._place(at)
        return self._starts[line - 1] + column - 1

    def column(self, at: int) -> int:
        """The 1-based column of character ``at`` of ``body``; a byte order mark takes none."""
        return self._place(at)[1]


def read_text(path: Path) -> str:
    """The text of the file at ``path``, line endings untouched; PageError where it cannot be read as UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PageError(path, 1, f"cannot be read: {error.strerror}; name a Markdown file") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len(_NEWLINE.findall(data[: error.start].decode("utf-8"))) + 1
        raise PageError(path, line, f"byte 0x{data[error.start]:02x} is not UTF-8: save the page as UTF-8") from None


def _line_starts(text: str) -> list[int]:
    return [0] + [match.end() for match in _NEWLINE.finditer(text)]


def _name(character: str) -> str:
    if character == "\ufffd":
        return "U+FFFD, which stands for bytes that were not UTF-8"
    return f"the character U+{ord(character):04X}, which parsers read differently"


def _without_front_matter(path: Path, body: str) -> str:
    """``body`` with its YAML front matter, which the site builder takes away, blank."""
    found = _FRONT_MATTER.match(body)
    if not found:
        return body
    import yaml  # only pages with front matter need it

    try:
        data = yaml.safe_load(found[1])
    except yaml.YAMLError:
        data = None
    if not isinstance(data, dict):
        raise PageError(path, 1, "the front matter is no YAML mapping: write 'key: value' lines between two ---")
    return "\n" * found[0].count("\n") + body[found.end() :]
