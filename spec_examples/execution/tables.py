"""Execute a row of a table. A table is known by its headers; each kind has one reader here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby

from packaging.version import InvalidVersion, Version

from spec_examples.contract.judge import judge
from spec_examples.execution import together
from spec_examples.execution.result import Disagreement, Rewrite, Unaskable
from spec_examples.execution.show import show_step
from spec_examples.exercised import Exercised
from spec_examples.markdown import Example
from spec_examples.outcome import outcomes, rows
from spec_examples.probing import SPLIT_PROMPT
from spec_examples.running import current, forced, put
from spec_examples.scenario import InvalidScenario, Row, Scenario
from spec_examples.targets import Target, TargetFailed
from spec_examples.targets.target import installed_version
from spec_examples.trace import PER_ROW_HOOKS, PHASE_KEYS, Trace

ROUTING = ("Prompt length", "Computed before step", "Scheduled span", "Phase", "Runner MTP eligible")
FIELDS = ("Key", "Python type", "Meaning")
RELEASES = (
    "vLLM-Omni",
    "Phase fields",
    "One-token tail reaches forward as",
    "One-token prompt reaches forward as",
    "Batched decode hook",
)

PROSE = {FIELDS: {"Meaning"}}
"""Columns that only a person reads."""


def evaluate(row: Example, shared: Together) -> None:
    """Raises ``Disagreement`` with the cell, or ``Unaskable`` where no reader knows the table or a cell is no value."""
    reader = READERS.get(row.header)
    if reader is None:
        known = "; ".join(" | ".join(header) for header in READERS)
        raise Unaskable(f"no reader knows a table with the headers {' | '.join(row.header)}; known are: {known}")
    reader(row, shared)


def _number(row: Example, column: int, smallest: int) -> int:
    cell = row.cells[column]
    if not re.fullmatch(r"-?\d+", cell):
        raise _bad_cell(row, column, f"{cell!r} is not a whole number")
    if int(cell) < smallest:
        raise _bad_cell(row, column, f"{cell} is below {smallest}, the smallest that the scheduler gives")
    return int(cell)


def word_of(cell: str) -> str:
    """A cell without the reason in brackets that may follow."""
    return re.sub(r"\s*\([^()]*\)$", "", cell)


def _choice(row: Example, column: int, choices: tuple[str, ...]) -> str:
    """A cell that says one of ``choices``; a reason in brackets may follow."""
    cell = word_of(row.cells[column])
    if cell not in choices:
        guess = Rewrite(choices[0], column, guessed=True)
        raise _bad_cell(row, column, f"{row.cells[column]!r} is none of {', '.join(choices)}", guess)
    return cell


def _bad_cell(row: Example, column: int, message: str, guess: Rewrite | None = None) -> Unaskable:
    return Unaskable(f"cell {row.header[column]!r}: {message}", row.line, row.columns[column].column, guess)


def _compare(
    row: Example, column: int, page: str, runner: str, where: str, detail: str, clauses: tuple[str, ...]
) -> None:
    if page != runner:
        message = f"cell {row.header[column]!r}: the page says {page}, the runner says {runner} ({where})"
        raise Disagreement(message, clauses, detail, rewrite=Rewrite(runner, column))


class Together:
    """The rows of a page's routing tables, which share steps with the others of their table."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self._found: dict[int, tuple[together.Rows, int]] = {}
        self._rows: list[together.Rows] = []
        for _, table in groupby((e for e in examples if e.header == ROUTING), key=lambda row: row.table_line):
            asked = [(row.line, numbers) for row in table if (numbers := _askable(row)) and not row.exempt]
            for begin in range(0, len(asked), together.MOST):
                some = asked[begin : begin + together.MOST]
                rows = together.Rows(tuple(numbers for _, numbers in some))
                self._rows.append(rows)
                self._found |= {line: (rows, number) for number, (line, _) in enumerate(some)}

    def exercised(self, target: Target) -> Exercised:
        """What the shared steps made of a target."""
        return sum((rows.exercised[target] for rows in self._rows if target in rows.exercised), Exercised())

    def of(self, row: Example, numbers: together.Numbers) -> tuple[together.Rows, int] | None:
        """The rows with which a row shares its steps, and its number; ``None`` where it asks something else by now."""
        rows, number = self._found.get(row.line, (None, 0))
        return (rows, number) if rows and rows.numbers[number] == numbers else None


