"""The stub talker under the probe: what the comparison says of a runner, without a real model. In a run's process."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from vllm import SamplingParams
from vllm.v1.request import Request as EngineRequest

from spec_examples.real_model.experiments import StubExperiment
from spec_examples.real_model.probe import Probe
from spec_examples.real_model.run import Run
from spec_examples.real_model.stepping import drive
from spec_examples.talker import BatchedTalker, ScalarTalker, token_id
from spec_examples.targets import engine
from spec_examples.trace import NUM_COMPUTED


class _ByPosition(ScalarTalker):
    """Rows as a real talker makes them: they depend on the position alone, not on how the prompt was cut."""

    def _rows(self, kind: float, input_ids: torch.Tensor, info: dict[str, Any]) -> torch.Tensor:
        rows = super()._rows(kind, input_ids, info)
        rows[:, 2] = int(info[NUM_COMPUTED]) + rows[:, 3]
        rows[:, 3] = 0
        return rows


class ScalarByPosition(_ByPosition):
    """With the per-row hook alone."""


class BatchedByPosition(_ByPosition, BatchedTalker):
    """With the batched hook as well."""


TALKERS = {"scalar": ScalarByPosition, "batched": BatchedByPosition}


@cache
def _talker(name: str, runner: str) -> type:
    """The stub under the hook names of the runner: Model Runner V2 has its own for some."""
    adapt = getattr(engine.runner_class(runner), "adapt", None)
    return adapt(TALKERS[name]) if adapt else TALKERS[name]


def run_stub(experiment: StubExperiment) -> Run:
    """The scenario's requests on the real scheduler and runner, recorded by the probe rather than by the talker."""
    limits = experiment.scenario.limits
    config = engine.build_config(_talker(str(experiment.scenario.talker), experiment.runner), limits)
    with engine.current_config(config):
        runner = engine.build_runner(experiment.runner, config, limits)
        scheduler = engine.build_scheduler(experiment.runner, config, limits)
        probe = Probe(runner)
        for slot, request in enumerate(experiment.scenario.requests):
            scheduler.add_request(
                EngineRequest(
                    request_id=request.id,
                    prompt_token_ids=[token_id(slot, position) for position in range(request.prompt_len)],
                    sampling_params=SamplingParams(max_tokens=request.max_tokens, temperature=0, ignore_eos=True),
                    pooling_params=None,
                )
            )
        drive(scheduler, runner)
    return probe.run()
