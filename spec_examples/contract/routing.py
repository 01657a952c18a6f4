"""Judge of ROUTE-1: the per-row hook that a row reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from spec_examples.contract import rows
from spec_examples.contract.reading import Reading, RowReading
from spec_examples.contract.verdict import Finding, Violation

BATCHED = "preprocess_decode_batch"

RouteForm = Literal["needs talker_mtp", "without talker_mtp", "rows may be filled by the model"]
"""The legal forms. For a model without MTP: its decode rows go to ``preprocess``, or to the batched hook. The third has
the second's routing, except for rows that a model declares to fill, and has filled, itself.
"""


def which_hook(reading: Reading) -> Finding:
    """ROUTE-1: each row reaches one per-row hook once, and the batched one only as a single-token decode row.

    A row that the model filled itself reaches none.
    """
    if not any(step.match.strays or any(row.hooks for row in step.rows) or step.step.forward for step in reading.steps):
        return Finding(0)
    judged, violations = 0, []
    called = _decode_hooks(reading)
    for step in reading.steps:
        for row in step.rows:
            judged += bool(row.hooks) or row.complete
            violations += [row.violation(problem) for problem in _hook_problems(reading, row, called)]
        for stray in step.match.strays:
            whose = stray.row.request or "a row"
            message = f"step {step.number}: {stray.hook} was called for {whose}, which was not scheduled"
            violations.append(Violation(step.number, stray.row.request, message))
    return Finding(judged, violations)


def route_form(reading: Reading) -> RouteForm | None:
    """Where single-token decode rows of a model with a batched hook and without MTP went, or that rows were filled.

    ``None`` where the trace does not show it: with MTP, without a batched hook, without such rows, or both ways.
    """
    if any(row.filled for row in reading.rows):
        return "rows may be filled by the model"
    if reading.trace.mtp or not reading.trace.batched:
        return None
    hooks = _decode_hooks(reading)
    if hooks == {BATCHED}:
        return "without talker_mtp"
    return "needs talker_mtp" if hooks == {"preprocess"} else None


def _decode_hooks(reading: Reading) -> set[str]:
    """The hooks that single-token decode rows reached."""
    return {found.hook for row in reading.rows if row.takes_mtp for found in row.hooks}


def _hook_problems(reading: Reading, row: RowReading, called: set[str]) -> Iterator[str]:
    if row.filled:
        if row.hooks:
            hook = row.hooks[0].hook
            yield f"a row that the model filled reaches no per-row hook, but this one went to {hook}"
        return
    if not row.hooks:
        if row.complete:
            yield "each row reaches a per-row hook, but this one reached none"
        return
    if len(row.hooks) > 1:
        yield f"each row reaches one per-row hook once, but this one {' and '.join(each.hook for each in row.hooks)}"
    hooks = {found.hook for found in row.hooks}
    if BATCHED in hooks and not row.takes_mtp:
        kind = "prefill" if rows.is_prefill(row.row) else f"a decode span of {row.row.span}"
        yield f"the batched hook takes single-token decode rows only, but got this one ({kind})"
    if "preprocess" in hooks and row.takes_mtp:
        if reading.trace.batched and reading.trace.mtp:
            all_did = "" if BATCHED in called else ", as all of them did"
            yield f"a single-token decode row goes to the batched hook, but this one went to preprocess{all_did}"
        elif BATCHED in called and not reading.trace.mtp:
            yield "went to preprocess, but other single-token decode rows went to the batched hook"
