"""Whose row is it: the hook rows and the MTP rows of one step, matched to its scheduled rows.

A hook row names its request. An MTP row does not, so it is recognised by the values that it was given: a stub talker
makes every row that it returns distinct. Where a model returns equal rows in several places, the match that breaks
nothing is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spec_examples.contract.rows import could_be, takes_mtp, tokens_known
from spec_examples.trace import PER_ROW_HOOKS, Embedding, HookRow, MtpRow, ScheduledRow, Step


@dataclass(frozen=True)
class HookMatch:
    """One row of a per-row hook call. ``call`` is the index of its call in ``Step.hooks``."""

    hook: str
    call: int
    row: HookRow


@dataclass(frozen=True)
class MtpMatch:
    """One row of an MTP call, and the scheduled rows (indices in ``Step.rows``) from which its values came.

    ``owner`` is the row that it was called for: the source of all three values where they agree, else that of the
    first value that has one. A source is ``None`` where no row of the step returned such a value.
    """

    row: MtpRow
    owner: int | None
    embeds: int | None
    hidden: int | None
    text: int | None

    @property
    def sources(self) -> dict[str, int | None]:
        """The source of each value, by the name that messages give it."""
        return {"embedding": self.embeds, "hidden state": self.hidden, "text step": self.text}

    @property
    def mixed(self) -> bool:
        """Whether the three values do not all come from the owner's row in this step."""
        return len(set(self.sources.values())) > 1


@dataclass(frozen=True)
class Match:
    """``hooks`` and ``mtp`` hold, for each scheduled row, what reached it; ``strays`` and ``calls`` belong to the step.

    ``strays`` are hook rows of no scheduled row; ``calls`` all MTP rows, in call order. ``filled`` has, for each
    scheduled row, what a model wrote there itself in ``preprocess_batch``, or ``None``.
    """

    hooks: tuple[tuple[HookMatch, ...], ...]
    strays: tuple[HookMatch, ...]
    calls: tuple[MtpMatch, ...]
    filled: tuple[HookRow | None, ...]

    def mtp(self, index: int) -> tuple[MtpMatch, ...]:
        """The MTP rows that were called for the scheduled row at ``index``."""
        return tuple(call for call in self.calls if call.owner == index)


def match(step: Step) -> Match:
    """Match everything that crossed the boundary in a step to its scheduled rows."""
    filled = _filled(step)
    hooks, strays = _match_hooks(step, filled)
    rows = [row for call in step.mtp for row in call]
    calls = _match_mtp(step, hooks, filled, rows) if rows else ()
    return Match(tuple(map(tuple, hooks)), tuple(strays), calls, filled)


def _filled(step: Step) -> tuple[HookRow | None, ...]:
    """For each scheduled row what the model wrote itself before the per-row hooks, or ``None``."""
    wrote = {row.request: row for call in step.hooks for row in call.rows if row.filled}
    return tuple(wrote.get(row.request) for row in step.rows)


def _match_hooks(step: Step, filled: Sequence[HookRow | None]) -> tuple[list[list[HookMatch]], list[HookMatch]]:
    index = {row.request: i for i, row in reversed(tuple(enumerate(step.rows)))}
    hooks: list[list[HookMatch]] = [[] for _ in step.rows]
    strays: list[HookMatch] = []
    unnamed: list[HookMatch] = []
    for number, call in enumerate(step.hooks):
        if call.hook not in PER_ROW_HOOKS:
            continue
        for row in call.rows:
            found = HookMatch(call.hook, number, row)
            if row.request is None:
                unnamed.append(found)
            elif row.request in index:
                hooks[index[row.request]].append(found)
            else:
                strays.append(found)
    for found in unnamed:
        place = _best_place(found, step.rows, [i for i in range(len(hooks)) if not hooks[i] and filled[i] is None])
        (strays if place is None else hooks[place]).append(found)
    return hooks, strays


