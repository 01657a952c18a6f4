"""Pages as tests: each example of a page is one item of pytest, named by its clause and its place among those."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spec_examples.execution.blocks import OUTPUT
from spec_examples.execution.page import PageExecution
from spec_examples.execution.result import Result
from spec_examples.markdown import Example, Page, PageError, read
from spec_examples.targets import Session, Target, resolve

_session: Session | None = None


def shared_session() -> Session:
    """One session a test run, so that the runner is imported once."""
    global _session
    if _session is None:
        _session = Session(forking=True, once=True)
    return _session


def end_session() -> None:
    """End the runner's process."""
    if _session is not None:
        _session.close()


class DoesNotHold(Exception):
    """What came of an example that is red; shown without a traceback."""


class PageFile(pytest.File):
    """One page. Its examples share a process and what came of those before, whichever of them are run."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._page: Page | None = None
        self._execution: PageExecution | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """One item an example; one for the whole page where that cannot be read."""
        try:
            self._page = read(self.path)
        except PageError as error:
            yield UnreadablePage.from_parent(self, name="page", error=error)
            return
        for name, example in zip(names(self._page.examples), self._page.examples, strict=True):
            yield ExampleItem.from_parent(self, name=name, example=example)

    def evaluate(self, example: Example) -> Result:
        """The result of an example; what it needs of the page is executed before it."""
        if self._execution is None:
            assert self._page is not None
            self._execution = PageExecution(self._page, shared_session(), _target(self.config))
        return self._execution.evaluate(example)

    def teardown(self) -> None:
        """End the page's process, and let its talkers reach no other page."""
        if self._execution is not None:
            self._execution.interpreter.close()
            self._execution = None
            shared_session().renew()


def names(examples: tuple[Example, ...]) -> Iterator[str]:
    """Such as ``ROUTE-3-row-2``: the first clause of the section, the kind, and the place among those of the page.

    A name stays when the page changes elsewhere, so that a failure is found again after an edit.
    """
    seen: Counter[str] = Counter()
    for example in examples:
        kind = "output" if example.title == OUTPUT else example.kind
        start = f"{example.clauses[0] if example.clauses else 'page'}-{kind}"
        seen[start] += 1
        yield f"{start}-{seen[start]}"


def _target(config: pytest.Config) -> Target:
    given = vars(config.option)
    return resolve(given.get("phase_contract_vllm_omni", "installed"), given.get("phase_contract_runner", "ar"))


class ExampleItem(pytest.Item):
    """One example. ``-k`` also takes a clause of its section, a block's language or title, and ``line:120``."""

    def __init__(self, *, example: Example, **given: Any) -> None:
        super().__init__(**given)
        self.example = example
        self.add_marker("phase_contract")
        words = (*example.clauses, example.language, example.title, f"line:{example.line}")
        self.extra_keyword_matches.update(filter(None, words))

    def runtest(self) -> None:
        """Passes, fails, is skipped where the page exempts it, and is expected to fail where it is known to."""
        assert isinstance(self.parent, PageFile)
        result = self.parent.evaluate(self.example)
        if result.outcome == "exempt":
            pytest.skip(result.message)
        if result.outcome == "diverges":
            pytest.xfail(f"{' '.join(result.clauses)}: a known divergence")
        if result.outcome != "passed":
            raise DoesNotHold(str(result))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The place, the clauses and what was observed, as ``phase-contract check`` prints them."""
        if isinstance(excinfo.value, DoesNotHold):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """Where it stands; pytest counts lines from 0."""
        return self.path, self.example.line - 1, f"{self.path.name}:{self.example.line} {self.name}"


class UnreadablePage(pytest.Item):
    """A page that cannot be read as examples."""

    def __init__(self, *, error: PageError, **given: Any) -> None:
        super().__init__(**given)
        self._error = error

    def runtest(self) -> None:
        """Fails with the one line that says what is wrong."""
        raise DoesNotHold(str(self._error))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """That line."""
        return str(excinfo.value)


def collector(folder: Path) -> Callable[..., pytest.Collector | None]:
    """A ``pytest_collect_file`` for the pages below ``folder``, where the plugin was not asked for them."""

    def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if vars(parent.config.option).get("phase_contract") or file_path.suffix != ".md":
            return None
        page: Any = PageFile.from_parent(parent, path=file_path) if file_path.is_relative_to(folder) else None
        return page

    return pytest_collect_file


def pytest_sessionfinish() -> None:
    """End the runner's process."""
    end_session()
