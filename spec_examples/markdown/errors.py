"""The one way in which a page can be wrong."""

from __future__ import annotations

from pathlib import Path


class PageError(ValueError):
    """A page whose examples cannot be found, or would not be what a reader gets.

    ``line`` and ``column`` are 1-based; ``message`` says what is wrong and what would be right. ``str()`` is one line,
    ``path:line[:column]: message``.
    """

    def __init__(self, path: Path, line: int, message: str, column: int | None = None) -> None:
        self.path = path
        self.line = line
        self.column = column
        self.message = " ".join(message.split())
        place = f"{path.as_posix()}:{line}" if column is None else f"{path.as_posix()}:{line}:{column}"
        super().__init__(f"{place}: {self.message}")
