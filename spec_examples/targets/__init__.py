"""Naming, finding and running a runner under test.

``Target`` names one; ``resolve`` turns what a person typed into one; ``Session`` runs scenarios on any number of them.
Nothing here imports vLLM: every target is a process of its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spec_examples.targets.errors import TargetBroken, TargetError, TargetFailed, TargetUnavailable

if TYPE_CHECKING:
    from spec_examples.targets.session import Session
    from spec_examples.targets.target import Target, resolve

__all__ = ["Session", "Target", "TargetBroken", "TargetError", "TargetFailed", "TargetUnavailable", "resolve"]


def __getattr__(name: str) -> Any:
    """Import what finds and asks runners when it is first used: the process of a runner uses none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "session" if name == "Session" else "target"
    globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return globals()[name]
