"""Judge one model on one runner: a verdict for each of its promises, with the smallest run that shows a broken one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spec_examples.gate.words import command_of
from spec_examples.model_check.asking import Asking, CannotJudge
from spec_examples.model_check.judges import JUDGES, Looked, goes_on, replayed_pieces, resumed_decode
from spec_examples.model_check.mixed import first_difference, plain_stories
from spec_examples.model_check.promises import MODEL_PROMISES
from spec_examples.model_check.subject import Subject, View
from spec_examples.scenario import InvalidScenario, Request, Scenario
from spec_examples.targets import Session, Target
from spec_examples.trace import PHASE_KEYS, Environment, Trace

DRAWN = 40
"""Schedules that a search draws."""

Outcome = Literal["passed", "failed", "not-applicable"]


@dataclass(frozen=True)
class ModelVerdict:
    """Whether a model keeps one promise. ``message`` is one line, ``run`` the smallest run that shows a broken one.

    ``judged`` counts the rows that were looked at; a promise is kept only where it is at least 1.
    """

    promise: str
    outcome: Outcome
    message: str
    judged: int = 0
    run: str = ""


@dataclass(frozen=True)
class ModelReport:
    """All verdicts on one model. ``runs`` counts the runs that they rest on, ``environment`` says what ran."""

    model: str
    environment: Environment
    verdicts: tuple[ModelVerdict, ...]
    runs: int

    @property
    def broken(self) -> tuple[str, ...]:
        """The promises that the model does not keep."""
        return tuple(verdict.promise for verdict in self.verdicts if verdict.outcome == "failed")


def check(
    session: Session,
    target: Target,
    subject: Subject,
    made: Callable[[Scenario, Trace], None] = lambda scenario, trace: None,
    say: Callable[[str], None] = lambda line: None,
    promises: Sequence[str] = tuple(MODEL_PROMISES),
    search: int = DRAWN,
) -> ModelReport:
    """The ``promises`` of ``subject`` on ``target``; ``made`` is told of each trace, ``say`` of what is being judged.

    ``search`` is how many schedules are drawn for a model that keeps all promises in the fixed runs. Runs in which
    several things happen at once are made only where all promises are asked for.

    Raises ``TargetUnavailable`` where the model or the runner cannot be built.
    """
    ask = Asking(session, target, subject, made)
    first = Scenario(requests=(Request(3, id="a"),))
    fields = _passes_fields(session, target)
    trace = ask.first(first, View(batched=False))
    if not fields:
        verdicts = _without_fields(trace)
    elif trace.error:
        verdicts = _stops(trace.error)
    else:
        verdicts = _judged(ask, say, promises, search)
    return ModelReport(
        subject.name, trace.environment, tuple(verdicts[p] for p in MODEL_PROMISES if p in promises), ask.runs
    )


def _passes_fields(session: Session, target: Target) -> bool:
    trace = session.run(Scenario(requests=(Request(2),)), target)
    return any(set(PHASE_KEYS) <= row.fields.keys() for step in trace.steps for call in step.hooks for row in call.rows)


def _without_fields(trace: Trace) -> dict[str, ModelVerdict]:
    """A runner that passes no fields: all that can be asked is whether the model stops at that."""
    why = "this runner passes no phase fields"
    verdicts = {promise: ModelVerdict(promise, "not-applicable", why) for promise in MODEL_PROMISES}
    wrong = goes_on(trace)
    last = ModelVerdict("MODEL-9", "failed" if wrong else "passed", wrong or f"it stops: {trace.error}", 1)
    return {**verdicts, "MODEL-9": last}


def _stops(error: str) -> dict[str, ModelVerdict]:
    """Nothing can be compared with a request that does not come to its end alone."""
    why = "not judged: the model stops at one request, alone and uncut"
    verdicts = {promise: ModelVerdict(promise, "not-applicable", why) for promise in MODEL_PROMISES}
    stopped = ModelVerdict("MODEL-9", "failed", f"the model stops at one request, alone and uncut: {error}", 1)
    return {**verdicts, "MODEL-9": stopped}


def _judged(ask: Asking, say: Callable[[str], None], promises: Sequence[str], search: int) -> dict[str, ModelVerdict]:
    verdicts = {}
    for promise, judge in JUDGES.items():
        if promise in promises:
            say(f"{promise}: {MODEL_PROMISES[promise]}")
            verdicts[promise] = _verdict(promise, judge(ask))
    if len(verdicts) < len(JUDGES) or any(verdict.outcome == "failed" for verdict in verdicts.values()):
        return verdicts
    say("a replay in pieces, the stories, and a search")
    for promise, looked in _in_mixed_runs(ask, search):
        if looked.wrong:
            verdicts[promise] = _failed(promise, looked, verdicts[promise].judged)
            return verdicts
        verdicts[promise] = replace(verdicts[promise], judged=verdicts[promise].judged + 1)
    return {p: replace(v, message=_counted(v.judged)) if v.judged else v for p, v in verdicts.items()}


def _in_mixed_runs(ask: Asking, search: int) -> Iterator[tuple[str, Looked]]:
    try:
        for looked in resumed_decode(ask):
            yield "MODEL-6", looked
        for looked in replayed_pieces(ask):
            yield "MODEL-5", looked
        for scenario in plain_stories():
            if found := first_difference(ask, scenario):
                yield found
        if search:
            yield from _searched(ask, search)
    except CannotJudge as stopped:
        yield "MODEL-9", Looked(Scenario(requests=(Request(3),)), f"a request alone and uncut stops: {stopped}")


def _searched(ask: Asking, search: int) -> Iterator[tuple[str, Looked]]:
    try:
        from spec_examples.model_check.drawn import searched
    except ImportError as error:
        raise InvalidScenario("a search needs Hypothesis: pip install hypothesis, or ask with --search 0") from error
    return searched(ask, search)


def _verdict(promise: str, looked: Iterator[Looked]) -> ModelVerdict:
    judged = 0
    try:
        for one in looked:
            if one.wrong:
                return _failed(promise, one, judged + 1)
            judged += 1
    except CannotJudge as stopped:
        why = f"cannot be judged: the model stops at one request, alone and uncut: {stopped}"
        return ModelVerdict(promise, "failed", why, judged + 1)
    if not judged:
        return ModelVerdict(promise, "not-applicable", "no row of any run is one that it speaks of")
    return ModelVerdict(promise, "passed", _counted(judged), judged)


def _failed(promise: str, looked: Looked, judged: int) -> ModelVerdict:
    return ModelVerdict(promise, "failed", looked.wrong, judged, run_of(looked.scenario))


def _counted(judged: int) -> str:
    return f"{judged} row{'s' * (judged > 1)} judged"


def run_of(scenario: Scenario) -> str:
    """A run in words: forced rows, or the options of ``phase-contract trace``."""
    if scenario.steps:
        steps = [
            "; ".join(f"({row.prompt_len}, {row.computed}, {row.span})" for row in step) for step in scenario.steps
        ]
        return f"rows {', then '.join(steps)}"
    return command_of(replace(scenario, talker="scalar")).removeprefix("phase-contract trace ")
