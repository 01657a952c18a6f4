"""What one run came to. Plain data that survives JSON unchanged: it crosses from the process of the run to the test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from spec_examples.contract.rows import takes_mtp
from spec_examples.trace import Embedding, ScheduledRow, Step, Trace

Frame = tuple[int, ...]
"""One codec frame: one code a codebook."""


@dataclass(frozen=True)
class Audio:
    """One request's audio: float samples, ``rate`` of them a second."""

    samples: tuple[float, ...]
    rate: int


@dataclass(frozen=True)
class Run:
    """One run of one or more requests.

    ``delivered`` has one entry a step of ``trace``: the codec frames that the runner handed out for each request.
    ``audio`` is ``None`` where the pipeline ends at the talker. ``notes`` are observations of one kind of run, by name.
    """

    trace: Trace
    delivered: tuple[dict[str, tuple[Frame, ...]], ...] = ()
    audio: dict[str, Audio] | None = None
    notes: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def to_json(self) -> str:
        """One line of JSON; ``from_json`` gives back an equal run."""
        return msgspec.json.encode(self, order="sorted").decode()

    @staticmethod
    def from_json(text: str | bytes) -> Run:
        """Raises ``ValueError`` for text that is not a run."""
        return msgspec.json.decode(text, type=Run)


class Pass(NamedTuple):
    """One scheduled row, its step (from 1), and the embeddings of it that reached ``forward``."""

    number: int
    step: Step
    row: ScheduledRow
    embeddings: tuple[Embedding, ...]


def passes(run: Run, request: str | None = None) -> Iterator[Pass]:
    """The scheduled rows of a run, or of one request in it, in order."""
    for number, step in enumerate(run.trace.steps, start=1):
        for row in step.rows:
            if request is None or row.request == request:
                yield Pass(number, step, row, step.forward[row.start : row.start + row.span])


def requests(run: Run) -> tuple[str, ...]:
    """The ids of a run's requests, in the order in which they were scheduled first."""
    return tuple(dict.fromkeys(at.row.request for at in passes(run)))


def tokens(run: Run, request: str) -> tuple[int, ...]:
    """Every token that was sampled for a request."""
    return tuple(token for step in run.trace.steps for token in step.sampled.get(request, ()))


def codes(run: Run, request: str) -> tuple[Frame, ...]:
    """The codes that MTP left for a request, one frame for each of its single-token decode rows."""
    return tuple(at.step.codes.get(request, ()) for at in passes(run, request) if takes_mtp(at.row))


def frames(run: Run, request: str) -> tuple[tuple[Frame, ...], ...]:
    """The codec frames in a request's own output, one tuple for each of its scheduled rows."""
    return tuple(run.delivered[at.number - 1].get(request, ()) for at in passes(run, request))


def one_token_tails(run: Run) -> tuple[Pass, ...]:
    """The rows that hold the last token of a prompt and nothing else, after an earlier chunk."""
    return tuple(at for at in passes(run) if at.row.span == 1 and 0 < at.row.computed == at.row.prompt_len - 1)
