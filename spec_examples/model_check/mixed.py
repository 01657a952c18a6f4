"""Runs in which several things happen at once: the gallery's stories, and the schedules of ``drawn``.

They are for models that keep every promise in the runs of ``judges``. A row that differs then is put down to the
promise that its own shape speaks of.
"""

from __future__ import annotations

from spec_examples.model_check.asking import Asking
from spec_examples.model_check.judges import Looked, prompt_differs
from spec_examples.model_check.seen import Seen, differs, seen
from spec_examples.model_check.subject import View
from spec_examples.scenario import Scenario
from spec_examples.stories import STORIES


def plain_stories() -> tuple[Scenario, ...]:
    """Those of plain requests: a prompt that grows, is shared or has no ids has no reference alone."""
    return tuple(story.scenario for story in STORIES if _is_plain(story.scenario))


def _is_plain(scenario: Scenario) -> bool:
    ahead = scenario.limits.async_scheduling or scenario.limits.speculative_tokens
    odd = any(r.grows or r.same_as or r.embeds or r.cycle for r in scenario.requests)
    return bool(scenario.requests) and not (ahead or odd or scenario.planted)


def first_difference(ask: Asking, scenario: Scenario) -> tuple[str, Looked] | None:
    """The promise that a run breaks first, and how."""
    trace = ask.trace(scenario, View())
    wholes = {(request.id, request.prompt_len): ask.alone(request) for request in scenario.requests}
    for row in seen(trace):
        whole = wholes[row.row.request, row.row.prompt_len]
        wrong, other = "", whole.decode.get(row.row.computed)
        if row.raised:
            wrong = f"{row} raised {row.raised}"
        elif row.is_prefill:
            wrong = prompt_differs(row, whole, "when it is alone and uncut")
        elif row.is_decode_step and other is not None and (difference := differs(row, other, trace.mtp)):
            wrong = f"{row}: {difference} from the same step when it is alone and uncut"
        if wrong:
            return _promise(row), Looked(scenario, wrong)
    if trace.error:
        return "MODEL-9", Looked(scenario, f"step {len(trace.steps)} raised {trace.error}")
    return None


def _promise(row: Seen) -> str:
    if row.hook == "preprocess_decode_batch":
        return "MODEL-4"
    if row.resumed:
        return "MODEL-5" if row.replayed and not row.is_prefill else "MODEL-6"
    if row.is_prefill:
        return "MODEL-2" if row.row.span == 1 else "MODEL-1"
    return "MODEL-7" if row.beside > 1 else "MODEL-3"
