"""Every known defect, by name."""

from __future__ import annotations

from spec_examples.mutants.model_runner_v2 import MODEL_RUNNER_V2
from spec_examples.mutants.mutant import Mutant
from spec_examples.mutants.shared_runner import SHARED_RUNNER
from spec_examples.mutants.state import STATE
from spec_examples.targets.target import WHOLE_V2

MUTANTS: dict[str, Mutant] = {mutant.name: mutant for mutant in (*SHARED_RUNNER, *STATE, *MODEL_RUNNER_V2)}


def mutants_of(runner: str) -> tuple[Mutant, ...]:
    """The defects of the runner called ``runner``: V2's for ``v2``, step and whole; for others the shared runner's."""
    kind = "v2" if runner in ("v2", WHOLE_V2) else "shared"
    return tuple(mutant for mutant in MUTANTS.values() if mutant.kind == kind)
