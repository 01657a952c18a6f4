"""Put one model to one runner: a trace for each scenario and view, each run once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from spec_examples.model_check.seen import Seen, seen
from spec_examples.model_check.subject import Subject, View
from spec_examples.scenario import MAX_LEN, Limits, Request, Scenario
from spec_examples.targets import Session, Target
from spec_examples.trace import Embedding, Trace

WHOLE = Limits(budget=MAX_LEN, sequences=4)
"""Limits that cut no prompt and preempt nobody."""

MOST_TOKENS = 15
"""Tokens that a request generates in any run, at most."""

SCALAR = View(batched=False)
"""The scalar hook alone: what the batched hook does is MODEL-4's question."""


BEFORE_ROWS = ("preprocess_batch", "preprocess_batch_mrv2")
"""Hooks that are called before any row of their step."""


class CannotJudge(Exception):
    """The model stops at a request that is alone and whole; the message is what it raised."""


@dataclass(frozen=True)
class Alone:
    """What the model makes of one request that is alone, uncut and undisturbed.

    ``prompt`` has the embedding of each prompt token, ``decode`` each decode step, both by position.
    """

    prompt: dict[int, Embedding]
    decode: dict[int, Seen]
    mtp: bool


@dataclass
class Asking:
    """One model on one target. ``made`` is told of each trace that was run.

    ``tells_prompts`` tells the model how long prompts are before their first row; see ``Subject.talker``.
    """

    session: Session
    target: Target
    subject: Subject
    made: Callable[[Scenario, Trace], None] = lambda scenario, trace: None
    tells_prompts: bool = False
    runs: int = 0
    _traces: dict[tuple[str, View], Trace] = field(default_factory=dict)

    def trace(self, scenario: Scenario, view: View = SCALAR) -> Trace:
        """The model's trace; its ``error`` says where a hook raised. The scenario's own talker is not asked.

        Raises ``TargetUnavailable`` where the model cannot be built, ``TargetFailed`` where it takes the process along.
        """
        key = (replace(scenario, talker="scalar").digest, view)
        if key not in self._traces:
            prompts = _prompts(scenario) if self.tells_prompts else None
            asked = replace(scenario, talker=self.subject.talker(view, prompts))
            self._traces[key] = self.session.run(asked, self.target)
            self.made(asked, self._traces[key])
            self.runs += 1
        return self._traces[key]

    def alone(self, request: Request, view: View = SCALAR) -> Alone:
        """The reference for requests of that name and prompt length.

        Raises ``CannotJudge`` where the model stops at it.
        """
        one = Request(request.prompt_len, MOST_TOKENS, id=request.id)
        trace = self.trace(Scenario(requests=(one,), limits=WHOLE), view)
        if trace.error:
            raise CannotJudge(trace.error)
        rows = tuple(seen(trace))
        prompt = {
            position: row.returned.embeds[index]
            for row in rows
            for index, position in row.prompt_part
            if index < len(row.returned.embeds)
        }
        return Alone(prompt, {row.row.computed: row for row in rows if row.is_decode_step}, trace.mtp)

    def first(self, scenario: Scenario, view: View = SCALAR) -> Trace:
        """The first trace of all. It shows whether the model has a hook that is called before any row is known."""
        trace = self.trace(scenario, view)
        if any(call.hook in BEFORE_ROWS for step in trace.steps for call in step.hooks):
            self.tells_prompts = True
            self._traces.clear()
            return self.trace(scenario, view)
        return trace


def _prompts(scenario: Scenario) -> dict[str, list[int]]:
    """The lengths of the prompts under each name, in the order in which they come."""
    prompts: dict[str, list[int]] = {}
    for request in sorted(scenario.requests, key=lambda request: request.arrives):
        prompts.setdefault(request.id, []).append(request.prompt_len)
    for step in scenario.steps:
        for row in step:
            prompts.setdefault(row.request, [row.prompt_len])
    return prompts
