"""Sources: which files lint reads, and how a file becomes a tree. Nothing that is read is imported or run."""

from __future__ import annotations

import ast
import os
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

SPEAKS_OF_PHASES = re.compile(
    rb"def preprocess(_decode)?(_batch)?(_mrv2)?\(|custom_preprocess\(|\.preprocess\s*=[^=]"
    rb"|_omni_(prompt_len|num_computed_tokens|is_prefill)|def \w*is_(prefill|decode)\w*\(|phase-contract:"
)
"""A file in a folder without any of these has no hook, no field and no exception: it is not parsed."""

WORDS = (b"preprocess", b"_omni_", b"is_prefill", b"is_decode", b"phase-contract:")
"""One of these stands in whatever the expression finds; to look for them takes less."""

RIGHT_TEXT = "save it as UTF-8, or declare its encoding"

SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})
"""Folders inside a folder that is asked for; each may be asked for by itself. So may hidden ones."""


class BadSource(ValueError):
    """A file or folder that cannot be read as Python, in one line."""


@dataclass(frozen=True)
class Source:
    """One file as text and tree. ``path`` is as it was asked for."""

    path: str
    text: str
    tree: ast.Module


def files(paths: Sequence[str]) -> list[tuple[str, bool]]:
    """The files to read, in order and each once, with whether it was asked for by name.

    Raises ``BadSource`` for what does not exist and for a folder without any Python file.
    """
    found: dict[str, bool] = {}
    for path in paths:
        if os.path.isdir(path):
            inside = list(_inside(path))
            if not inside:
                raise BadSource(f"{path}: a folder without Python files; name a file, or a folder with some")
            for file in inside:
                found.setdefault(file, False)
        elif os.path.exists(path):
            found[path] = True
        else:
            raise BadSource(f"{path}: no such file or folder")
    return list(found.items())


def _inside(folder: str) -> Iterator[str]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in SKIPPED and not each.startswith("."))
        for name in sorted(names):
            path = os.path.join(root, name)
            if name.endswith((".py", ".pyi")) and os.path.isfile(path):
                yield path


def read(path: str, *, named: bool = True) -> Source | None:
    """The source in a file; ``None`` where it speaks of no phase and was not asked for by name.

    Raises ``BadSource`` for what is not readable, not text, or not Python, with line and column where there are any.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise BadSource(f"{path}: {error.strerror or error}") from error
    if not named and not (any(word in content for word in WORDS) and SPEAKS_OF_PHASES.search(content)):
        return None
    return parse(path, _text(path, content))


def _text(path: str, content: bytes) -> str:
    """Decoded as Python does it: by the file's own declaration, else as UTF-8."""
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadSource(f"{path}:{line}:1: not {error.encoding.upper()} text; {RIGHT_TEXT}") from error
    except (SyntaxError, LookupError) as error:
        if "unknown encoding" in str(error):
            raise BadSource(f"{path}:1:1: {error}; {RIGHT_TEXT}") from error
        line = _first_line_not_utf8(content)
        raise BadSource(f"{path}:{line}:1: not UTF-8 text; {RIGHT_TEXT}") from error


def _first_line_not_utf8(content: bytes) -> int:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return content.count(b"\n", 0, error.start) + 1
    return 1


def parse(path: str, text: str) -> Source:
    """The tree of ``text``. Raises ``BadSource`` where it is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a page or a model may have an odd escape; it is not ours to tell
            return Source(path, text, ast.parse(text))
    except SyntaxError as error:
        raise BadSource(f"{path}:{error.lineno or 1}:{error.offset or 1}: not Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadSource(f"{path}:1:1: not Python: {str(error) or 'nested too deeply'}") from error
