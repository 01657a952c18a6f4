"""A session in which one target has a defect; every other target is as it is."""

from __future__ import annotations

from spec_examples.scenario import Scenario
from spec_examples.targets import Session, Target
from spec_examples.targets.client import Worker
from spec_examples.trace import Environment, Trace

Traces = dict[tuple[Target, str], Trace]
"""Traces by target and scenario digest."""


class DefectSession(Session):
    """Lends the workers of ``session``, and asks them for ``target`` with the defect called ``mutant``.

    A scenario that several examples share is run once. ``others`` are the traces of the targets without the defect:
    no defect changes them, so sessions may share them.
    """

    def __init__(self, session: Session, target: Target, mutant: str, others: Traces) -> None:
        super().__init__(live=session.live, say=session.say, bounds=session.bounds, python=session.python)
        self.target, self.mutant = target, mutant
        self._lender = session
        self._others = others
        self._own: Traces = {}

    @property
    def broken(self) -> tuple[Trace, ...]:
        """The traces that were made with the defect, in the order in which they were made."""
        return tuple(self._own.values())

    def environment(self, target: Target) -> Environment:
        """What runs there. Raises ``TargetUnavailable``."""
        return self._lender.environment(target)

    def run(self, scenario: Scenario, target: Target | None = None, mutant: str = "") -> Trace:
        """The trace of ``scenario`` on ``target``; raises as ``Session.run`` does."""
        target = target or Target()
        broken = target == self.target
        kept = self._own if broken else self._others
        key = target, scenario.digest
        if key not in kept:
            kept[key] = self._lender.run(scenario, target, self.mutant if broken else mutant)
        return kept[key]

    def _worker(self, target: Target) -> Worker:
        return self._lender._worker(target)
