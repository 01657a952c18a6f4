"""What the explorer can be asked: every row of a small grid, through either hook, with MTP and without, in company.

The order of ``questions`` is that of the recorded answers, and the page counts in it; so it changes only with a new
recording.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

from spec_examples.scenario import Row

Hook = Literal["scalar", "batched"]
Company = Literal["alone", "after decode", "after prefill", "between prefill and decode"]

PROMPT_LENS = (1, 2, 3, 4, 5, 6)
"""Tokens in the prompt."""
COMPUTED = (0, 1, 2, 3, 4, 5, 6, 7, 8)
"""Tokens processed before the step."""
SPANS = (1, 2, 3, 4)
"""Tokens scheduled in the step."""
HOOKS: tuple[Hook, ...] = ("scalar", "batched")
"""The hook that the talker offers for decode rows: the scalar one alone, or the batched one as well."""
MTP = (True, False)
"""Whether the talker has MTP."""
COMPANY: tuple[Company, ...] = ("alone", "after decode", "after prefill", "between prefill and decode")
"""The rows that stand in the same step."""

ASKED = "asked"
DECODE, PREFILL = Row(3, 4, 1, "decode"), Row(4, 0, 3, "prefill")


@dataclass(frozen=True)
class Question:
    """One row in one step of one talker. Lengths are in tokens."""

    hook: Hook
    mtp: bool
    company: Company
    prompt_len: int
    computed: int
    span: int

    @property
    def talker(self) -> str:
        """The stub that offers it."""
        return self.hook if self.mtp else f"{self.hook}-no-mtp"

    def rows(self, number: int) -> tuple[Row, ...]:
        """The step, with names that hold ``number``; the row asked about is called ``asked`` and that number."""
        one = Row(self.prompt_len, self.computed, self.span, ASKED)
        step = {
            "alone": (one,),
            "after decode": (DECODE, one),
            "after prefill": (PREFILL, one),
            "between prefill and decode": (PREFILL, one, DECODE),
        }[self.company]
        return tuple(Row(row.prompt_len, row.computed, row.span, f"{row.request}{number}") for row in step)


def questions() -> Iterator[Question]:
    """Every question, the last axis turning fastest."""
    for hook, mtp, company, prompt_len, computed, span in product(HOOKS, MTP, COMPANY, PROMPT_LENS, COMPUTED, SPANS):
        yield Question(hook, mtp, company, prompt_len, computed, span)


def digest() -> str:
    """SHA-256 of every question: a table that was made of others is stale."""
    text = "\n".join(f"{each.talker} {each.rows(0)}" for each in questions())
    return hashlib.sha256(text.encode()).hexdigest()
