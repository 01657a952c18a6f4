"""Judge a runtime by what it does, never by what it calls itself: the probe, and who defines the hooks' caller."""

from __future__ import annotations

from dataclasses import dataclass

from spec_examples.outcome import Outcome, rows
from spec_examples.running import forced, put
from spec_examples.scenario import Limits, Request, Row, Scenario

SPLIT_PROMPT = Scenario(requests=(Request(5, id="split"), Request(1, id="single")), limits=Limits(budget=4))
"""A five-token prompt under a budget of four, so a one-token tail, beside a one-token prompt; then decode."""

FORCED_ROWS = forced([[Row(5, 4, 1, "split"), Row(1, 0, 1, "single"), Row(5, 5, 1, "decode")]])
"""The same three kinds of row in one step, for a runner whose requests end with the prompt."""


@dataclass(frozen=True)
class Probe:
    """``metadata``: the three keys arrive on every row, and say prefill for the tail and the one-token prompt.

    ``guard``: both keep the embedding of their hook, while decode rows of the same run take MTP.
    """

    metadata: bool
    guard: bool

    @property
    def conforms(self) -> bool:
        """Both: a model may rely on the contract here."""
        return self.metadata and self.guard


def probe(on: str | None = None, runner: str | None = None) -> Probe:
    """What the runtime does with a split prompt and a one-token prompt.

    ``on`` and ``runner`` are as in ``phase-contract check --vllm-omni`` and ``--runner``; the default is the target
    in force. The runtime is asked in a process of its own, on the CPU, whatever this one has imported; the first time
    takes as long as its import.

    Raises ``TargetUnavailable`` where it cannot be asked, ``RunnerRaised`` where the runner stops.
    """
    seen = rows(put(SPLIT_PROMPT, on=on, runner=runner))
    if not any(row.computed >= row.prompt_len for row in seen):
        seen += rows(put(FORCED_ROWS, on=on, runner=runner))
    prefill = [row for row in seen if row.computed < row.prompt_len]
    decode = [row for row in seen if row.computed >= row.prompt_len]
    return Probe(
        metadata=bool(prefill) and all(len(row.fields) == 3 for row in seen) and _phases(prefill) == {"prefill"},
        guard=any(row.mtp for row in decode) and all(row.embedding == "preprocess" for row in prefill),
    )


def _phases(seen: list[Outcome]) -> set[str | None]:
    return {row.phase for row in seen}


def producer(runner: str = "ar", on: str | None = None) -> str:
    """The class whose ``_preprocess`` a runner runs: ``OmniGPUModelRunner`` where it inherits the shared one."""
    return put(SPLIT_PROMPT, on=on, runner=runner).environment.preprocess_from