def _numbers(row: Example) -> together.Numbers:
    return together.Numbers(*(_number(row, i, smallest) for i, smallest in enumerate((1, 0, 1))))


def _askable(row: Example) -> together.Numbers | None:
    """What a row asks; ``None`` where no scheduler asks that."""
    try:
        numbers = _numbers(row)
        forced([[Row(*numbers)]])
    except (Unaskable, InvalidScenario):
        return None
    return numbers


def _routing(row: Example, shared: Together) -> None:
    """Run the row alone through either hook, and beside decode and prefill rows, at half of the places through each.

    It is run by itself where the steps that it shares with other rows of its table show anything but what it says.
    """
    numbers = _numbers(row)
    says = together.Answer(_choice(row, 3, ("Prefill", "Prefill tail", "Decode")), _choice(row, 4, ("Yes", "No")))
    found = shared.of(row, numbers)
    seen = found[0].ask(current(), found[1]) if found else None
    if seen and seen.is_only(says):
        return
    _by_itself(row, numbers, says)
    if found:
        _beside_others(*found, says)


def _by_itself(row: Example, numbers: together.Numbers, says: together.Answer) -> None:
    for hook in together.HOOKS:
        trace = put(forced(placements(*numbers), hook))
        broken = {v.clause: v for v in judge(trace) if v.outcome == "failed"}
        if len(trace.steps) < len(PLACES):
            raise Disagreement(f"the runner made {len(trace.steps)} of {len(PLACES)} steps", tuple(broken))
        for number, (step, place) in enumerate(zip(trace.steps, PLACES, strict=False), start=1):
            where = f"{place}, {hook} hook"
            detail = show_step(trace, number)
            seen = {outcome.request: outcome for outcome in outcomes(step)}
            observed = together.answer(step, seen[f"row{number}"])
            _compare(row, 3, says.phase, observed.phase, where, detail, tuple(broken))
            _compare(row, 4, says.eligible, observed.eligible, where, detail, tuple(broken))
            neighbour = seen.get(f"decode{number}")
            if neighbour is not None and not neighbour.mtp:
                message = f"the decode row beside it took no MTP, so nothing shows that this row was left out ({where})"
                raise Disagreement(message, tuple(broken), detail)
        if broken:
            first = next(iter(broken.values()))
            raise Disagreement(f"{first.message} ({hook} hook)", tuple(broken), show_step(trace, first.step or 1))


def _beside_others(rows: together.Rows, number: int, says: together.Answer) -> None:
    """Raise what a row that is right by itself showed beside other rows, unless one of those is wrong by itself."""
    seen = rows.ask(current(), number)
    for observed, place in seen.answers.items():
        if observed != says:
            message = f"by itself this row is as the page says, but {' and '.join(observed)!r} was seen"
            raise _shown_again(rows, place, message, ())
    for doubt in seen.doubts:
        if doubt.owner == number or all(_is_right(rows, other) for other in doubt.rows if other != number):
            raise _shown_again(rows, doubt.place, doubt.message, doubt.clauses)


def _shown_again(rows: together.Rows, place: together.Place, message: str, clauses: tuple[str, ...]) -> Disagreement:
    """The same run again, to be shown; raises as ``put`` does."""
    trace = put(rows.scenario(place.hook))
    where = f"beside other rows of its table, {place.hook} hook"
    return Disagreement(f"{message} ({where})", clauses, show_step(trace, place.step))


def _is_right(rows: together.Rows, number: int) -> bool:
    """Whether nothing is violated, and nothing stops, where a row is run by itself."""
    context = current()
    key = context.target, number
    if key not in rows.right:
        scenarios = [forced(placements(*rows.numbers[number]), hook) for hook in together.HOOKS]
        try:
            traces = [context.session.run(scenario, context.target) for scenario in scenarios]
        except TargetFailed:
            traces = []
        broken = any(trace.error or any(v.outcome == "failed" for v in judge(trace)) for trace in traces)
        rows.right[key] = bool(traces) and not broken
    return rows.right[key]


PLACES = ("alone", "first of three", "after decode, before prefill", "after prefill, before decode", "last of three")


