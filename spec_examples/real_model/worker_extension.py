"""The probe in the worker process of a real engine: vLLM mixes this class into the worker of a stage that names it.

The engine calls it by name: ``collective_rpc("start_probe", stage_ids=[0])``, and ``read_probe`` at the end.
"""

from __future__ import annotations

from typing import Any

NAME = f"{__name__}.ProbeExtension"
"""What ``worker_extension_cls`` is set to."""


class ProbeExtension:
    """Mixed into a worker: its ``model_runner`` is what is probed."""

    model_runner: Any

    def start_probe(self) -> None:
        """Record every step from now on; call it before the first request."""
        from spec_examples.real_model.probe import Probe

        self._probe = Probe(self.model_runner)

    def read_probe(self) -> str:
        """What was recorded, as the JSON of a ``Run``."""
        return self._probe.run().to_json()
