"""One module a format: a function from the report of a check to text."""

from __future__ import annotations

from collections.abc import Callable

from spec_examples.gate.check import CheckReport
from spec_examples.gate.formats import github, junit, markdown, sarif
from spec_examples.gate.report import check_json, check_text

FORMATS: dict[str, Callable[[CheckReport], str]] = {
    "text": check_text,
    "json": check_json,
    "junit": junit.render,
    "github": github.render,
    "sarif": sarif.render,
    "markdown": markdown.render,
}
"""What ``--format`` of ``check`` may be."""
