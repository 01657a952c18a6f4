"""Tables of what was measured, on a terminal and in Markdown."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from spec_examples.bench.figure import Figure, Line, Measured

SLOWEST = 20

Rows = list[tuple[str, ...]]


def show(console: Console, found: Mapping[str, Measured]) -> None:
    """Print the tables of what was measured."""
    for title, header, rows in tables(found):
        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        console.print(table)


def markdown(found: Mapping[str, Measured], machine: str, tests: Sequence[tuple[str, float]]) -> str:
    """The whole of ``BENCHMARKS.md``."""
    lines = [
        "# Speed",
        "",
        f"Written by `make bench`, nothing by hand. {machine}.",
        "",
        "Ratios are to the import of the runner in a bare interpreter, measured before and after each run that is",
        "compared with it. A value is the median of its repetitions. Its noise is the larger of two: how far its",
        "farthest repetition is from it, and the share that the spread of the import has. A bound is exceeded where",
        "the value is beyond it by more than the noise.",
    ]
    slow: Rows = [(name, f"{seconds:.1f} s") for name, seconds in tests]
    for title, header, rows in [*tables(found), (f"The slowest {len(slow)} tests", ("test", "took"), slow)]:
        if rows:
            lines += ["", f"## {title}", "", _row(header), _row(["---"] * len(header)), *(_row(row) for row in rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def tables(found: Mapping[str, Measured]) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    """Title, header and rows of each table that there is something for."""
    if figures := [(one, each.date) for each in found.values() for one in each.figures]:
        of = ("what", "measured", "noise", "bound", "verdict", "of", "measured on")
        yield "Bounds", of, [(*_of_figure(one), date) for one, date in figures]
    if compared := found.get("comparison"):
        sizes = (f"{size} blocks" for size in compared.lines[0].sizes)
        title = f"Python blocks that need no runner, in processor time, {compared.date}"
        yield title, ("tool", *sizes, "start-up", "each block"), [_of_line(line) for line in compared.lines]
    if grown := [(line, each.date) for name, each in found.items() for line in each.lines if name != "comparison"]:
        at = ("what", "smallest", "middle", "largest", "start-up", "each", "bend", "measured on")
        title = "Growth (the bend is what one more takes in the last part, as a multiple of the first: 1 is linear)"
        yield title, at, [(*_of_growth(line), date) for line, date in grown]


def _of_figure(one: Figure) -> tuple[str, ...]:
    bound = f"at least {one.least:g}" if one.least is not None else f"at most {one.most:g}" if one.most else ""
    verdict = one.verdict.upper() if one.verdict == "exceeded" else one.verdict
    return one.what, f"{_number(one.value)} {one.unit}", f"± {_number(one.noise)}", bound, verdict, one.beside


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _of_line(line: Line) -> tuple[str, ...]:
    seconds = (f"{_number(each)} s" for each in line.seconds)
    return line.what, *seconds, f"{_number(line.start)} s", f"{_number(1000 * line.each)} ms"


def _of_growth(line: Line) -> tuple[str, ...]:
    at = (f"{size}: {_number(each)} s" for size, each in zip(line.sizes, line.seconds, strict=True))
    return line.what, *at, *_of_line(line)[-2:], _number(line.bends)


def slowest(junit: Path) -> list[tuple[str, float]]:
    """The tests that took longest, with their seconds, from a JUnit report; none where there is no report."""
    if not junit.is_file():
        return []
    cases = ElementTree.parse(junit).iter("testcase")
    seconds = [(f"{case.get('classname', '')}::{case.get('name', '')}", float(case.get("time", 0))) for case in cases]
    return sorted(seconds, key=lambda test: -test[1])[:SLOWEST]
