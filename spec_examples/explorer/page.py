"""What the explorer's page takes in: the controls, the recorded table, and the answers to the first question.

``docs/javascripts/explorer.js`` shows the answers to any other; a test compares the two over the whole grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby

from spec_examples.explorer import grid, table
from spec_examples.explorer.grid import Question, questions
from spec_examples.explorer.table import Answer, Answers

FIRST = Question("batched", True, "between prefill and decode", 5, 4, 1)
"""What the page shows before anything is chosen: the last token of a split prompt, in a mixed step."""

CONTROLS: tuple[tuple[str, str, tuple[object, ...]], ...] = (
    ("prompt_len", "Prompt length", grid.PROMPT_LENS),
    ("computed", "Computed before the step", grid.COMPUTED),
    ("span", "Span", grid.SPANS),
    ("hook", "Hook for decode rows", grid.HOOKS),
    ("mtp", "MTP", grid.MTP),
    ("company", "In its step", grid.COMPANY),
)
"""Name, label and choices of each control."""

PRESETS = (
    ("First chunk", 5, 0, 4),
    ("Prefill tail", 5, 4, 1),
    ("One-token prompt", 1, 0, 1),
    ("Decode", 5, 5, 1),
    ("Longer decode span", 5, 6, 3),
    ("Across the boundary", 5, 3, 4),
)
"""Rows that a reader may start from: name, prompt length, computed, span."""

HEADERS = ("vLLM-Omni", "Runner", "Phase", "Hook", "MTP", "Reaches forward", "Phase fields")

RUNNERS = {"ar": "AR", "generation": "generation", "v2": "V2, preprocess step"}
EMBEDDINGS = {
    "preprocess": "the embedding that the hook returned",
    "mtp": "the MTP embedding",
    "buffer": "what the buffer held",
    "other": "another request's embedding",
    "mixed": "rows of several origins",
    "nothing": "nothing",
}
FIELDS = {"true": "all three", "wrong": "wrong values", "none": "none"}


def words(answer: Answer) -> tuple[str, ...]:
    """The cells of an answer, behind release and runner."""
    if answer.error:
        return ("raises", f"{answer.error} …", "", "", "")
    return (
        answer.phase or "no flag",
        answer.hook or "none",
        "yes" if answer.mtp else "no",
        EMBEDDINGS[answer.embedding],
        FIELDS[answer.fields],
    )


def lines(question: Question) -> Iterator[tuple[str, ...]]:
    """The rows of the table for one question: releases that follow one another and answer alike share a row."""
    at = list(questions()).index(question)
    yield from lines_at(at, table.read())


def lines_at(at: int, targets: tuple[Answers, ...]) -> Iterator[tuple[str, ...]]:
    """The same for the question of that number."""
    for (runner, answer), found in groupby(targets, key=lambda each: (each.runner, each.answers[at])):
        alike = [each.vllm_omni for each in found]
        releases = alike[0] if len(alike) == 1 else f"{alike[-1]} to {alike[0]}"
        yield (releases, RUNNERS[runner], *words(answer))


def as_html() -> str:
    """The page's part, as one block of HTML without blank lines."""
    return "\n".join(
        [
            f'<form class="explorer" id="explorer" aria-label="Phase explorer" hidden data-table="{_table()}">',
            '<p class="presets">',
            *(
                f'<button type="button" class="md-button" data-row="{p},{c},{s}">{name}</button>'
                for name, p, c, s in PRESETS
            ),
            "</p>",
            '<div class="controls">',
            *(_control(name, label, choices) for name, label, choices in CONTROLS),
            "</div>",
            "</form>",
            '<p id="explorer-without">The controls need JavaScript. Without it, the table shows one question; '
            "<code>phase-contract row</code> answers any other.</p>",
            '<p class="explorer" role="status" id="explorer-question">' + escape(in_words(FIRST)) + "</p>",
            '<div class="matrix" tabindex="0" role="region" aria-label="Answers of each release">',
            '<table class="evidence" id="explorer-answers"><thead><tr>',
            *(f'<th scope="col">{header}</th>' for header in HEADERS),
            "</tr></thead><tbody>",
            *("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines(FIRST)),
            "</tbody></table></div>",
            '<p class="explorer">Asked of the installed runner, alone in its step: '
            f'<code id="explorer-command">{escape(command(FIRST))}</code></p>',
        ]
    )


def _table() -> str:
    """The recorded table for an attribute, where no search finds it and no script runs it."""
    return escape("".join(table.FILE.read_text(encoding="utf-8").splitlines()))


def _control(name: str, label: str, choices: tuple[object, ...]) -> str:
    chosen = getattr(FIRST, name)
    options = "".join(
        f"<option{' selected' if choice == chosen else ''}>{escape(_choice(choice))}</option>" for choice in choices
    )
    return f'<label>{label} <select name="{name}">{options}</select></label>'


def _choice(choice: object) -> str:
    return {True: "yes", False: "no"}[choice] if isinstance(choice, bool) else str(choice)


def in_words(question: Question) -> str:
    """The question, for a reader."""
    return (
        f"A row of {question.span} of a prompt of {question.prompt_len}, {question.computed} computed before, "
        f"{question.company}:"
    )


def command(question: Question) -> str:
    """How to ask the installed runner the same of the row alone."""
    options = f"--prompt-len {question.prompt_len} --computed {question.computed} --span {question.span}"
    hook = f" --hook {question.hook}" if question.hook != "scalar" else ""
    return f"phase-contract row {options}{hook}{'' if question.mtp else ' --no-mtp'}"
