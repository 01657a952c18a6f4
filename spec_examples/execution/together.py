"""Put the rows of a routing table to a runner in steps that they share: a long table takes few runs.

Through either hook each row has a step alone, and two with another row of its table and with decode and prefill rows
beside them. If a step shows anything but what the table says, the rows concerned are run by themselves
(``spec_examples.execution.tables``), and what is found there is what is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spec_examples.contract.judge import JUDGES
from spec_examples.contract.reading import Reading, read
from spec_examples.contract.rows import takes_mtp
from spec_examples.exercised import Exercised, by_steps
from spec_examples.outcome import Outcome, outcomes
from spec_examples.running import Context
from spec_examples.scenario import MAX_LEN, Limits, Row, Scenario
from spec_examples.targets import Target, TargetFailed
from spec_examples.trace import NUM_COMPUTED, PROMPT_LEN, ScheduledRow, Step

MOST = 20
"""Rows of one run. A run has steps for each of them, and what it shows is gone once it was read."""

HOOKS = ("scalar", "batched")
"""The stub talkers, by the hook that they offer to decode rows."""

ROOM = Limits(budget=2 * MAX_LEN + 5, sequences=5)
"""Room for any two rows with the three beside them."""


class Numbers(NamedTuple):
    """What a row of the table asks: the prompt's length, the tokens computed before the step, the scheduled span."""

    prompt_len: int
    computed: int
    span: int


class Answer(NamedTuple):
    """What a row of the table says, in the table's words."""

    phase: str
    eligible: str


class Place(NamedTuple):
    """A step of a shared run, which counts from 1; 0 stands for all of them."""

    hook: str
    step: int


Steps = list[list[tuple[int | None, Row]]]
"""Steps of rows, each with the number of the table's row that it is; ``None`` for a row between those."""


@dataclass(frozen=True)
class Doubt:
    """Something that a shared run showed and that no row may lead to.

    ``owner`` is the row (by its number) at which it was seen, ``None`` where it was a row between those of the table,
    or none; ``rows`` are all that had a part in the step.
    """

    place: Place
    message: str
    clauses: tuple[str, ...]
    owner: int | None
    rows: frozenset[int]


@dataclass
class Seen:
    """What one row showed: its answers, each with the place at which it was first seen, and all doubts.

    ``missing`` counts the places at which it has shown nothing.
    """

    missing: int
    answers: dict[Answer, Place] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)

    def is_only(self, answer: Answer) -> bool:
        """Whether every step of the row was run, and showed this answer and nothing else."""
        return self.answers.keys() == {answer} and not self.missing and not self.doubts


@dataclass
class Rows:
    """Some rows of a table, which share their steps, and what each of them showed on a target.

    ``right`` says of some whether they break nothing where they are run by themselves.
    """

    numbers: tuple[Numbers, ...]
    seen: dict[Target, tuple[Seen, ...]] = field(default_factory=dict)
    right: dict[tuple[Target, int], bool] = field(default_factory=dict)
    exercised: dict[Target, Exercised] = field(default_factory=dict)

    def ask(self, context: Context, number: int) -> Seen:
        """What the row with this number showed. Raises ``TargetUnavailable``."""
        target = context.target
        if target not in self.seen:
            places = Counter(one for hook in HOOKS for step in self._steps(hook) for one, _ in step)
            seen = tuple(Seen(places[one]) for one in range(len(self.numbers)))
            self.exercised[target] = Exercised()
            for hook in HOOKS:
                self._read(context, hook, seen)
            self.seen[target] = seen
        return self.seen[target][number]

    def scenario(self, hook: str) -> Scenario:
        """The run of these rows through a hook."""
        steps = tuple(tuple(row for _, row in step) for step in self._steps(hook))
        return Scenario(hook, steps=steps, limits=ROOM)

    def _steps(self, hook: str) -> Steps:
        return _steps(self.numbers, HOOKS.index(hook))

    def _read(self, context: Context, hook: str, seen: tuple[Seen, ...]) -> None:
        steps, target = self._steps(hook), context.target
        try:
            reading = read(context.session.run(self.scenario(hook), target))
        except TargetFailed as failed:
            doubts = [Doubt(Place(hook, 0), str(failed), (), None, frozenset(range(len(seen))))]
        else:
            self.exercised[target] += by_steps((step.step, step.origins) for step in reading.steps)
            doubts = [*_doubts(reading, hook, steps)]
            for number, one, said in _answers(reading, steps):
                seen[one].answers.setdefault(said, Place(hook, number))
                seen[one].missing -= 1
        for doubt in doubts:
            for number in doubt.rows if doubt.owner is None else (doubt.owner,):
                seen[number].doubts.append(doubt)


