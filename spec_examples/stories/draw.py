"""A trace as a figure: requests are lanes, steps are columns, and a cell says what became of the row.

SVG as text, with title and description in words, in the colours of the page that it stands on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from pathlib import Path

from spec_examples.outcome import Outcome, outcomes
from spec_examples.stories import STORIES, recorded
from spec_examples.trace import Trace
from spec_examples.whole_files import write_whole

COLUMNS = 10
"""Steps side by side; a longer trace goes on below."""

LABEL, CELL, GAP, HEAD = 64, 64, 4, 22
"""Widths of a lane's name and of a cell, the space between cells, and the height of the line with step numbers."""

HEIGHT = 58
"""Height of a cell."""

FOOT = 44
"""Height of the legend."""

STYLE = """\
    svg.timeline { color-scheme: light dark; --ink: #24292f; --mark: #00796b; }
    @media (prefers-color-scheme: dark) { svg.timeline { --ink: #e6e9ee; --mark: #4db6ac; } }
    svg.timeline { color: var(--md-typeset-color, var(--ink)); font: 11px system-ui, sans-serif; }
    svg.timeline text { fill: currentColor; text-anchor: middle; }
    svg.timeline .lane { font-size: 13px; font-weight: 600; text-anchor: start; }
    svg.timeline .quiet { fill-opacity: 0.8; }
    svg.timeline .left { text-anchor: start; }
    svg.timeline .span { font: 600 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
    svg.timeline rect { stroke: currentColor; stroke-opacity: 0.45; stroke-width: 1; }
    svg.timeline rect.prefill { fill: rgb(66 133 244 / 20%); }
    svg.timeline rect.decode { fill: rgb(128 128 128 / 12%); }
    svg.timeline rect.unknown { fill: none; }
    svg.timeline rect.again { stroke-dasharray: 4 3; stroke-opacity: 0.9; }
    svg.timeline rect.mtp { stroke: var(--md-accent-fg-color, var(--mark)); stroke-opacity: 1; stroke-width: 2.2; }
    svg.timeline rect.lost { fill: none; stroke-dasharray: 1 3; stroke-opacity: 0.9; }"""


@dataclass(frozen=True)
class Cell:
    """One request in one step.

    ``row`` is what became of its row, if it had one; ``preempted`` that it lost its blocks in the step; ``again`` that
    the row begins at a position that was computed before; ``drafts`` how many tokens of the span are drafts; ``at`` the
    first position where it is not the progress that was passed.
    """

    row: Outcome | None
    preempted: bool = False
    again: bool = False
    drafts: int = 0
    at: int | None = None

    def words(self) -> str:
        """For a reader who sees no figure."""
        if self.row is None:
            return "preempted"
        row = self.row
        said = [f"{row.computed} plus {row.span} of a prompt of {row.prompt_len}", row.phase or "no flag"]
        said += ["replayed"] if self.again else []
        said += [f"{self.drafts} of them drafts"] if self.drafts else []
        said += [f"really at {self.at}"] if self.at is not None else []
        said += ["preempted in this step"] if self.preempted else []
        return ", ".join([*said, "MTP" if row.mtp else "no MTP"])

    def note(self) -> str:
        """The last line of the cell."""
        if self.at is not None:
            return f"really {self.at}"
        if self.drafts:
            return f"{self.drafts} drafts"
        return "MTP" if self.row and self.row.mtp else ""


def cells(trace: Trace) -> list[dict[str, Cell]]:
    """For each step the cell of each request that had a row or was preempted."""
    reached: dict[str, int] = {}
    steps = []
    for step in trace.steps:
        at = {row.request: row for row in step.rows}
        found = {}
        for row in outcomes(step):
            scheduled = at[row.request]
            passed = row.fields.get("_omni_num_computed_tokens", row.computed)
            first = step.positions[scheduled.start] if len(step.positions) > scheduled.start else row.computed
            found[row.request] = Cell(
                row,
                preempted=row.request in step.preempted,
                again=first < reached.get(row.request, 0) and row.computed < reached[row.request],
                drafts=scheduled.drafts,
                at=None if first == passed else first,
            )
            reached[row.request] = max(reached.get(row.request, 0), first + row.span - scheduled.drafts)
        for request in step.preempted:
            found.setdefault(request, Cell(None, preempted=True))
        steps.append(found)
    return steps


