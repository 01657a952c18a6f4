"""A chunked run against an unchunked one of the same requests: the contract holds where nothing tells them apart.

What is asked, and nothing less: the chunked run has a one-token tail; every promise of the contract holds on both runs,
which covers the tail's metadata and its exclusion from MTP; MTP took decode rows in both; the embeddings that reached
``forward``, the tokens and the codes are equal to the bit; the audio is finite, not empty and of equal length.

Equal results need equal arithmetic: a reduction whose order depends on the shape of the batch can turn an argmax. On
the CPU that is so as it stands (measured), on a GPU with ``VLLM_BATCH_INVARIANT=1``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from spec_examples.contract import judge, took_mtp
from spec_examples.contract.rows import phase
from spec_examples.real_model.run import Pass, Run, codes, one_token_tails, passes, requests, tokens


class RunsDiffer(AssertionError):
    """A chunked and an unchunked run are told apart, or do not show what they were made for. One line a finding."""

    def __init__(self, findings: Sequence[str]) -> None:
        super().__init__("\n".join(["the chunked run is not as the unchunked one:", *(f"  {f}" for f in findings)]))
        self.findings = tuple(findings)


def require_same(whole: Run, chunked: Run) -> None:
    """Raise ``RunsDiffer`` where ``findings`` has any."""
    found = findings(whole, chunked)
    if found:
        raise RunsDiffer(found)


def findings(whole: Run, chunked: Run) -> tuple[str, ...]:
    """What is wrong with the pair, most telling first; empty where the contract holds."""
    return (*_unfit(whole, chunked), *_violations(whole, chunked), *differences(whole, chunked))


def differences(whole: Run, chunked: Run) -> tuple[str, ...]:
    """Where rows, tokens, codes and audio of the two runs are not the same."""
    found: list[str] = []
    for request in requests(whole):
        found += _rows(whole, chunked, request)
        found += _sequence("token", tokens(whole, request), tokens(chunked, request), request)
        found += _sequence("codec frame", codes(whole, request), codes(chunked, request), request)
        found += _audio(whole, chunked, request)
    return tuple(found)


def largest_difference(whole: Run, chunked: Run, request: str) -> dict[int, float]:
    """By position, how far a row of the chunked run is from the unchunked one; positions without difference left out.

    A position that was computed more than once, as after a preemption, counts with its last row.
    """
    ours, theirs = by_position(whole, request), by_position(chunked, request)
    return {
        position: max(abs(a - b) for a, b in zip(ours[position][1], row, strict=True))
        for position, (_, row) in theirs.items()
        if position in ours and ours[position][1] != row
    }


def by_position(run: Run, request: str) -> dict[int, tuple[Pass, tuple[float, ...]]]:
    """For each position of a request, the pass that computed it last, and its embedding."""
    return {
        at.row.computed + offset: (at, embedding)
        for at in passes(run, request)
        for offset, embedding in enumerate(at.embeddings)
    }


def _unfit(whole: Run, chunked: Run) -> Iterator[str]:
    """What keeps the pair from showing anything."""
    for name, run in (("unchunked", whole), ("chunked", chunked)):
        if run.trace.error:
            yield f"the {name} run ended early: {run.trace.error}"
        if not took_mtp(run.trace):
            yield f"no row of the {name} run took MTP, so that none was left out proves nothing"
    if set(requests(whole)) != set(requests(chunked)):
        yield f"the runs have different requests: {requests(whole)} and {requests(chunked)}"
    cut = [at for at in passes(whole) if at.row.computed < at.row.prompt_len and at.row.span < at.row.prompt_len]
    if cut:
        yield f"the unchunked run is chunked as well: {_name(cut[0])}"
    if not one_token_tails(chunked):
        spans = {r: [at.row.span for at in passes(chunked, r)] for r in requests(chunked)}
        yield f"no one-token tail of a prompt was scheduled in the chunked run; its spans are {spans}"


def _violations(whole: Run, chunked: Run) -> Iterator[str]:
    for name, run in (("unchunked", whole), ("chunked", chunked)):
        for verdict in judge(run.trace):
            if verdict.outcome == "failed":
                yield f"{verdict.clause} is broken in the {name} run: {verdict.message}"


def _rows(whole: Run, chunked: Run, request: str) -> Iterator[str]:
    apart = largest_difference(whole, chunked, request)
    if apart:
        position = min(apart)
        at = by_position(chunked, request)[position][0]
        yield (
            f"{len(apart)} embedding{'s' * (len(apart) > 1)} of {request} that reached forward differ, first at "
            f"position {position}, in {_name(at)}; by {apart[position]:.3g} there"
        )


def _sequence(what: str, ours: Sequence[Any], theirs: Sequence[Any], request: str) -> Iterator[str]:
    for number, (a, b) in enumerate(zip_longest(ours, theirs)):
        if a != b:
            a, b = ("none" if value is None else value for value in (a, b))
            yield f"{what} {number} of {request} is {b}, and {a} in the unchunked run"
            return


def _audio(whole: Run, chunked: Run, request: str) -> Iterator[str]:
    if whole.audio is None and chunked.audio is None:
        return
    ours, theirs = ((run.audio or {}).get(request) for run in (whole, chunked))
    for name, audio in (("unchunked", ours), ("chunked", theirs)):
        if audio is None or not audio.samples:
            yield f"{request} has no audio in the {name} run"
        elif not all(map(math.isfinite, audio.samples)):
            yield f"{request} has audio that is not finite in the {name} run"
    if ours and theirs and len(ours.samples) != len(theirs.samples):
        yield f"{request} has {len(theirs.samples)} samples of audio, and {len(ours.samples)} in the unchunked run"


def _name(at: Pass) -> str:
    row = at.row
    tail = ", one-token tail" if row.span == 1 and 0 < row.computed == row.prompt_len - 1 else ""
    return (
        f"step {at.number}, row (prompt {row.prompt_len}, computed {row.computed}, span {row.span}), {phase(row)}{tail}"
    )
