"""The clauses of the contract: identifier, kind, page, and a short name.

The text of a clause lives on its page and nowhere else; everything that lists clauses reads them from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["promise", "statement", "non-promise", "model's promise"]

_PAGES = {
    "FIELD": "docs/contract/fields.md",
    "HOOK": "docs/contract/hooks.md",
    "STATE": "docs/contract/hooks.md",
    "ROUTE": "docs/contract/routing.md",
    "OWN": "docs/contract/scope.md",
    "COMPAT": "docs/contract/compatibility.md",
    "MODEL": "docs/contract/models.md",
    "EVOL": "docs/contract/evolution.md",
    "SCOPE": "docs/contract/scope.md",
}


@dataclass(frozen=True)
class Clause:
    """One clause. ``id`` is stable; ``name`` a few words for a report's column; ``page`` where its text stands."""

    id: str
    kind: Kind
    name: str

    @property
    def page(self) -> str:
        """The page, as a path from the repository's root."""
        return _PAGES[self.id.split("-")[0]]

    @property
    def anchor(self) -> str:
        """The page's path with the clause's anchor: ``docs/contract/fields.md#FIELD-1``."""
        return f"{self.page}#{self.id}"


CLAUSES: dict[str, Clause] = {
    clause.id: clause
    for clause in (
        Clause("FIELD-1", "promise", "prompt length"),
        Clause("FIELD-2", "promise", "progress before the span"),
        Clause("FIELD-3", "promise", "prefill flag"),
        Clause("FIELD-4", "promise", "refreshed every step"),
        Clause("FIELD-5", "promise", "order of the input batch"),
        Clause("FIELD-6", "promise", "nothing latched"),
        Clause("FIELD-7", "promise", "overwriting has no effect"),
        Clause("HOOK-1", "promise", "keywords of preprocess"),
        Clause("HOOK-2", "promise", "entries of the batched hook"),
        Clause("HOOK-3", "non-promise", "nothing fresh at preprocess_batch"),
        Clause("STATE-1", "promise", "state comes back"),
        Clause("STATE-2", "promise", "no other request's state"),
        Clause("ROUTE-1", "promise", "which hook a row reaches"),
        Clause("ROUTE-2", "promise", "MTP for single-token decode only"),
        Clause("ROUTE-3", "promise", "prefill keeps its embedding"),
        Clause("ROUTE-4", "promise", "decode gets its own MTP result"),
        Clause("ROUTE-5", "promise", "no MTP for longer decode spans"),
        Clause("ROUTE-6", "promise", "scalar and batched hook agree"),
        Clause("ROUTE-7", "statement", "a model's own work"),
        Clause("ROUTE-8", "promise", "token ids that a hook returns"),
        Clause("OWN-1", "statement", "the producer"),
        Clause("OWN-2", "statement", "plugin runners"),
        Clause("COMPAT-1", "statement", "first release with both"),
        Clause("COMPAT-2", "statement", "chunked prefill off before"),
        Clause("COMPAT-3", "statement", "no heuristic saves the tail"),
        Clause("COMPAT-4", "statement", "probed, not looked up"),
        Clause("EVOL-1", "statement", "changes need a migration path"),
        Clause("SCOPE-1", "non-promise", "other _omni_* values"),
        Clause("SCOPE-2", "non-promise", "chunked prefill and scheduling"),
    )
}
"""Every clause by its identifier, in the order of the pages."""

PROMISES: tuple[str, ...] = tuple(clause.id for clause in CLAUSES.values() if clause.kind == "promise")
"""The clauses that have a judge: all but ROUTE-6 from one trace, ROUTE-6 from two."""

MODEL_CLAUSES: dict[str, Clause] = {
    clause.id: clause
    for clause in (
        Clause("MODEL-1", "model's promise", "the same prompt, however it is cut"),
        Clause("MODEL-2", "model's promise", "one token of a prompt is prompt"),
        Clause("MODEL-3", "model's promise", "prefill does not advance decode state"),
        Clause("MODEL-4", "model's promise", "scalar and batched hook agree"),
        Clause("MODEL-5", "model's promise", "a long decode span is no prompt"),
        Clause("MODEL-6", "model's promise", "a resumed prompt comes from progress"),
        Clause("MODEL-7", "model's promise", "no request shows in another"),
        Clause("MODEL-8", "model's promise", "the runner's values are read only"),
        Clause("MODEL-9", "model's promise", "the form of results; no guess without fields"),
    )
}
"""What a model promises to the runner. Judged by ``spec_examples.model_check``, of models and not of runners."""