def draw(trace: Trace, name: str, title: str) -> str:
    """The figure of a trace. ``name`` makes its ids unique on a page."""
    steps = cells(trace)
    lanes = list(dict.fromkeys(request for step in steps for request in step))
    bands = [range(i, min(i + COLUMNS, len(steps))) for i in range(0, len(steps), COLUMNS)]
    shown = [[lane for lane in lanes if any(lane in steps[number] for number in band)] for band in bands]
    tops = [0, *accumulate(HEAD + len(each) * (HEIGHT + GAP) + 10 for each in shown)]
    width = LABEL + COLUMNS * (CELL + GAP)
    error = 20 if trace.error else 0
    height = tops[-1] + error + FOOT
    lines = [
        f'<svg class="timeline" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc">',
        f'  <title id="{name}-title">{escape(title)}</title>',
        f'  <desc id="{name}-desc">{escape(" ".join(_described(trace, steps)))}</desc>',
        f"  <style>\n{STYLE}\n  </style>",
    ]
    for band, top, each in zip(bands, tops, shown, strict=False):
        lines += _band(steps, each, band, top)
    if trace.error:
        at = tops[-1] + 10
        said = f"step {len(steps)}: the runner raises {trace.error.partition(' (')[0]}"
        lines.append(f'  <text class="left" x="0" y="{at}">{escape(said)}</text>')
    lines += _legend(tops[-1] + error + 12)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _described(trace: Trace, steps: list[dict[str, Cell]]) -> Iterator[str]:
    for number, step in enumerate(steps, start=1):
        rows = "; ".join(f"{request} {cell.words()}" for request, cell in step.items())
        yield f"Step {number}: {rows}."
    if trace.error:
        yield f"The runner raises: {trace.error.partition(' (')[0]}."


def _band(steps: list[dict[str, Cell]], lanes: list[str], band: range, top: int) -> Iterator[str]:
    yield "  <g>"
    yield f'    <text class="quiet left" x="0" y="{top + 14}">step</text>'
    for column, number in enumerate(band):
        yield f'    <text class="quiet" x="{_left(column) + CELL // 2}" y="{top + 14}">{number + 1}</text>'
    for lane, request in enumerate(lanes):
        at = top + HEAD + lane * (HEIGHT + GAP)
        yield f'    <text class="lane" x="0" y="{at + HEIGHT // 2 + 4}">{escape(request)}</text>'
        for column, number in enumerate(band):
            cell = steps[number].get(request)
            if cell is not None:
                yield from _cell(cell, _left(column), at)
    yield "  </g>"


def _left(column: int) -> int:
    return LABEL + column * (CELL + GAP)


def _cell(cell: Cell, x: int, y: int) -> Iterator[str]:
    middle = x + CELL // 2
    row = cell.row
    kind = "lost" if row is None else row.phase or "unknown"
    classes = " ".join([kind, *(["mtp"] if row and row.mtp else []), *(["again"] if cell.again else [])])
    yield f'    <rect class="{classes}" x="{x}" y="{y}" width="{CELL}" height="{HEIGHT}" rx="4"/>'
    if row is None:
        yield f'    <text x="{middle}" y="{y + HEIGHT // 2 + 4}">preempted</text>'
        return
    yield f'    <text class="span" x="{middle}" y="{y + 18}">{row.computed}+{row.span}</text>'
    yield f'    <text x="{middle}" y="{y + 34}">{row.phase or "no flag"}</text>'
    if note := cell.note():
        yield f'    <text x="{middle}" y="{y + 49}">{note}</text>'


def _legend(y: int) -> Iterator[str]:
    lines = (
        "0+4: four tokens after the first 0. A cell that is framed in colour took MTP.",
        "Framed in dashes: positions that had been computed before.",
    )
    for number, line in enumerate(lines):
        yield f'  <text class="quiet left" x="0" y="{y + 15 * number}">{line}</text>'


def write_all(folder: Path, names: Iterable[str] | None = None) -> None:
    """Write ``NAME.svg`` of each story into ``folder``, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in STORIES:
        if names is None or one.name in names:
            text = draw(recorded(one), f"trace-{one.name}", one.title)
            write_whole(folder / f"{one.name}.svg", text)
