"""Small models, a few lines each: one hook, and what lint says of it."""

from __future__ import annotations

import textwrap

from spec_examples.lint import Finding, lint_source, parse

HOOK = "def preprocess(self, input_ids, input_embeds, **info):\n"


def hook(body: str, *helpers: str, before: str = "") -> str:
    """A module with one model whose scalar hook has this body, and these methods beside it."""
    method = HOOK + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    methods = "\n\n".join([method, *(textwrap.dedent(helper).strip("\n") for helper in helpers)])
    module = f"{textwrap.dedent(before).strip()}\n\n\n" if before else ""
    return f"{module}class Talker:\n{textwrap.indent(methods, '    ')}\n"


def findings(source: str) -> tuple[Finding, ...]:
    """What lint says of a source."""
    return lint_source(parse("model.py", source)).findings


def rules(source: str) -> list[str]:
    """The rules that hit, in the order of the source."""
    return [finding.rule for finding in findings(source)]


def hits(source: str) -> list[tuple[str, str]]:
    """The rules that hit, each with the text that it points at."""
    lines = source.splitlines()
    places = [(finding.rule, finding.place) for finding in findings(source)]
    return [(rule, lines[place.line - 1][place.column - 1 : place.end_column - 1]) for rule, place in places]
