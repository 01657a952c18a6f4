"""What the contract says of a scheduled row, from the scheduler's own numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

from spec_examples.trace import IS_PREFILL, NUM_COMPUTED, PROMPT_LEN, ScheduledRow


def is_prefill(row: ScheduledRow) -> bool:
    """Whether the row is prefill: its progress before the step has not reached the prompt's length."""
    return row.computed < row.prompt_len


def takes_mtp(row: ScheduledRow) -> bool:
    """Whether the row is a single-token decode row: the only kind that runner-managed MTP takes."""
    return row.span == 1 and not is_prefill(row)


def phase(row: ScheduledRow) -> str:
    """``prefill`` or ``decode``."""
    return "prefill" if is_prefill(row) else "decode"


def fields(row: ScheduledRow) -> dict[str, int | bool]:
    """The three phase keys as the contract has them for this row."""
    return {PROMPT_LEN: row.prompt_len, NUM_COMPUTED: row.computed, IS_PREFILL: is_prefill(row)}


def at(row: ScheduledRow, step: int) -> str:
    """How messages name a row; ``step`` counts from 1."""
    return f"row {row.request} (prompt {row.prompt_len}, computed {row.computed}, span {row.span}), step {step}"


def could_be(input_ids: Sequence[int], row: ScheduledRow) -> bool:
    """Whether these input ids can be the row's: as many as its span, and equal where the scheduler knows the token.

    A token that the scheduler does not know, as in an asynchronous step, is negative or left out.
    """
    if len(input_ids) != row.span:
        return False
    return all(known < 0 or known == given for known, given in zip(row.tokens, input_ids, strict=False))


def tokens_known(row: ScheduledRow) -> bool:
    """Whether the scheduler knows at least one of the row's tokens."""
    return any(token >= 0 for token in row.tokens)
