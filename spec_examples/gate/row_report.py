"""Put what ran and how one row was routed into words: lines for a person, one JSON object for a machine."""

from __future__ import annotations

import json

from spec_examples.outcome import Outcome
from spec_examples.trace import Environment


def target_json(environment: Environment) -> dict[str, str]:
    """What ran, under the names of the JSON reports."""
    return {
        "vllm_omni": environment.vllm_omni,
        "vllm": environment.vllm,
        "runner": environment.runner,
        "torch": environment.torch,
        "python": environment.python,
    }


def row_json(outcome: Outcome, environment: Environment) -> str:
    """One row's outcome."""
    report = {
        "target": target_json(environment),
        "phase": outcome.phase,
        "hook": outcome.hook,
        "mtp": outcome.mtp,
        "embedding": outcome.embedding,
        "fields": dict(outcome.fields),
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def row_text(outcome: Outcome) -> str:
    """One row's outcome, a line for each thing observed."""
    mtp = "yes" if outcome.mtp else "no MTP"
    reached = {
        "mtp": "the MTP embedding",
        "preprocess": "the embedding that the hook returned",
        "buffer": "what the runner's buffer held",
        "other": "another request's embedding",
    }.get(outcome.embedding, outcome.embedding)
    fields = ", ".join(f"{key}={value}" for key, value in outcome.fields.items()) or "none arrived"
    lines = [
        f"row      prompt {outcome.prompt_len}, computed {outcome.computed}, span {outcome.span}",
        f"phase    {outcome.phase or 'no flag arrived'}",
        f"hook     {outcome.hook or 'none'}",
        f"MTP      {mtp}",
        f"forward  {reached} reached forward",
        f"fields   {fields}",
    ]
    return "\n".join(lines) + "\n"
