"""The executable side of the prefill/decode phase contract: what pages import, and what the gate runs."""

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
