"""What a page would say if its expected cells and outputs were what was observed, and how that is written."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from spec_examples.execution.blocks import OUTPUT
from spec_examples.execution.claims import is_claim
from spec_examples.execution.page import PageExecution
from spec_examples.execution.result import Result
from spec_examples.execution.tables import word_of
from spec_examples.markdown import Example, Page, PageError, read, rewriting
from spec_examples.markdown.rewriting import CannotRewrite, Edit
from spec_examples.targets import Session, Target
from spec_examples.whole_files import write_whole


class PageChanged(ValueError):
    """Somebody else wrote the page meanwhile; the message says so."""


@dataclass(frozen=True)
class Change:
    """One cell or block that would be written anew. ``said`` says what; ``clauses`` are those of its section."""

    example: Example
    edit: Edit
    said: str

    def __str__(self) -> str:
        states = f" (an example of {', '.join(self.example.clauses)})" if self.example.clauses else ""
        return f"{self.example.page}:{self.edit.line}: {self.said}{states}"


@dataclass
class PageUpdate:
    """One page: what would change, and what is red and would stay so."""

    path: Path
    before: str = ""
    changes: list[Change] = field(default_factory=list)
    left: list[Result] = field(default_factory=list)

    @property
    def after(self) -> str:
        """The page with all changes."""
        return rewriting.applied(self.before, [change.edit for change in self.changes])

    def diff(self, name: str) -> str:
        """A unified diff that ``patch`` takes, empty where nothing changes."""
        lines = (self.before.splitlines(keepends=True), self.after.splitlines(keepends=True))
        return "".join(_whole_lines(difflib.unified_diff(*lines, f"a/{name}", f"b/{name}", n=2)))

    def write(self) -> None:
        """Write the page, whole or not at all. Raises ``PageChanged``, and ``OSError`` where it cannot be written."""
        if not self.changes:
            return
        path = self.path.resolve()  # what a link points to is written, and the link stays
        if path.read_bytes() != self.before.encode():
            raise PageChanged(f"{self.path}: it was changed meanwhile, so nothing was written; run this again")
        write_whole(path, self.after, mode=path.stat().st_mode)


def _whole_lines(diff: Iterable[str]) -> Iterator[str]:
    for line in diff:
        yield line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n"


def update(
    paths: Iterable[Path], session: Session, target: Target, began: Callable[[Path], None] = lambda _: None
) -> list[PageUpdate]:
    """What would change on each page. Raises ``TargetUnavailable``."""
    session.start([target])
    session.environment(target)
    updates = []
    for path in paths:
        began(path)
        try:
            updates.append(of_page(read(path), session, target))
        except PageError as error:
            wrong = Result(f"{error.path}:{error.line}", "block", error.path.as_posix(), error.line, (), "error")
            updates.append(PageUpdate(path, left=[replace(wrong, message=error.message, column=error.column)]))
    return updates


def of_page(page: Page, session: Session, target: Target) -> PageUpdate:
    """Execute a page, and change each cell and output that does not say what was observed.

    An example in which the runner breaks a clause is left: the contract is not rewritten to what a runner does. So is
    what no cell can say, and every assertion: these are a person's business.
    """
    done = PageUpdate(page.path, page.text)
    with PageExecution(page, session, target) as execution:
        for example in page.examples:
            result = execution.evaluate(example)
            if result.outcome in ("passed", "exempt", "diverges"):
                continue
            if example.kind == "admonition" and page.children(example) and not is_claim(page, example.line):
                continue  # it is red for what is inside, which speaks for itself
            try:
                done.changes += changes_of(page, execution, example, result)
            except CannotRewrite as error:
                done.left.append(replace(result, message=f"{result.message}; not rewritten: {error}"))
    if done.changes:
        try:
            read(page.path, done.after)
        except PageError as error:
            wrong = f"not rewritten, since the page could not be read then: {error.message}"
            first = done.changes[0].example
            done.left.append(Result(first.id, first.kind, first.page, error.line, (), "error", wrong))
            done.changes = []
    return done


def changes_of(page: Page, execution: PageExecution, example: Example, result: Result) -> list[Change]:
    """What has to be written for an example with that result to hold. Raises ``CannotRewrite``."""
    rewrite = result.rewrite
    if rewrite is None:
        raise CannotRewrite(
            "the runner breaks a clause here" if result.detail and result.clauses else "it is no cell and no output"
        )
    if example.kind == "row":
        return _row(page, execution, example, result)
    if rewrite.added:
        return [
            Change(example, rewriting.output_after(page, example, OUTPUT, rewrite.text), "an output that is missing")
        ]
    said = "what the block before prints" if example.title == OUTPUT else "what the command prints"
    return [Change(example, rewriting.block(page, example, rewrite.text), said)]


def _row(page: Page, execution: PageExecution, row: Example, result: Result) -> list[Change]:
    """Ask a row again with each word that was observed, until it holds. Raises ``CannotRewrite`` where none will do."""
    words: dict[int, str] = {}
    settled: set[int] = set()
    current = row
    while result.outcome != "passed":
        rewrite = result.rewrite
        if rewrite is None or rewrite.column is None or rewrite.column in settled:
            raise CannotRewrite(
                f"no word in this row would do ({result.message})" if words else "the runner breaks a clause here"
            )
        if not rewrite.guessed:
            settled.add(rewrite.column)
        elif rewrite.column in words:
            raise CannotRewrite(f"a cell cannot say {words[rewrite.column]!r}")
        words[rewrite.column] = rewrite.text
        cells = list(current.cells)
        cells[rewrite.column] = rewrite.text
        current = replace(current, cells=tuple(cells))
        result = execution.attempt(current, lambda current=current: execution.execute(current))  # type: ignore[misc]
    changes = []
    for column, word in words.items():
        old = word_of(row.cells[column])
        if word == old:
            continue
        reason = row.cells[column][len(old) :].strip()
        said = f"cell {row.header[column]!r}: {old or 'nothing'} becomes {word}"
        said += f"; the reason {reason} stays, see whether it still is one" if reason else ""
        changes.append(Change(row, rewriting.cell(page, row, column, old, word), said))
    return changes
