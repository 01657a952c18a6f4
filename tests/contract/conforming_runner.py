"""A runner of plain data that keeps the contract: scheduled rows in, a trace out.

Each way to break the contract overrides one small method, so a defect reads like the edit that causes it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from spec_examples.trace import (
    IS_PREFILL,
    NUM_COMPUTED,
    PROMPT_LEN,
    Embedding,
    HookCall,
    HookRow,
    MtpRow,
    ScheduledRow,
    Step,
    Trace,
    Value,
)

Row = tuple[str, int, int, int]
"""Request, prompt length, progress before the step, span."""

STORY: tuple[tuple[Row, ...], ...] = (
    (("a", 5, 0, 4),),
    (("a", 5, 4, 1), ("b", 1, 0, 1)),  # a one-token tail beside a one-token prompt
    (("a", 5, 5, 1), ("b", 1, 1, 1)),
    (("b", 1, 2, 1), ("a", 5, 6, 1), ("c", 4, 0, 2)),  # reordered, beside a prefill row
    (("c", 4, 2, 1), ("b", 1, 3, 1), ("a", 5, 7, 2)),  # a decode span of 2
    (("a", 5, 0, 8), ("b", 1, 4, 1), ("c", 4, 3, 1)),  # a comes back after a preemption
    (("a", 5, 8, 2), ("b", 1, 5, 1), ("c", 4, 4, 1)),
    (("a", 5, 10, 1), ("b", 1, 6, 1), ("c", 11, 5, 3)),  # c's prompt has grown
    (("a", 5, 11, 1), ("b", 1, 7, 1), ("c", 11, 8, 3)),
    (("a", 5, 12, 1), ("b", 1, 8, 1), ("c", 11, 11, 1)),
)


class Runner:
    """Keeps the contract. ``batched`` and ``mtp`` are what the talker offers; ``planting``: it overwrites the keys."""

    def __init__(self, *, batched: bool = False, mtp: bool = True, planting: bool = False) -> None:
        self.batched, self.mtp, self.planting = batched, mtp, planting
        self.serial = 0
        self.steps: list[Step] = []
        self.state: dict[str, dict[str, Any]] = {}
        self.codes: dict[str, tuple[int, ...]] = {}
        self.stored: dict[str, dict[str, str]] = {}
        self.calls: Counter[str] = Counter()

    def run(self, steps: tuple[tuple[Row, ...], ...] = STORY) -> Trace:
        for step in steps:
            self.step = self.schedule(step)
            self.steps.append(self.run_step())
        return Trace(steps=tuple(self.steps), mtp=self.mtp, batched=self.batched)

    def schedule(self, step: tuple[Row, ...]) -> tuple[ScheduledRow, ...]:
        rows, start = [], 0
        for request, prompt_len, computed, span in step:
            tokens = tuple(ord(request) * 100 + position for position in range(computed, computed + span))
            rows.append(ScheduledRow(request, prompt_len, computed, span, start, tokens))
            start += span
        return tuple(rows)

    # What a defect overrides.

    def prompt_len(self, row: ScheduledRow) -> Any:
        return row.prompt_len

    def computed(self, row: ScheduledRow) -> Any:
        return row.computed

    def flag(self, row: ScheduledRow) -> Any:
        return row.computed < row.prompt_len

    def fields(self, row: ScheduledRow) -> dict[str, Any]:
        return {PROMPT_LEN: self.prompt_len(row), NUM_COMPUTED: self.computed(row), IS_PREFILL: self.flag(row)}

    def keywords(self, row: ScheduledRow, fields: dict[str, Any]) -> tuple[str, ...]:
        return (*fields, "request_id")

    def source(self, row: ScheduledRow) -> ScheduledRow:
        """The row of which the fields, and the name that a hook is told, are."""
        return row

    def decodes_one(self, row: ScheduledRow) -> bool:
        return row.span == 1 and row.computed >= row.prompt_len

    def hooks(self, row: ScheduledRow) -> tuple[str, ...]:
        return ("preprocess_decode_batch",) if self.batched and self.decodes_one(row) else ("preprocess",)

    def takes_mtp(self, row: ScheduledRow) -> bool:
        return self.mtp and self.decodes_one(row)

    def mtp_call(self, given: list[tuple[ScheduledRow, tuple[Any, ...]]]) -> list[tuple[ScheduledRow, tuple[Any, ...]]]:
        """Each row that takes MTP with (input id, embeds, hidden, text)."""
        return given

    def place(self, forward: list[Embedding], row: ScheduledRow, returned: Embedding) -> None:
        forward[row.start] = returned

    def store(self, row: ScheduledRow, codes: tuple[int, ...]) -> None:
        self.codes[row.request] = codes

    def keep(self, row: ScheduledRow, update: dict[str, str]) -> None:
        """Store what a hook returned for the state of its request."""
        self.stored.setdefault(row.request, {}).update(update)

    def give(self, row: ScheduledRow) -> dict[str, str]:
        """The state that comes with a hook call."""
        return dict(self.stored.get(row.request, {}))

    def write_ids(self, ids: list[int], row: ScheduledRow, returned: tuple[int, ...]) -> None:
        """Put the ids that a hook returned where ``forward`` finds them."""
        ids[row.start : row.start + row.span] = returned

    def finish(self, forward: list[Embedding], hooked: dict[str, HookRow]) -> None:
        """After all: the last chance to touch what reaches forward, or the codes."""

    # The steps in between.

    def embedding(self, kind: float) -> Embedding:
        self.serial += 1
        return (kind, float(self.serial))

    def hook_row(self, row: ScheduledRow) -> HookRow:
        source = self.source(row)
        fields = self.fields(source)
        planted = {PROMPT_LEN: 999, NUM_COMPUTED: 777, IS_PREFILL: not source.computed < source.prompt_len}
        planted = planted if self.planting else {}
        self.state[row.request] = planted
        self.calls[source.request] += 1
        update = {"noted": f"int {self.calls[source.request]}", "last.by": f"str {source.request}"}
        given = self.give(row)
        self.keep(row, update)
        return HookRow(
            request=source.request,
            input_ids=row.tokens,
            fields={key: Value.of(value) for key, value in fields.items()},
            keywords=self.keywords(row, fields),
            embeds=tuple(self.embedding(1.0) for _ in range(row.span)),
            hidden=self.embedding(3.0),
            text=self.embedding(4.0),
            planted={key: Value.of(value) for key, value in planted.items()},
            given=given,
            update=update,
            returned_ids=tuple(token + 5000 for token in row.tokens),
        )

    def run_step(self) -> Step:
        rows, calls, batch = self.step, [], []
        hooked: dict[str, HookRow] = {}
        for row in rows:
            for hook in self.hooks(row):
                hooked[row.request] = self.hook_row(row)
                if hook == "preprocess":
                    calls.append(HookCall(hook, (hooked[row.request],)))
                else:
                    batch.append(hooked[row.request])
        if batch:
            calls.append(HookCall("preprocess_decode_batch", tuple(batch)))
        forward = [(0.0, 0.0)] * sum(row.span for row in rows)
        for row in rows:
            if row.request in hooked:
                forward[row.start : row.start + row.span] = hooked[row.request].embeds
        ids = [0] * len(forward)
        for row in rows:
            if row.request in hooked:
                self.write_ids(ids, row, hooked[row.request].returned_ids)
        mtp = self.run_mtp(forward, hooked)
        self.finish(forward, hooked)
        return Step(rows, tuple(calls), mtp, tuple(forward), codes=dict(self.codes), input_ids=tuple(ids))

    def run_mtp(self, forward: list[Embedding], hooked: dict[str, HookRow]) -> tuple[tuple[MtpRow, ...], ...]:
        given = [
            (row, (hook.returned_ids[0], hook.embeds[-1], hook.hidden, hook.text))
            for row in self.step
            if (hook := hooked.get(row.request)) and self.takes_mtp(row)
        ]
        called = []
        for row, inputs in self.mtp_call(given):
            returned = self.embedding(2.0)
            codes = (self.serial, self.serial + 1)
            called.append(MtpRow(*inputs, returned, codes))
            self.place(forward, row, returned)
            self.store(row, codes)
        return (tuple(called),) if called else ()
