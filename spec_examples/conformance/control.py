"""Ask vLLM's own runner the same question: if it cannot be driven through a schedule here, no other runner is judged.

vLLM changes its scheduler and its runner with every minor version. Before a runner of vLLM-Omni is judged on a schedule
with asynchronous steps or drafts, and if a run stops in code that is not the runner's, the same schedule is run on
vLLM's own runner under vLLM's own scheduler, in the same process.
"""

from __future__ import annotations

from dataclasses import replace

from spec_examples.contract import rows
from spec_examples.scenario import Scenario, Source
from spec_examples.targets import Session, Target, TargetError
from spec_examples.targets.pairing import GUESSED
from spec_examples.targets.target import WHOLE_V2
from spec_examples.trace import Trace

NOT_THE_RUNNER = ("vllm", "scheduler", "harness")
"""Whose code raised, where that alone does not say that the runner under test is at fault."""


def asked_first(scenario: Scenario) -> bool:
    """Whether a schedule is one that vLLM's minor versions drive differently."""
    return bool(scenario.limits.async_scheduling or scenario.limits.speculative_tokens)


def undriven(session: Session, target: Target, scenario: Scenario) -> str:
    """Why vLLM's own runner beside ``target`` cannot be driven through ``scenario``; empty if it can."""
    if target.runner == WHOLE_V2:
        return ""  # its steps are those of a scheduler that vLLM's older runner is not made for
    try:
        trace = session.run_plain(replace(scenario, talker=_continuing(scenario.talker)), target)
    except TargetError as error:
        return f"vLLM's own runner cannot be driven through it: {error}"
    return _wrong(trace)


def excused(session: Session, target: Target, scenario: Scenario) -> str:
    """Why a run that stopped outside of the runner's code says nothing of the runner; empty if it does.

    A vLLM that was a guess may be the wrong one, whose scheduler does not go with the tree's.
    """
    if target.chosen_by == GUESSED:
        return f"several vLLMs fit this tree and {target.vllm} is a guess; name one with --vllm VERSION"
    return undriven(session, target, scenario)


def _continuing(talker: str | Source) -> str:
    """The talker without hooks whose text goes on as that of ``talker`` does."""
    repeats = isinstance(talker, str) and "Repeating" in talker
    return f"spec_examples.conformance.plain_talkers:{'Repeating' if repeats else 'Counting'}"


def _wrong(trace: Trace) -> str:
    vllm = f"vLLM {trace.environment.vllm}"
    if trace.error:
        return f"{vllm}'s own runner stops in it too: {trace.error}"
    for number, step in enumerate(trace.steps, start=1):
        for row in step.rows:
            reached = step.input_ids[row.start : row.start + row.span]
            if not rows.could_be(reached, row):
                return f"{vllm}'s own runner gets other tokens than were scheduled: {rows.at(row, number)}"
    return ""
