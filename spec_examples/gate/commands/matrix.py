"""``phase-contract matrix``: every clause on every release and runner."""

from __future__ import annotations

import argparse
import json
from typing import TextIO

from rich.console import Console
from rich.table import Table

from spec_examples.conformance import record as recorded
from spec_examples.conformance.known import known
from spec_examples.conformance.matrix import MATRIX_RUNNERS, run_all, unexpected, wanted
from spec_examples.conformance.record import Record
from spec_examples.contract.clauses import CLAUSES
from spec_examples.gate.commands.common import (
    AGREED,
    DISAGREED,
    Commands,
    add_command,
    add_output_options,
    output,
)
from spec_examples.running import Context
from spec_examples.targets import Target

MARKS = {"passed": "✓", "failed": "✗", "not-applicable": "·", "not-runnable": "?"}


def add(commands: Commands, default: Target) -> None:
    """Register the command."""
    parser = add_command(
        commands,
        "matrix",
        "judge every clause on every release and runner",
        "  phase-contract matrix\n"
        "  phase-contract matrix --release 0.22.0 --release 0.30.0 --runner ar\n"
        "  phase-contract matrix --live --shard 1/2 --format json --output matrix.json",
    )
    parser.add_argument(
        "--release", action="append", default=[], metavar="V", help="a published release (default: all)"
    )
    parser.add_argument("--runner", action="append", default=[], choices=MATRIX_RUNNERS, help="default: all")
    parser.add_argument("--shard", type=_shard, default=(1, 1), metavar="I/N", help="every N-th release, from the I-th")
    parser.add_argument("--live", action="store_true", help="run all, not only what is stale")
    parser.add_argument("--record", action="store_true", help="write what was run to the committed results")
    add_output_options(parser)
    parser.set_defaults(run=_matrix)


def _shard(text: str) -> tuple[int, int]:
    try:
        index, count = (int(part) for part in text.split("/"))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N, such as 1/2") from error
    if not 1 <= index <= count:
        raise argparse.ArgumentTypeError(f"{text!r}: I goes from 1 to N")
    return index, count


def _matrix(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    targets = wanted(options.release, options.runner, options.shard)
    progress = Console(stderr=True)
    with output(options.output, out) as stream:
        with progress.status("reading recorded results") as status:
            seen = 0

            def done(record: Record) -> None:
                nonlocal seen
                seen += 1
                status.update(f"{seen} of {len(targets)} targets judged")

            records = run_all(targets, live=options.live, say=lambda line: status.update(line), done=done)
        if options.record:
            for record in records:
                if record.traces or record.how == "read" or not record.path.is_file():
                    recorded.write(record)
        lines = [line for record in records for line in unexpected(record)]
        if options.format == "json":
            stream.write(_as_json(records))
        else:
            _print(records, stream)
            stream.writelines(f"{line}\n" for line in lines)
    return DISAGREED if lines else AGREED


def _as_json(records: list[Record]) -> str:
    results = [
        {
            "vllm_omni": record.vllm_omni,
            "vllm": record.vllm,
            "runner": record.runner,
            "clause": cell.clause,
            "verdict": cell.verdict,
            "how": record.how,
            "known": cell.clause in known(record.vllm_omni, record.runner) and cell.verdict == "failed",
            "evidence": cell.evidence,
            "message": cell.message,
            "route_form": record.route_form,
            "recorded": record.recorded,
        }
        for record in records
        for cell in record.cells.values()
    ]
    return json.dumps({"results": results}, indent=2, ensure_ascii=False) + "\n"


def _print(records: list[Record], stream: TextIO) -> None:
    """Targets as rows, clauses as columns; the clauses that no target is judged on are left out."""
    clauses = [c for c in CLAUSES if any(r.cells[c].verdict in ("passed", "failed") for r in records)]
    table = Table("vLLM-Omni", "runner", "how", *(c.replace("-", "\n") for c in clauses), "ROUTE-1\nform")
    for record in records:
        expected = known(record.vllm_omni, record.runner)
        marks = [
            MARKS[record.cells[c].verdict] + ("k" if record.cells[c].verdict == "failed" and c in expected else "")
            for c in clauses
        ]
        table.add_row(record.vllm_omni, record.runner, record.how, *marks, record.route_form)
    Console(file=stream, width=200, highlight=False).print(table)
    stream.write("✓ passed  ✗ failed  ✗k failed, and known  · not applicable  ? not runnable\n")
