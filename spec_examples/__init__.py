"""The executable side of the prefill/decode phase contract: what pages import, and what the gate runs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spec_examples.outcome import Outcome, outcomes, rows
    from spec_examples.probing import Probe, probe, producer
    from spec_examples.running import RunnerRaised, run, settings
    from spec_examples.scenario import InvalidScenario, Limits, Request, Row, Scenario, Source
    from spec_examples.trace import Trace

__all__ = [
    "InvalidScenario",
    "Limits",
    "Outcome",
    "Probe",
    "Request",
    "Row",
    "RunnerRaised",
    "Scenario",
    "Source",
    "Trace",
    "outcomes",
    "probe",
    "producer",
    "rows",
    "run",
    "settings",
]

_MODULES = ("outcome", "probing", "running", "scenario", "trace")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: ``--help`` and a runner's process use none."""
    if name in __all__:
        for module in map(import_module, (f"{__name__}.{module}" for module in _MODULES)):
            globals().update((public, vars(module)[public]) for public in __all__ if public in vars(module))
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
