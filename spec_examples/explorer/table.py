"""The recorded answers: a compact JSON file, which the page on the site reads as it is.

``targets`` has an entry a release and runner, the newest first; ``answers`` the different answers that occur anywhere;
``cells`` the rows of answers, a number a question in the order of the grid. Targets that answer alike share one row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from spec_examples.explorer import grid

FILE = Path(__file__).with_name("recorded.json")


@dataclass(frozen=True)
class Answer:
    """What became of one row.

    ``phase`` is the flag that arrived, ``hook`` the hook that the row reached, ``mtp`` whether MTP's embedding reached
    ``forward``, ``embedding`` what did; ``fields`` says whether all three phase fields arrived with the values of the
    row (``true``), arrived otherwise (``wrong``), or did not (``none``). ``error`` is what the runner raised instead.
    """

    phase: str | None = None
    hook: str | None = None
    mtp: bool = False
    embedding: str = ""
    fields: str = "none"
    error: str = ""


@dataclass(frozen=True)
class Answers:
    """All answers of one target, in the order of the grid, and what they were made with."""

    vllm_omni: str
    runner: str
    recorded: str
    packages: str
    answers: tuple[Answer, ...]


def write(found: Iterable[Answers], file: Path = FILE) -> None:
    """Write the file anew, targets in the given order."""
    targets = []
    cells: dict[tuple[int, ...], int] = {}
    different: dict[Answer, int] = {}
    for each in found:
        row = tuple(different.setdefault(answer, len(different)) for answer in each.answers)
        targets.append(
            {
                "vllm_omni": each.vllm_omni,
                "runner": each.runner,
                "recorded": each.recorded,
                "packages": each.packages,
                "cells": cells.setdefault(row, len(cells)),
            }
        )
    table = {
        "grid": grid.digest(),
        "axes": {
            "hook": grid.HOOKS,
            "mtp": grid.MTP,
            "company": grid.COMPANY,
            "prompt_len": grid.PROMPT_LENS,
            "computed": grid.COMPUTED,
            "span": grid.SPANS,
        },
        "targets": targets,
        "answers": [asdict(answer) for answer in different],
        "cells": list(cells),
    }
    lines = ",\n".join(f"{json.dumps(key)}:{_compact(value)}" for key, value in table.items())
    file.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


@cache
def read(file: Path = FILE) -> tuple[Answers, ...]:
    """Every target's answers. Raises ``ValueError`` where the file is missing, damaged or made of another grid."""
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        if table["grid"] != grid.digest():
            raise ValueError("it answers other questions")
        answers = [Answer(**answer) for answer in table["answers"]]
        rows = [tuple(answers[number] for number in row) for row in table["cells"]]
        return tuple(Answers(answers=rows[target.pop("cells")], **target) for target in table["targets"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        again = "run python -m spec_examples.explorer.recording"
        raise ValueError(f"{file.name}: no table of the explorer ({error}): {again}") from error
