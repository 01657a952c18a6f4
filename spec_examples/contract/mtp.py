"""Judges of ROUTE-2 and ROUTE-4: which rows MTP takes, and what each of them gets from it."""

from __future__ import annotations

from collections.abc import Iterator

from spec_examples.contract import rows
from spec_examples.contract.matching import MtpMatch
from spec_examples.contract.origins import Origin
from spec_examples.contract.reading import Reading, RowReading, StepReading
from spec_examples.contract.verdict import Finding, Violation
from spec_examples.trace import Embedding


def mtp_rows(reading: Reading) -> Finding:
    """ROUTE-2: MTP takes single-token decode rows, each of them once, and nothing else.

    A row that the model filled itself takes none.
    """
    if not reading.trace.mtp and not any(step.step.mtp for step in reading.steps):
        return Finding(0)
    judged, violations = 0, []
    for step in reading.steps:
        for row in step.rows:
            owes = row.takes_mtp and row.offered and row.complete
            judged += owes or bool(row.mtp) or not row.takes_mtp
            if row.filled and (row.mtp or any(origin.kind == "mtp" for origin in row.origins)):
                violations.append(row.violation("a row that the model filled takes no MTP, but this one did"))
            elif row.mtp and not row.takes_mtp:
                kind = "prefill" if rows.is_prefill(row.row) else f"a decode span of {row.row.span}"
                violations.append(row.violation(f"MTP takes single-token decode rows only, but took this one ({kind})"))
            elif row.asked and not row.takes_mtp:
                only = "MTP takes single-token decode rows only"
                violations.append(row.violation(f"{only}, but the runner asked this one for MTP inputs, and stopped"))
            elif owes and len(row.mtp) != 1:
                times = f"{len(row.mtp)} times" if row.mtp else "not at all"
                violations.append(row.violation(f"a single-token decode row takes MTP once, but this one did {times}"))
        violations += _unowned(step)
    return Finding(judged, violations)


def decode_rows(reading: Reading) -> Finding:
    """ROUTE-4: each single-token decode row gets the embedding and the codes of its own MTP row, at its own offset."""
    if not reading.trace.mtp and not any(step.step.mtp for step in reading.steps):
        return Finding(0)
    judged, violations = 0, []
    seen: dict[Embedding, str] = {}
    seeds = any(call.row.seed is not None for step in reading.steps for call in step.match.calls)
    for step in reading.steps:
        swapped = _ids_swapped(step)
        for row in step.rows:
            if row.takes_mtp and row.offered and (row.complete or row.mtp):
                judged += 1
                problems = _decode_problems(step, row, seen, swapped, seeds)
                violations += [row.violation(problem) for problem in problems]
        for request in step.codes_changed:
            codes = step.step.codes[request]
            message = f"step {step.number}: {request} has no row in it, but its stored codes became {codes}"
            violations.append(Violation(step.number, request, message))
        _note(step, seen)
    return Finding(judged, violations)


def _unowned(step: StepReading) -> Iterator[Violation]:
    """A result at ``forward`` of an MTP row that was given nothing of this step. Unused ones are a graph's padding."""
    if Origin("mtp") in step.origins:
        message = (
            f"step {step.number}: MTP was given values that no hook returned in this step, and its result was used"
        )
        yield Violation(step.number, None, message)


def _decode_problems(
    step: StepReading, row: RowReading, seen: dict[Embedding, str], swapped: bool, seeds: bool
) -> Iterator[str]:
    if not row.mtp:
        yield "a decode row gets its MTP embedding, but MTP was not called for it"
        return
    for call in row.mtp:
        yield from _mixed(step, row, call, seen)
        yield from _others(row, call, swapped)
        if seeds and call.row.seed != row.row.seed:
            given = "no seed" if call.row.seed is None else f"the seed {call.row.seed}"
            yield f"its MTP row was given {given}, but its request has {row.row.seed}"
    origin = next(iter(row.origins), None)
    if origin is None:
        if row.complete:
            yield "a decode row gets its MTP embedding, but nothing reached forward at its offset"
    elif origin.kind != "mtp" or origin.request != row.row.request:
        yield f"a decode row gets its own MTP embedding, but {origin.phrase(row.row.request)} reached forward"
    if (row.complete or row.origins) and any(call.row.codes for call in row.mtp):
        yield from _wrong_codes(step, row)


def _mixed(step: StepReading, row: RowReading, call: MtpMatch, seen: dict[Embedding, str]) -> Iterator[str]:
    if not call.mixed:
        return
    values = {"embedding": call.row.embeds, "hidden state": call.row.hidden, "text step": call.row.text}
    came = []
    for name, source in call.sources.items():
        whose = seen.get(values[name], "no hook of this step") if source is None else step.step.rows[source].request
        came.append(f"the {name} of {whose}")
    yield f"MTP was given mixed inputs for it: {', '.join(came)}"


def _others(row: RowReading, call: MtpMatch, swapped: bool) -> Iterator[str]:
    """What a row's MTP row was given beside embeddings that is not the row's: its id, its request, its state."""
    own = {found.row.input_ids[0] for found in row.hooks if found.row.input_ids}
    returned = {found.row.returned_ids[0] for found in row.hooks if len(found.row.returned_ids) == 1}
    if returned and call.row.input_id not in returned:
        yield f"its MTP row was given the input id {call.row.input_id}, but its hook returned {min(returned)}"
    elif not returned and swapped and call.row.input_id not in own:
        yield f"its MTP row was given the input id {call.row.input_id}, which is another row's"
    strangers = sorted(set(call.row.names) - {row.row.request})
    if strangers:
        yield f"its MTP row was told that it is one of {', '.join(strangers)}"
    stored = {path: value for found in row.hooks for path, value in found.row.update.items()}
    other = [path for path, value in call.row.state.items() if stored.get(path, value) != value]
    if other:
        yield f"its MTP row was handed {other[0]} {call.row.state[other[0]]}, but its hook stored {stored[other[0]]}"


def _wrong_codes(step: StepReading, row: RowReading) -> Iterator[str]:
    stored = row.codes_after
    if any(stored == call.row.codes for call in row.mtp):
        return
    other = next((c.owner for c in step.match.calls if c.row.codes == stored and c.owner is not None), None)
    whose = f", row {step.step.rows[other].request}'s," if other is not None else ""
    got = "none were stored" if stored is None else f"{stored}{whose} were stored"
    yield f"its MTP codes are {row.mtp[0].row.codes}, but {got}"


def _ids_swapped(step: StepReading) -> bool:
    """Whether the MTP rows have one another's input ids. A hook may change ids, so other differences prove nothing."""
    given, own = [], []
    for row in step.rows:
        for call in row.mtp:
            given.append(call.row.input_id)
            own += [found.row.input_ids[0] for found in row.hooks[:1] if found.row.input_ids]
    return given != own and sorted(given) == sorted(own)


def _note(step: StepReading, seen: dict[Embedding, str]) -> None:
    """Remember whose values the hooks of this step returned, for messages about values that come back later."""
    for row in step.rows:
        for found in row.hooks:
            for value in (*found.row.embeds, found.row.hidden, found.row.text):
                if value is not None:
                    seen[value] = f"{row.row.request} in step {step.number}"
