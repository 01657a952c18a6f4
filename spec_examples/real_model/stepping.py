"""The loop of an engine core: schedule, execute, sample, update. In a run's process only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

MAX_STEPS = 4096
"""A schedule that is longer than this has stopped making progress."""


def payloads(output: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What the runner hands to the next stage, by request; nothing in a step without rows."""
    requests, outputs = (getattr(output, name, None) or () for name in ("req_ids", "multimodal_outputs"))
    for request, payload in zip(requests, outputs, strict=False):
        yield str(request), payload or {}


def arrived(output: Any) -> Any:
    """The output itself, waited for where the runner gives one that is still on its way, as Model Runner V2 does."""
    return output.get_output() if hasattr(output, "get_output") else output


def drive(scheduler: Any, runner: Any, each: Callable[[Any], None] = lambda output: None) -> None:
    """Run until the scheduler has nothing left; ``each`` is called with every output of the runner.

    An empty step still reaches the runner: it carries the ids of finished and of preempted requests. A runner that
    raises ends the run; a probe has noted it.
    """
    for _ in range(MAX_STEPS):
        scheduled = scheduler.schedule()
        try:
            output = runner.execute_model(scheduled)
            if output is None:
                output = runner.sample_tokens(None)
        except Exception:
            return
        output = arrived(output)
        each(output)
        scheduler.update_from_output(scheduled, output)
        if not scheduled.total_num_scheduled_tokens and not scheduler.has_unfinished_requests():
            return
    raise RuntimeError(f"the schedule did not end within {MAX_STEPS} steps")
