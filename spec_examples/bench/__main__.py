"""Measure what is waited for, print it, and end with 1 where a bound is exceeded by more than the noise."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

import msgspec
from rich.console import Console

from spec_examples.bench import comparison, growth, written
from spec_examples.bench.bounds import FIGURES, JUNIT
from spec_examples.bench.figure import Measured
from spec_examples.bench.measuring import Floor, machine

NAMES = (*FIGURES, "comparison", *growth.LINES)
LONG = "whole"
"""What is measured only if it is named: ``make ci``, which contains ``make test``."""


def main(arguments: list[str] | None = None) -> int:
    """Measure what is named, and return the status."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=f"one or more of {', '.join(NAMES)}")
    parser.add_argument("--whole", action="store_true", help="measure make test and make ci as well")
    parser.add_argument("--write", metavar="FILE", type=Path, help="write what is kept to a Markdown file")
    parser.add_argument(
        "--kept", metavar="FILE", type=Path, default=Path("build/bench.json"), help="keep measurements there by name"
    )
    parser.add_argument("--tests", metavar="FILE", type=Path, default=JUNIT, help="a JUnit report of make test")
    options = parser.parse_args(arguments)
    progress = Console(stderr=True)
    floor = Floor(lambda line: progress.print(f"… {line}", highlight=False))
    names = options.only or [name for name in NAMES if options.whole or name != LONG]
    kept = msgspec.json.decode(options.kept.read_bytes(), type=dict[str, Measured]) if options.kept.is_file() else {}
    for name in names:
        kept[name] = _measured(name, floor)
        options.kept.parent.mkdir(parents=True, exist_ok=True)
        options.kept.write_bytes(msgspec.json.encode(kept))
    written.show(Console(width=160), {name: kept[name] for name in names})
    if options.write:
        known = {name: kept[name] for name in NAMES if name in kept}
        options.write.write_text(written.markdown(known, machine(), written.slowest(options.tests)), encoding="utf-8")
    return int(any(one.verdict == "exceeded" for name in names for one in kept[name].figures))


def _measured(name: str, floor: Floor) -> Measured:
    today = date.today().isoformat()
    if name in FIGURES:
        return Measured(today, figures=tuple(FIGURES[name](floor)))
    lines = comparison.tools(floor) if name == "comparison" else [growth.LINES[name](floor)]
    return Measured(today, lines=tuple(lines))


if __name__ == "__main__":
    sys.exit(main())
