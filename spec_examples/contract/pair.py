"""ROUTE-6: a scalar and a batched run of the same steps, compared row by row.

A stub talker's embeddings carry the number of the call, which differs between the runs. So what is compared is where
each value came from: equal origins are equal values wherever the hooks' results are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spec_examples.contract.judge import stopped
from spec_examples.contract.reading import RowReading, StepReading, read
from spec_examples.contract.verdict import Finding, Verdict, Violation, decide
from spec_examples.trace import ScheduledRow, Trace

CLAUSE = "ROUTE-6"
HAND_OVER = frozenset({"input_ids", "input_embeds", "req_infos", "mtp_inputs"})
"""Keywords by which a hook is called or hands its inputs to MTP: not state that the runner stores for a model."""


def judge_pair(scalar: Trace, batched: Trace) -> Verdict:
    """Whether a run of the scalar and a run of the batched hook lead to equal embeddings, codes and stored state.

    Passes with at least one row that reached ``preprocess`` in ``scalar`` and ``preprocess_decode_batch`` in
    ``batched``. Not applicable where no row did, or where the runs are not of the same steps.
    """
    one, other = read(scalar), read(batched)
    unlike = _unlike(scalar, batched)
    if unlike:
        return Verdict(CLAUSE, "not-applicable", unlike)
    judged, violations = 0, []
    for left, right in zip(one.steps, other.steps, strict=False):
        if not (left.complete and right.complete):
            continue
        for row, partner in zip(_sorted(left), _sorted(right), strict=True):
            judged += _hooks(row) == {"preprocess"} and _hooks(partner) == {"preprocess_decode_batch"}
            violations += [row.violation(problem) for problem in _differences(left, row, right, partner)]
    violations += _stopped(scalar, batched)
    return decide(
        CLAUSE,
        Finding(judged, violations),
        "no row reached preprocess in one run and preprocess_decode_batch in the other",
    )


def _unlike(scalar: Trace, batched: Trace) -> str | None:
    """Why the two traces are not runs of the same steps, or ``None``. One may be shorter where a run raised."""
    if not scalar.steps or not batched.steps:
        return "a trace has no steps"
    if len(scalar.steps) != len(batched.steps) and not (scalar.error or batched.error):
        return f"the runs are not of the same steps: {len(scalar.steps)} and {len(batched.steps)}"
    for number, (left, right) in enumerate(zip(scalar.steps, batched.steps, strict=False), start=1):
        first, second = (sorted(map(_numbers, step.rows)) for step in (left, right))
        if first != second:
            return f"the runs are not of the same steps: step {number} has other rows"
    return None


def _numbers(row: ScheduledRow) -> tuple[str, int, int, int]:
    return row.request, row.prompt_len, row.computed, row.span


def _sorted(step: StepReading) -> list[RowReading]:
    """The rows in an order that does not depend on the batch's."""
    return sorted(step.rows, key=lambda row: _numbers(row.row))


def _stopped(scalar: Trace, batched: Trace) -> Iterator[Violation]:
    """Where only one of the two runs raised."""
    for name, trace, other in (("scalar", scalar, batched), ("batched", batched, scalar)):
        if stopped(trace) is not None and other.error is None:
            last = len(trace.steps)
            yield Violation(last, None, f"step {last}: only the {name} run raised: {trace.error}")


def _differences(left: StepReading, row: RowReading, right: StepReading, partner: RowReading) -> Iterator[str]:
    one_view, other_view = _view(left, row), _view(right, partner)
    for what, one in one_view.items():
        if one != (other := other_view[what]):
            yield f"{what} {one} in the scalar run and {other} in the batched run"


def _view(step: StepReading, row: RowReading) -> dict[str, str]:
    """What a row led to, in words that are equal where the results are."""
    return {
        "forward got": _listed(str(origin) for origin in row.origins),
        "MTP was given": _listed(_inputs(step, row)),
        "the stored codes are": _codes(step, row),
        "the state that came back is": _listed(sorted(_state(row))),
    }


def _hooks(row: RowReading) -> set[str]:
    return {found.hook for found in row.hooks}


def _inputs(step: StepReading, row: RowReading) -> Iterator[str]:
    """For each MTP row of a row: from whose hook each value came, and the input id."""
    for call in row.mtp:
        parts = ("buffer" if i is None else step.step.rows[i].request for i in call.sources.values())
        yield f"{'/'.join(dict.fromkeys(parts))} with input id {call.row.input_id}"


def _codes(step: StepReading, row: RowReading) -> str:
    """Where a row's stored codes came from: its own MTP row where that is possible."""
    if row.mtp and any(call.row.codes == row.codes_after for call in row.mtp):
        return f"those of MTP {row.row.request}"
    if row.codes_after == row.codes_before:
        return "unchanged"
    for call in step.match.calls:
        if call.row.codes == row.codes_after and call.owner is not None:
            return f"those of MTP {step.step.rows[call.owner].request}"
    return "absent" if row.codes_after is None else "of no MTP row"


def _state(row: RowReading) -> set[str]:
    """The names of all that came with a row's hook calls, and of what a model had stored the values as well."""
    names = {keyword for found in row.hooks for keyword in found.row.keywords} - HAND_OVER
    return names | {f"{path} = {value}" for found in row.hooks for path, value in found.row.given.items()}


def _listed(items: Iterable[str]) -> str:
    return ", ".join(items) or "nothing"