def _best_place(found: HookMatch, rows: Sequence[ScheduledRow], free: Sequence[int]) -> int | None:
    """Which of the ``free`` rows a hook row is that names no request: by its input ids, then by the batch's order."""

    def fit(i: int) -> tuple[bool, bool, bool]:
        ids, row = found.row.input_ids, rows[i]
        by_tokens = tokens_known(row) and could_be(ids, row)
        return by_tokens, could_be(ids, row), takes_mtp(row) == (found.hook == "preprocess_decode_batch")

    return max(free, key=fit, default=None)


def _match_mtp(
    step: Step, hooks: list[list[HookMatch]], filled: Sequence[HookRow | None], rows: Sequence[MtpRow]
) -> tuple[MtpMatch, ...]:
    returned = [[each.row for each in found] for found in hooks]
    for rows_of, wrote in zip(returned, filled, strict=True):
        rows_of += [wrote] if wrote else []
    embeds, hidden, text = (_sources(step.rows, returned, part) for part in ("embeds", "hidden", "text"))
    offers = [_offers(found) for found in hooks]
    whole: list[list[int]] = []
    for row in rows:
        candidates = [
            i
            for i in embeds.get(row.embeds, ())
            if not row.padding
            and (not offers[i][0] or i in hidden.get(row.hidden, ()))
            and (not offers[i][1] or i in text.get(row.text, ()))
        ]
        whole.append([i for _, i in sorted((_evidence(step, i, row, hooks[i]), i) for i in candidates)])
    owners = _assign([[i for i in candidates if takes_mtp(step.rows[i])] for candidates in whole])
    matches = []
    for row, candidates, owner in zip(rows, whole, owners, strict=True):
        owner = owner if owner is not None else next(iter(candidates), None)
        if owner is not None:
            matches.append(MtpMatch(row, owner, owner, owner, owner))
            continue
        parts = [
            None if row.padding else next(iter(found), None)
            for found in (embeds.get(row.embeds, ()), hidden.get(row.hidden, ()), text.get(row.text, ()))
        ]
        matches.append(MtpMatch(row, next((i for i in parts if i is not None), None), *parts))
    return tuple(matches)


def _sources(
    rows: Sequence[ScheduledRow], returned: Sequence[Sequence[HookRow]], part: str
) -> dict[Embedding, list[int]]:
    """Which scheduled rows' hooks returned a value, single-token decode rows first."""
    sources: dict[Embedding, list[int]] = {}
    for i in sorted(range(len(rows)), key=lambda i: not takes_mtp(rows[i])):
        for found in returned[i]:
            value = getattr(found, part)
            values: Iterable[Embedding] = value if part == "embeds" else () if value is None else (value,)
            for embedding in values:
                if i not in sources.setdefault(embedding, []):
                    sources[embedding].append(i)
    return sources


def _offers(found: list[HookMatch]) -> tuple[bool, bool]:
    """Whether a row's hooks offered a hidden state, and a text step: what was not offered is not compared."""
    return any(f.row.hidden is not None for f in found), any(f.row.text is not None for f in found)


def _evidence(step: Step, i: int, row: MtpRow, hooks: list[HookMatch]) -> tuple[bool, bool, bool, bool]:
    """Sorts first the row at which this MTP row is innocent: right kind, right place, right codes, right id."""
    scheduled = step.rows[i]
    placed = 0 <= scheduled.start < len(step.forward) and step.forward[scheduled.start] == row.returned
    ids = {token for found in hooks for token in found.row.returned_ids}
    return not takes_mtp(scheduled), not placed, step.codes.get(scheduled.request) != row.codes, row.input_id not in ids


def _assign(candidates: Sequence[Sequence[int]]) -> list[int | None]:
    """Give each MTP row one of its candidates, no candidate twice, to as many as possible (augmenting paths)."""
    taken: dict[int, int] = {}

    def place(number: int, seen: set[int]) -> bool:
        for i in candidates[number]:
            if i in seen:
                continue
            seen.add(i)
            if i not in taken or place(taken[i], seen):
                taken[i] = number
                return True
        return False

    for number in range(len(candidates)):
        place(number, set())
    owners: list[int | None] = [None] * len(candidates)
    for i, number in taken.items():
        owners[number] = i
    return owners
