"""Where the cells of a table row stand in its line."""

from __future__ import annotations

from itertools import pairwise

_SPACE = " \t\n\v\f\r"


def spans(row: str) -> list[tuple[int, int]]:
    """Start and end of each cell's text in ``row``, split as GFM does: at every pipe without a backslash before it.

    Code spans do not protect a pipe. The outer pipes are optional.
    """
    first = len(row) - len(row.lstrip(_SPACE))
    last = len(row.rstrip(_SPACE))
    cuts = [first - 1]
    cuts += [at for at in range(first, last) if row[at] == "|" and (at == first or row[at - 1] != "\\")]
    cuts.append(last)
    raw = [(left + 1, right) for left, right in pairwise(cuts)]
    if raw and raw[0][0] == raw[0][1]:
        raw.pop(0)
    if raw and raw[-1][0] == raw[-1][1]:
        raw.pop()
    return [_trimmed(row, start, end) for start, end in raw]


def unescaped(cell: str) -> str:
    """``cell`` as GFM hands it to the inline parser."""
    return cell.replace("\\|", "|")


def _trimmed(row: str, start: int, end: int) -> tuple[int, int]:
    text = row[start:end]
    if not text.strip(_SPACE):
        # An empty cell: text would go behind the one space that usually follows the pipe.
        at = min(start + 1, end)
        return at, at
    return start + len(text) - len(text.lstrip(_SPACE)), start + len(text.rstrip(_SPACE))
