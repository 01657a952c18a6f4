"""Judges of the STATE clauses: what a model stores for a request through its updates, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from spec_examples.contract.matching import HookMatch
from spec_examples.contract.reading import Reading, RowReading, StepReading
from spec_examples.contract.verdict import Finding
from spec_examples.trace import HookRow

Written = dict[str, tuple[str, int]]
"""What updates wrote, by path: the value in the words of the recorder, and the step of the last one."""


@dataclass
class _Life:
    """One request from its start to its end: what has to come back, and every value that it ever wrote at a path."""

    stored: Written = field(default_factory=dict)
    ever: set[tuple[str, str]] = field(default_factory=set)

    def write(self, row: HookRow, step: int) -> None:
        self.stored.update({path: (value, step) for path, value in row.update.items()})
        self.ever.update(row.update.items())


def comes_back(reading: Reading) -> Finding:
    """STATE-1: the next per-row hook call of a request gets what its updates stored, as it was returned."""
    judged, violations = 0, []
    for step, row, found, lives in _calls(reading):
        life = lives.get(row.row.request, _Life())
        expected = {path: said for path, said in life.stored.items() if not _is_codes(path, reading.trace.codes_at)}
        judged += bool(expected)
        problems = list(_missing(expected, found.row, lives, row.row.request))
        if problems:
            violations.append(row.violation(f"{found.hook} gets the state back, but {'; '.join(problems)}"))
        life.write(found.row, step.number)
        lives[row.row.request] = life
    return Finding(judged, violations)


def nothing_foreign(reading: Reading) -> Finding:
    """STATE-2: what arrives of the state was not stored for another request, nor for an ended one of the same id."""
    judged, violations = 0, []
    foreign: dict[tuple[str, str], str] = {}
    for step, row, found, lives in _calls(reading):
        life = lives.get(row.row.request, _Life())
        judged += len(foreign) > len(life.ever)
        strange = [each for each in found.row.given.items() if each in foreign and each not in life.ever]
        problems = [f"{path} is {value}, which {foreign[path, value]}" for path, value in strange]
        if problems:
            violations.append(row.violation(f"{found.hook} gets its own state, but {'; '.join(problems)}"))
        life.write(found.row, step.number)
        lives[row.row.request] = life
        foreign |= dict.fromkeys(found.row.update.items(), f"{row.row.request} stored in step {step.number}")
    return Finding(judged, violations)


def _calls(reading: Reading) -> Iterator[tuple[StepReading, RowReading, HookMatch, dict[str, _Life]]]:
    """Every per-row hook call in order, with the lives of the requests; the caller writes its update into them.

    A request that ends has no state any more. Nor need one have any that is preempted, or whose prompt grows: the
    shared runner keeps it, Model Runner V2 starts such a request anew.
    """
    lives: dict[str, _Life] = {}
    prompts: dict[str, int] = {}
    for step in reading.steps:
        for request in step.step.finished:
            lives.pop(request, None)
        grown = [r.request for r in step.step.rows if prompts.get(r.request, r.prompt_len) != r.prompt_len]
        for request in (*step.step.preempted, *step.step.resumed, *grown):
            lives.setdefault(request, _Life()).stored.clear()
        prompts.update({row.request: row.prompt_len for row in step.step.rows})
        calls = [(found, row) for row in step.rows for found in row.hooks]
        for found, row in sorted(calls, key=lambda call: call[0].call):
            yield step, row, found, lives
        for call in step.step.hooks:
            if call.hook == "postprocess":
                for posted in call.rows:
                    lives.setdefault(posted.request or "", _Life()).write(posted, step.number)


def _missing(expected: Written, row: HookRow, lives: Mapping[str, _Life], request: str) -> Iterator[str]:
    for path, (value, step) in expected.items():
        arrived = row.given.get(path)
        if arrived == value:
            continue
        owner = next((r for r, life in lives.items() if r != request and (path, arrived) in life.ever), None)
        what = "nothing" if arrived is None else arrived + (f", which {owner} stored," if owner else "")
        yield f"{path} was stored as {value} in step {step}, and {what} arrived"


def _is_codes(path: str, codes_at: str) -> bool:
    """Whether a path is where the runner keeps MTP's codes, over which a model has no say."""
    return bool(codes_at) and (path == codes_at or codes_at.startswith(f"{path}.") or path.startswith(f"{codes_at}."))


def returned_ids(reading: Reading) -> Finding:
    """ROUTE-8: the token ids that a row's hook returned, one a token, reach ``forward`` at the row's offsets."""
    judged, violations = 0, []
    for step in reading.steps:
        reached = step.step.input_ids
        for row in step.rows:
            ids = row.hooks[0].row.returned_ids if row.hooks else ()
            if len(ids) != row.row.span or not step.step.forward:
                continue
            judged += 1
            there = reached[row.row.start : row.row.start + row.row.span]
            if there != ids:
                violations.append(row.violation(f"its hook returned the ids {ids}, but {there} reached forward"))
    return Finding(judged, violations)
