"""A trace as a table: requests as columns, steps as rows, and in each cell what became of the row."""

from __future__ import annotations

import json
import shutil
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spec_examples.gate.row_report import target_json
from spec_examples.outcome import Outcome, outcomes
from spec_examples.trace import Trace

STYLES = {"prefill": "cyan", "decode": "green", None: "red"}
LEGEND = "computed+span of the prompt, phase, hook (batch: preprocess_decode_batch), what reached forward"


def as_json(trace: Trace) -> str:
    """Steps and rows under the names of the JSON report; ``error`` is one line or null."""
    steps = [
        {
            "rows": [
                {
                    "request": row.request,
                    "prompt_len": row.prompt_len,
                    "computed": row.computed,
                    "span": row.span,
                    "phase": row.phase,
                    "hook": row.hook,
                    "mtp": row.mtp,
                    "embedding": row.embedding,
                }
                for row in outcomes(step)
            ],
            "preempted": list(step.preempted),
        }
        for step in trace.steps
    ]
    report = {"target": target_json(trace.environment), "steps": steps, "error": trace.error}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def print_table(trace: Trace, stream: TextIO) -> None:
    """Coloured on a terminal, plain elsewhere; a pipe gets lines as wide as the table needs."""
    width = shutil.get_terminal_size((160, 24)).columns if stream.isatty() else 200
    console = Console(file=stream, width=width, highlight=False)
    requests = list(dict.fromkeys(row.request for step in trace.steps for row in step.rows))
    table = Table("step", *requests, show_lines=False)
    for number, step in enumerate(trace.steps, start=1):
        seen = {row.request: row for row in outcomes(step)}
        cells = [_cell(seen.get(request), request in step.preempted) for request in requests]
        table.add_row(str(number), *cells)
    console.print(table)
    console.print(Text(LEGEND, style="dim"))
    if trace.error:
        console.print(Text(f"the runner raised: {trace.error}", style="red"))


def _cell(row: Outcome | None, preempted: bool) -> Text:
    mark = "preempted " if preempted else ""
    if row is None:
        return Text(mark.strip() or "·", style="yellow" if preempted else "dim")
    hook = {"preprocess": "row", "preprocess_decode_batch": "batch"}.get(row.hook or "", "no hook")
    reached = {"mtp": "MTP", "preprocess": "no MTP"}.get(row.embedding, row.embedding)
    text = f"{mark}{row.computed}+{row.span}/{row.prompt_len} {row.phase or 'no flag'} {hook} {reached}"
    return Text(text, style=STYLES[row.phase])