def answer(step: Step, one: Outcome) -> Answer:
    """What the table has to say of a row: the flag that arrived, and whether what came with it is a tail's."""
    return Answer(_phase(step, one), "Yes" if one.mtp else "No")


def _phase(step: Step, one: Outcome) -> str:
    if one.phase is None:
        return "nothing (no flag arrived)"
    if one.phase == "decode":
        return "Decode"
    found = step.hook_of(one.request)
    arrived = len(found[1].input_ids) if found else 0
    progress, prompt = one.fields.get(NUM_COMPUTED, 0), one.fields.get(PROMPT_LEN, 0)
    is_tail = isinstance(progress, int) and isinstance(prompt, int) and progress > 0 and progress + arrived >= prompt
    return "Prefill tail" if is_tail else "Prefill"


def _steps(rows: Sequence[Numbers], turn: int) -> Steps:
    """For each row the step that it has alone; for each two of a kind, two steps that they share. Every request is new.

    ``turn`` is 0 or 1: which row of a pair has the middle of its steps, between a decode and a prefill row, one way and
    the other. Its partner is last in one step and first in the other; so is a decode row. Beside rows that take no MTP
    stands one row that does: where MTP writes for a single row is seen as well. Rows that take it stand in front of a
    decode row each, whose name is before theirs: what goes by names is seen.
    """
    steps: Steps = [[(number, Row(*alone, f"alone{number}"))] for number, alone in enumerate(rows)]
    for takes in (False, True):
        kind = [number for number, row in enumerate(rows) if takes_mtp(ScheduledRow("", *row, 0)) is takes]
        end = "mtp" if takes else ""
        for at in range(0, len(kind), 2):
            pair = kind[at], kind[(at + 1) % len(kind)]
            middle, outer = pair[turn], pair[1 - turn]
            steps.append(
                [
                    (None, Row(3, 4, 1, f"decode{at}{end}")),
                    (middle, Row(*rows[middle], f"middle{at}{end}")),
                    (None, Row(4, 0, 3, f"prefill{at}{end}")),
                    (outer, Row(*rows[outer], f"last{at}{end}")),
                ]
            )
            steps.append(
                [
                    (outer, Row(*rows[outer], f"first{at}{end}")),
                    *([(None, Row(3, 4, 1, f"decodes{at}{end}"))] if takes else []),
                    (None, Row(4, 0, 3, f"prompt{at}{end}")),
                    (middle, Row(*rows[middle], f"second{at}{end}")),
                    (None, Row(3, 4, 1, f"decoded{at}{end}")),
                ]
            )
    return steps


def _doubts(reading: Reading, hook: str, steps: Steps) -> Iterator[Doubt]:
    owners = _owners(steps)
    rows_of = [frozenset(number for number, _ in step if number is not None) for step in steps]
    for clause, judge in JUDGES.items():
        for found in judge.find(reading).violations:
            owner = owners.get(found.request or "")
            yield Doubt(Place(hook, found.step), found.message, (clause,), owner, rows_of[found.step - 1])
    last, error = len(reading.steps), reading.trace.error
    if error or last < len(steps):
        message = error or f"the runner made {last} of {len(steps)} steps"
        yield Doubt(Place(hook, last), message, (), None, rows_of[last - 1])
    for number, one in _outcomes(reading):
        if one.request.startswith("decode") and not one.mtp:
            yield Doubt(Place(hook, number), f"{one.request} took no MTP", (), None, rows_of[number - 1])


def _answers(reading: Reading, steps: Steps) -> Iterator[tuple[int, int, Answer]]:
    """Each row's step, its number, and what the table has to say of it there."""
    owners = _owners(steps)
    for number, one in _outcomes(reading):
        if one.request in owners:
            yield number, owners[one.request], answer(reading.trace.steps[number - 1], one)


def _outcomes(reading: Reading) -> Iterator[tuple[int, Outcome]]:
    """Every row of every step that the runner finished, with the number of the step."""
    for step in reading.steps:
        if step.complete:
            yield from ((step.number, one) for one in outcomes(step.step, step.origins))


def _owners(steps: Steps) -> dict[str, int]:
    return {row.request: number for step in steps for number, row in step if number is not None}
