"""Whether the fields arrived with a hook row, and whether they are another row's of the same step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spec_examples.contract import rows
from spec_examples.contract.matching import HookMatch
from spec_examples.contract.reading import RowReading
from spec_examples.trace import NUM_COMPUTED, PHASE_KEYS, PROMPT_LEN, ScheduledRow, Value

NOTHING_ARRIVED = "none of them arrived"
"""How a judge says that a row came without any phase key."""

ABSENT = "did not arrive"
"""How a judge says that a row came without a phase key."""


def absent(found: HookMatch) -> str | None:
    """Which of the fields did not arrive, as a clause of a sentence, or ``None``."""
    missing = [key for key in PHASE_KEYS if key not in found.row.fields]
    if len(missing) == len(PHASE_KEYS):
        return NOTHING_ARRIVED
    return f"{', '.join(missing)} {ABSENT}" if missing else None


def differs(arrived: Value | None, truth: bool | int) -> bool:
    """Whether a value is not there or not equal; its exact type is another clause's business."""
    return arrived is None or arrived.value != truth


def taken_for(key: str, arrived: Value, row: ScheduledRow) -> str | None:
    """Which other number of the same row arrived under ``key``, or ``None``."""
    numbers = {"the span": row.span, "the progress after the step": row.computed + row.span}
    numbers |= {"the progress": row.computed} if key == PROMPT_LEN else {"the prompt length": row.prompt_len}
    return next((name for name, number in numbers.items() if arrived.value == number), None)


def owner_of(key: str, arrived: Value, row: RowReading, step: Sequence[RowReading]) -> str | None:
    """The other request of the step whose value arrived under ``key``, or ``None``."""
    others = (other for other in step if other.row is not row.row)
    return next((other.row.request for other in others if rows.fields(other.row)[key] == arrived.value), None)


def misaligned(found: HookMatch, row: RowReading, step: Sequence[RowReading]) -> Iterator[str]:
    """What stands with a hook row although it is another row's: its input ids, then its numbers.

    A wrong number that the row's own span or progress explains is not called another row's.
    """
    if not rows.could_be(found.row.input_ids, row.row):
        others = (other.row for other in step if other.row is not row.row)
        owner = next((o.request for o in others if rows.could_be(found.row.input_ids, o)), None)
        whose = f"those of row {owner}" if owner else "not the row's"
        yield f"the input ids {_listed(found.row.input_ids)} that came with its fields are {whose}"
    for key in (PROMPT_LEN, NUM_COMPUTED):
        arrived = found.row.fields.get(key)
        if arrived is None or not differs(arrived, rows.fields(row.row)[key]) or taken_for(key, arrived, row.row):
            continue
        owner = owner_of(key, arrived, row, step)
        if owner is not None:
            yield f"{key} {arrived.value} is row {owner}'s"


def _listed(input_ids: Sequence[int]) -> str:
    head = ", ".join(map(str, input_ids[:6]))
    return f"({head}, …)" if len(input_ids) > 6 else f"({head})"
