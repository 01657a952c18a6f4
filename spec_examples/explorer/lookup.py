"""One recorded answer, for a page or a test."""

from __future__ import annotations

from spec_examples.explorer import table
from spec_examples.explorer.grid import Company, Hook, Question, questions
from spec_examples.explorer.table import Answer


def recorded(
    prompt_len: int,
    computed: int,
    span: int,
    *,
    on: str,
    runner: str = "ar",
    hook: Hook = "scalar",
    mtp: bool = True,
    company: Company = "alone",
) -> Answer:
    """What the release ``on`` made of a row. Raises ``KeyError`` where the grid or the table does not have it."""
    question = Question(hook, mtp, company, prompt_len, computed, span)
    for target in table.read():
        if (target.vllm_omni, target.runner) == (on, runner):
            return dict(zip(questions(), target.answers, strict=True))[question]
    raise KeyError(f"no answers of {on}, runner {runner}")
