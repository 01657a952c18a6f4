"""Judges of ROUTE-3 and ROUTE-5: the rows that MTP has to leave alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spec_examples.contract import rows
from spec_examples.contract.origins import Origin
from spec_examples.contract.reading import Reading, RowReading, StepReading
from spec_examples.contract.verdict import Finding, Violation
from spec_examples.trace import Embedding

Offers = dict[Embedding, RowReading]
"""The prefill row that offered a hidden state or a text step to MTP."""


def prefill_kept(reading: Reading) -> Finding:
    """ROUTE-3: a prefill row keeps its preprocessed embedding; MTP is given nothing of it; no codes are generated."""
    judged, violations = 0, []
    offered: Offers = {}
    for step in reading.steps:
        prefill = [row for row in step.rows if rows.is_prefill(row.row)]
        for row in prefill:
            judged += bool(row.returned or row.mtp or row.origins)
            violations += [row.violation(f"prefill, but {problem}") for problem in _overwritten(row)]
        violations += _leaked(step, prefill, offered)
        for row in prefill:
            for found in row.hooks:
                offered.update({value: row for value in (found.row.hidden, found.row.text) if value is not None})
    return Finding(judged, violations)


def long_spans(reading: Reading) -> Finding:
    """ROUTE-5: a decode span of more than one token keeps its hook's rows, is not in MTP, and gets no codes."""
    judged, violations = 0, []
    for row in reading.rows:
        if row.row.span > 1 and not rows.is_prefill(row.row):
            judged += bool(row.hooks or row.mtp or row.origins)
            what = f"a decode span of {row.row.span} is not MTP eligible"
            violations += [row.violation(f"{what}, but {problem}") for problem in _overwritten(row)]
    return Finding(judged, violations)


def _overwritten(row: RowReading) -> Iterator[str]:
    """What is wrong at a row that MTP has to leave alone."""
    returned = row.returned
    wrong: list[tuple[int, Origin]] = []
    for offset, origin in enumerate(row.origins):
        kept = origin.kind == "preprocess" and origin.index == row.row.computed + offset
        if not kept and (origin.kind == "mtp" or offset < returned):
            wrong.append((offset, origin))
    if wrong:
        offset, origin = wrong[0]
        where = "" if row.row.span == 1 else f" at its token {row.row.computed + offset}"
        yield f"{origin.phrase(row.row.request)} reached forward{where}" + (
            f" and {len(wrong) - 1} more" if wrong[1:] else ""
        )
    if row.complete and returned and len(row.origins) < min(returned, row.row.span):
        yield f"only {len(row.origins)} of its {row.row.span} embeddings reached forward"
    if row.mtp:
        yield "MTP was called for it"
    if row.asked:
        yield "the runner asked it for MTP inputs, and stopped"
    if row.codes_after is not None and row.codes_after != row.codes_before:
        yield f"codes {row.codes_after} were stored for it"


def _leaked(step: StepReading, prefill: Sequence[RowReading], offered: Offers) -> Iterator[Violation]:
    """Hidden states and text steps of a prefill row in an MTP row of another, or of a later step."""
    here = {row.row.request: row for row in prefill}
    for call in step.match.calls:
        values = {"hidden state": (call.hidden, call.row.hidden), "text step": (call.text, call.row.text)}
        taker = "an MTP row" if call.owner is None else f"the MTP row of {step.step.rows[call.owner].request}"
        for name, (source, value) in values.items():
            row = offered.get(value) if source is None else here.get(step.step.rows[source].request)
            if row is None or (source is not None and source == call.owner):
                continue
            when = "" if row.step == step.number else f" in step {step.number}"
            yield row.violation(f"prefill, but its {name} reached MTP{when}, in {taker}")
