"""What a model promises to the runner: identifiers and short names. The texts stand on ``docs/contract/models.md``."""

from __future__ import annotations

from spec_examples.contract.clauses import MODEL_CLAUSES

MODEL_PROMISES: dict[str, str] = {clause.id: clause.name for clause in MODEL_CLAUSES.values()}
"""In the order of their numbers."""
