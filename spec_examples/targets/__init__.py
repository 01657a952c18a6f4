"""Naming, finding and running a runner under test.

``Target`` names one; ``resolve`` turns what a person typed into one; ``Session`` runs scenarios on any number of them.
Nothing here imports vLLM: every target is a process of its own.
"""

from spec_examples.targets.errors import TargetBroken, TargetError, TargetFailed, TargetUnavailable
from spec_examples.targets.session import Session
from spec_examples.targets.target import Target, resolve

__all__ = ["Session", "Target", "TargetBroken", "TargetError", "TargetFailed", "TargetUnavailable", "resolve"]
