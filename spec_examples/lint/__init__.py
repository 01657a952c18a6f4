"""``phase-contract lint``: whether a model's source uses the contract rightly. Nothing is imported, nothing is run."""

from spec_examples.lint.finding import Finding, Place
from spec_examples.lint.linting import Report, lint_paths, lint_source
from spec_examples.lint.rules import RULES, Rule
from spec_examples.lint.source import BadSource, Source, parse

__all__ = ["RULES", "BadSource", "Finding", "Place", "Report", "Rule", "Source", "lint_paths", "lint_source", "parse"]
