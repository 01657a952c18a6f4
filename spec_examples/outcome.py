"""How one row was treated, read off a trace: which flag arrived, which hook ran, what reached ``forward``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spec_examples.contract.origins import Origin, describe
from spec_examples.trace import IS_PREFILL, PHASE_KEYS, Step, Trace


@dataclass(frozen=True)
class Outcome:
    """One row of one step, as observed.

    ``phase`` is the flag that arrived (``None`` where none did), ``hook`` the per-row hook that ran, ``mtp`` whether
    every embedding of the row that reached ``forward`` came from MTP, ``embedding`` what reached ``forward``:
    ``preprocess``, ``mtp``, ``buffer`` (nothing was written), ``other`` (another request's), or ``mixed``. ``fields``
    are the phase keys that arrived; ``codes`` those stored for the request after the step.
    """

    request: str
    prompt_len: int
    computed: int
    span: int
    phase: str | None
    hook: str | None
    mtp: bool
    embedding: str
    fields: Mapping[str, bool | int | float | str | None] = field(default_factory=dict)
    codes: tuple[int, ...] = ()

    def __str__(self) -> str:
        row = f"{self.request} ({self.prompt_len}, {self.computed}, {self.span})"
        phase = self.phase or "no flag"
        return f"{row}: {phase}, {self.hook or 'no hook'}, {self.embedding} embedding reached forward"


def outcomes(step: Step, origins: Sequence[Origin] | None = None) -> tuple[Outcome, ...]:
    """Every row of a step, in the order of the input batch. ``origins`` are those of ``forward``, if they are known."""
    origins = describe(step) if origins is None else origins
    result = []
    for row in step.rows:
        found = step.hook_of(row.request)
        fields = {k: found[1].fields[k].value for k in PHASE_KEYS if k in found[1].fields} if found else {}
        flag = fields.get(IS_PREFILL)
        kinds = {
            ("other" if o.request != row.request else o.kind) if o.kind in ("preprocess", "mtp") else "buffer"
            for o in origins[row.start : row.start + row.span]
        }
        embedding = kinds.pop() if len(kinds) == 1 else "mixed" if kinds else "nothing"
        result.append(
            Outcome(
                request=row.request,
                prompt_len=row.prompt_len,
                computed=row.computed,
                span=row.span,
                phase=None if flag is None else "prefill" if flag else "decode",
                hook=found[0].hook if found else None,
                mtp=embedding == "mtp",
                embedding=embedding,
                fields=fields,
                codes=step.codes.get(row.request, ()),
            )
        )
    return tuple(result)


def rows(trace: Trace) -> tuple[Outcome, ...]:
    """Every row of every step, in order."""
    return tuple(outcome for step in trace.steps for outcome in outcomes(step))
