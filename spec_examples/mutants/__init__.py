"""The known ways to break the contract: small edits of a runner's own source, and which examples catch each.

A defect is put in by syntax tree, in memory, in the process that has imported the runner, for the time of one run.
"""

from spec_examples.mutants.catalogue import MUTANTS, mutants_of
from spec_examples.mutants.mutant import Edit, EditDoesNotApply, Mutant

__all__ = ["MUTANTS", "Edit", "EditDoesNotApply", "Mutant", "mutants_of"]
