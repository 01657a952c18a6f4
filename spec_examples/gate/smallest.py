"""The smallest run that shows a broken promise, as a command: found by running smaller ones until none shows it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from spec_examples.contract.judge import judge, stopped
from spec_examples.execution.result import Shown
from spec_examples.gate.words import command_of
from spec_examples.running import forced
from spec_examples.scenario import STUB_TALKERS, InvalidScenario, Row, Scenario
from spec_examples.targets import Session, Target, TargetError
from spec_examples.trace import Trace

MOST_NEIGHBOURS = 6
"""Of the rows beside the one at fault, how many are tried alone with it."""


def smallest_run(shown: Iterable[Shown], session: Session, target: Target) -> str:
    """The command for the smallest run that breaks the clause of ``shown`` on ``target``; empty where none is found."""
    for one in shown:
        try:
            for scenario, command in _candidates(one, target):
                if _breaks(session.run(scenario, target), one.clause):
                    return command
        except (TargetError, InvalidScenario):
            continue  # it takes the process with it, or cannot be put by a command
    return ""


def _candidates(shown: Shown, target: Target) -> Iterator[tuple[Scenario, str]]:
    """The row alone, then beside one other, then the whole step; at last the schedule that it came from."""
    talkers = [shown.scenario.talker] if shown.scenario.talker in STUB_TALKERS else ["scalar", "batched"]
    for rows in _steps(shown):
        for talker in talkers:
            yield forced([rows], talker), _row_command(rows, str(talker), target)
    if shown.scenario.requests and shown.scenario.talker in STUB_TALKERS:
        yield shown.scenario, command_of(shown.scenario, *_options(target))


def _steps(shown: Shown) -> Iterator[tuple[Row, ...]]:
    if not shown.rows:
        return
    fault = next((row for row in shown.rows if row.request == shown.request), shown.rows[0])
    others = [row for row in shown.rows if row is not fault]
    yield (fault,)
    yield from ((fault, other) for other in others[:MOST_NEIGHBOURS])
    yield shown.rows


def _breaks(trace: Trace, clause: str) -> bool:
    raised = clause == "ROUTE-1" and stopped(trace) is not None
    return raised or any(verdict.clause == clause and verdict.outcome == "failed" for verdict in judge(trace))


def _row_command(rows: tuple[Row, ...], talker: str, target: Target) -> str:
    one, *others = rows
    words = ["phase-contract", "row"]
    words += ["--prompt-len", str(one.prompt_len), "--computed", str(one.computed), "--span", str(one.span)]
    for row in others:
        words += ["--beside", f"{row.prompt_len},{row.computed},{row.span}"]
    words += ["--hook", "batched"] if talker.startswith("batched") else []
    words += ["--no-mtp"] if talker.endswith("-no-mtp") else []
    vllm_omni, runner = _options(target)
    words += ["--vllm-omni", vllm_omni] if vllm_omni else []
    words += ["--runner", runner] if runner else []
    return shlex.join(words)


def _options(target: Target) -> tuple[str, str]:
    """``--vllm-omni`` and ``--runner`` as a person would type them here; empty where they are the defaults."""
    place = "" if target.is_installed else target.vllm_omni
    if os.path.isabs(place) and Path(place).is_relative_to(Path.cwd()):
        place = os.path.relpath(place)
    return place, "" if target.runner == Target().runner else target.runner
