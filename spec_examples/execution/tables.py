"""Execute a row of a table. A table is known by its headers; each kind has one reader here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from packaging.version import InvalidVersion, Version

from spec_examples.contract.judge import judge
from spec_examples.execution.result import Disagreement, Rewrite, Unaskable
from spec_examples.execution.show import show_step
from spec_examples.markdown import Example
from spec_examples.outcome import Outcome, outcomes, rows
from spec_examples.probing import SPLIT_PROMPT
from spec_examples.running import Context, current, forced, put
from spec_examples.scenario import Row, Scenario
from spec_examples.targets.target import installed_version
from spec_examples.trace import NUM_COMPUTED, PER_ROW_HOOKS, PHASE_KEYS, PROMPT_LEN, Trace

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


def evaluate(context: Context, row: Example) -> None:
    """Raises ``Disagreement`` with the cell, or ``Unaskable`` where no reader knows the table or a cell is no value."""
    reader = READERS.get(row.header)
    if reader is None:
        known = "; ".join(" | ".join(header) for header in READERS)
        raise Unaskable(f"no reader knows a table with the headers {' | '.join(row.header)}; known are: {known}")
    reader(row)


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


def _routing(row: Example) -> None:
    """The row alone, and first, in the middle and last between a decode and a prefill row, through either hook."""
    prompt_len, computed, span = (_number(row, i, smallest) for i, smallest in enumerate((1, 0, 1)))
    phase = _choice(row, 3, ("Prefill", "Prefill tail", "Decode"))
    eligible = _choice(row, 4, ("Yes", "No"))
    for hook in ("scalar", "batched"):
        trace = put(forced(placements(prompt_len, computed, span), hook))
        broken = {v.clause: v for v in judge(trace) if v.outcome == "failed"}
        if len(trace.steps) < len(PLACES):
            raise Disagreement(f"the runner made {len(trace.steps)} of {len(PLACES)} steps", tuple(broken))
        for number, (step, place) in enumerate(zip(trace.steps, PLACES, strict=False), start=1):
            where = f"{place}, {hook} hook"
            detail = show_step(trace, number)
            seen = {outcome.request: outcome for outcome in outcomes(step)}
            one = seen[f"row{number}"]
            _compare(row, 3, phase, _observed_phase(trace, number, one), where, detail, tuple(broken))
            _compare(row, 4, eligible, "Yes" if one.mtp else "No", where, detail, tuple(broken))
            neighbour = seen.get(f"decode{number}")
            if neighbour is not None and not neighbour.mtp:
                message = f"the decode row beside it took no MTP, so nothing shows that this row was left out ({where})"
                raise Disagreement(message, tuple(broken), detail)
        if broken:
            first = next(iter(broken.values()))
            raise Disagreement(f"{first.message} ({hook} hook)", tuple(broken), show_step(trace, first.step or 1))


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


def _observed_phase(trace: Trace, number: int, one: Outcome) -> str:
    """The flag that arrived, and whether the fields and ids that arrived with it are a tail's."""
    if one.phase is None:
        return "nothing (no flag arrived)"
    if one.phase == "decode":
        return "Decode"
    found = trace.steps[number - 1].hook_of(one.request)
    arrived = len(found[1].input_ids) if found else 0
    progress, prompt = one.fields.get(NUM_COMPUTED, 0), one.fields.get(PROMPT_LEN, 0)
    is_tail = isinstance(progress, int) and isinstance(prompt, int) and progress > 0 and progress + arrived >= prompt
    return "Prefill tail" if is_tail else "Prefill"


def _fields(row: Example) -> None:
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


def _releases(row: Example) -> None:
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


READERS: dict[tuple[str, ...], Callable[[Example], None]] = {
    ROUTING: _routing,
    FIELDS: _fields,
    RELEASES: _releases,
}
