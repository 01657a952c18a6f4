"""Pages that are measured: as many rows, blocks or edits as are asked for."""

from __future__ import annotations

import random
from pathlib import Path

from spec_examples.execution.tables import ROUTING

PLACES = [
    (prompt, computed, span) for prompt in range(1, 61) for computed in range(65) for span in range(1, 5)
]  # fmt: skip
"""Prompt length, tokens computed before the step, and scheduled span, of every row that a table is drawn from."""


def table(rows: int, seed: int = 0) -> str:
    """A page with a routing table of so many different rows; every cell is right."""
    drawn = random.Random(seed).sample(PLACES, rows)
    lines = ["# Rows", "", f"| {' | '.join(ROUTING)} |", f"|{' --- |' * len(ROUTING)}"]
    lines += [f"| {' | '.join(map(str, row))} | {_routed(*row)} |" for row in drawn]
    return "\n".join(lines) + "\n"


def _routed(prompt: int, computed: int, span: int) -> str:
    """The last two cells of a row."""
    if computed >= prompt:
        return f"Decode | {'Yes' if span == 1 else 'No'}"
    return f"Prefill{' tail' if computed and computed + span >= prompt else ''} | No"


def blocks(count: int) -> str:
    """A page with so many Python blocks that need no runner, and no other tool than Python."""
    return "# Blocks\n\n" + "\n".join(f"```python\nassert {n} + 1 == {n + 1}\n```\n" for n in range(count))


def runs(number: int) -> str:
    """A page like many: two blocks with runs that no other page has, one of requests and one of rows."""
    requests = f"trace = run(Request({2 + number % 30}, {2 + number // 30}), Request(3), limits=Limits(budget=4))"
    rows = f"assert run(Row({1 + number % 60}, {60 + number // 60}, 1)).mtp"
    return (
        f"# Page {number}\n\n```python\nfrom spec_examples import Limits, Request, Row, run\n\n{requests}\n```\n\n"
        f"Words.\n\n```python\n{rows}\n```\n"
    )


def write(folder: Path, name: str, text: str) -> Path:
    """A page of a site without configuration, in a folder of its own."""
    path = folder / "docs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