def placements(prompt_len: int, computed: int, span: int) -> list[list[Row]]:
    """One step for each of ``PLACES``; every step has requests of its own.

    Where MTP writes is only seen with a prefill row before two decode rows, so one place has that.
    """
    steps = []
    for number in range(1, len(PLACES) + 1):
        one = Row(prompt_len, computed, span, f"row{number}")
        decode, prefill = Row(3, 4, 1, f"decode{number}"), Row(4, 0, 3, f"prefill{number}")
        orders = ([one], [one, decode, prefill], [decode, one, prefill], [prefill, one, decode], [decode, prefill, one])
        steps.append(orders[number - 1])
    return steps


def _fields(row: Example, _: Together) -> None:
    """A key's exact type: on prefill, a tail, a one-token prompt and decode, through either hook."""
    key, wanted = row.cells[0], row.cells[1]
    if key not in PHASE_KEYS:
        raise _bad_cell(row, 0, f"{key!r} is none of the contract's keys: {', '.join(PHASE_KEYS)}")
    for talker in ("scalar", "batched"):
        trace = put(_with_talker(talker))
        arrived = 0
        for number, step in enumerate(trace.steps, start=1):
            for call in step.hooks:
                for hook_row in call.rows if call.hook in PER_ROW_HOOKS else ():
                    value = hook_row.fields.get(key)
                    arrived += 1
                    found = value.type if value else "nothing (it did not arrive)"
                    where = f"step {number}, {call.hook}, row {hook_row.request}"
                    _compare(row, 1, wanted, found, where, show_step(trace, number), ())
        if not arrived:
            raise Disagreement(f"no hook was called, so nothing shows {key}")


def _with_talker(talker: str) -> Scenario:
    return replace(SPLIT_PROMPT, talker=talker)


def _releases(row: Example, _: Together) -> None:
    """One release: what arrives, what reaches ``forward`` on two kinds of prefill row, who gets the batched hook."""
    version = row.cells[0]
    try:
        Version(version)
    except InvalidVersion as error:
        raise _bad_cell(row, 0, f"{version!r} is not a version") from error
    fields = _choice(row, 1, ("none", "all three"))
    tail, single = (_choice(row, i, ("MTP embedding", "prompt embedding")) for i in (2, 3))
    batched = _choice(row, 4, ("none", "with talker_mtp", "with or without talker_mtp"))

    trace = _of_release(SPLIT_PROMPT, version)
    detail = show_step(trace, 2)
    seen = {(one.request, one.computed): one for one in rows(trace)}
    if ("split", 4) not in seen or ("single", 0) not in seen or not any(one.mtp for one in seen.values()):
        raise Disagreement("the run has no tail, no one-token prompt, or no row that took MTP", (), detail)
    keys = {len(one.fields) for one in seen.values()}
    observed = {frozenset({0}): "none", frozenset({3}): "all three"}.get(frozenset(keys), f"{sorted(keys)} of three")
    _compare(row, 1, fields, observed, f"vLLM-Omni {version}", detail, ())
    for column, page, key in ((2, tail, ("split", 4)), (3, single, ("single", 0))):
        reached = {"mtp": "MTP embedding", "preprocess": "prompt embedding"}.get(
            seen[key].embedding, seen[key].embedding
        )
        _compare(row, column, page, reached, f"vLLM-Omni {version}", detail, ())
    hooks = {talker: _calls_batched_hook(talker, version) for talker in ("batched", "batched-no-mtp")}
    found = {(False, False): "none", (True, False): "with talker_mtp", (True, True): "with or without talker_mtp"}
    observed = found.get((hooks["batched"], hooks["batched-no-mtp"]), "without talker_mtp only")
    _compare(row, 4, batched, observed, f"vLLM-Omni {version}", detail, ())


def _of_release(scenario: Scenario, version: str) -> Trace:
    """A release that is not installed here answers by its recorded trace, so that no table downloads it.

    ``--live`` runs it.
    """
    from spec_examples.conformance.record import recorded_trace  # the suite takes its rows from this module

    if current().session.live or version == installed_version():
        return put(scenario, on=version)
    found = recorded_trace(version, "ar", scenario)
    if found is None:
        raise Unaskable(
            f"no valid result is recorded for {version}: run phase-contract matrix --release {version} --record"
        )
    return found


def _calls_batched_hook(talker: str, on: str) -> bool:
    trace = _of_release(_with_talker(talker), on)
    return any(call.hook == "preprocess_decode_batch" for step in trace.steps for call in step.hooks)


READERS: dict[tuple[str, ...], Callable[[Example, Together], None]] = {
    ROUTING: _routing,
    FIELDS: _fields,
    RELEASES: _releases,
}
