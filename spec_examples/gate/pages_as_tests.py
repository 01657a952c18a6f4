"""Sybil's integration with pytest: each example of a page is one test, with the page's line in its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sybil import Sybil

from spec_examples.execution.page import PageExecution
from spec_examples.markdown import read
from spec_examples.markdown.sybil_parser import PageDocument, examples_parser
from spec_examples.targets import Session, resolve

_session: Session | None = None


def shared_session() -> Session:
    """One session a test run, so that the runner is imported once."""
    global _session
    if _session is None:
        _session = Session()
    return _session


@cache
def _execution(path: str) -> PageExecution:
    return PageExecution(read(Path(path)), shared_session(), resolve())


def _evaluate(example: Any) -> str | None:
    """What Sybil shows where an example does not hold; nothing where it does."""
    result = _execution(example.path).evaluate(example.parsed)
    return str(result) if result.outcome in ("failed", "error") else None


def collector(folder: Path) -> Callable[..., Any]:
    """A ``pytest_collect_file`` for the pages below ``folder``."""
    return Sybil(
        parsers=[examples_parser(_evaluate)],
        pattern="*.md",
        path=str(folder),
        document_types={".md": PageDocument},
    ).pytest()


def pytest_sessionfinish() -> None:
    """End the runner's process."""
    if _session is not None:
        _session.close()
