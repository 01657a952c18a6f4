"""Where each embedding that reached ``forward`` came from.

An embedding has no name; it is found by comparing its values with the rows that the hooks and MTP returned in the
same step. Where several are equal, the origin that the contract expects is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spec_examples.contract.matching import Match, match
from spec_examples.contract.rows import takes_mtp
from spec_examples.trace import Embedding, Step


@dataclass(frozen=True)
class Origin:
    """The origin of one row of ``forward``.

    ``kind`` is ``none`` where no hook and no MTP call of the step returned the values, which is then what the runner's
    buffer held. ``request`` is the one whose hook or MTP row it is. ``index`` is the token's position in its request
    (progress plus offset in the span) where the row's own hook returned it, else ``None``.
    """

    kind: Literal["preprocess", "mtp", "none"]
    request: str | None = None
    index: int | None = None

    def __str__(self) -> str:
        """``preprocess a[4]``, ``MTP a``, ``preprocess of b`` (another request's hook), or ``buffer``."""
        if self.kind == "none":
            return "buffer"
        if self.kind == "mtp":
            return f"MTP {self.request}" if self.request is not None else "MTP of no row"
        return f"preprocess of {self.request}" if self.index is None else f"preprocess {self.request}[{self.index}]"

    def phrase(self, request: str) -> str:
        """As the subject of a sentence about a row of ``request``."""
        if self.kind == "none":
            return "an embedding that no hook returned in this step"
        return "the MTP embedding" if self == Origin("mtp", request) else f"the embedding of {self}"


BUFFER = Origin("none")


def describe(step: Step, matched: Match | None = None) -> tuple[Origin, ...]:
    """The origin of each row of ``step.forward``, in its order. A row that no scheduled row covers is looked up too."""
    matched = matched or match(step)
    place: dict[int, tuple[int, int]] = {}
    for i, row in enumerate(step.rows):
        for offset in range(max(0, -row.start), min(row.span, len(step.forward) - row.start)):
            place.setdefault(row.start + offset, (i, offset))
    return tuple(_origin(step, matched, value, *place.get(at, (None, 0))) for at, value in enumerate(step.forward))


def _origin(step: Step, matched: Match, value: Embedding, i: int | None, offset: int) -> Origin:
    if i is None:
        return _elsewhere(step, matched, value, None) or BUFFER
    row = step.rows[i]
    own = _own_hook(matched, value, i, offset)
    position = None if own is None else Origin("preprocess", row.request, row.computed + own)
    mtp = Origin("mtp", row.request) if any(call.row.returned == value for call in matched.mtp(i)) else None
    if takes_mtp(row):
        return mtp or position or _elsewhere(step, matched, value, i) or BUFFER
    return position or mtp or _elsewhere(step, matched, value, i) or BUFFER


def _own_hook(matched: Match, value: Embedding, i: int, offset: int) -> int | None:
    """The offset at which the row's own hook returned this value, the expected one first.

    A row that the model filled itself counts as returned.
    """
    wrote = matched.filled[i]
    returned = [found.row.embeds for found in matched.hooks[i]] + ([wrote.embeds] if wrote else [])
    if any(offset < len(embeds) and embeds[offset] == value for embeds in returned):
        return offset
    return next((embeds.index(value) for embeds in returned if value in embeds), None)


def _elsewhere(step: Step, matched: Match, value: Embedding, i: int | None) -> Origin | None:
    """The MTP row or the hook row of another request, or of none, that returned this value."""
    for call in sorted(matched.calls, key=lambda call: call.row.padding):
        if call.row.returned == value:
            return Origin("mtp", None if call.owner is None else step.rows[call.owner].request)
    for other, found in enumerate(matched.hooks):
        if other != i and any(value in each.row.embeds for each in found):
            return Origin("preprocess", step.rows[other].request)
    for stray in matched.strays:
        if value in stray.row.embeds:
            return Origin("preprocess", stray.row.request or "no row")
    return None
