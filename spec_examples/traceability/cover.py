"""What stands behind each clause, and what is wrong where something does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spec_examples.contract import pair
from spec_examples.contract.clauses import CLAUSES, MODEL_CLAUSES, Clause
from spec_examples.contract.judge import JUDGES
from spec_examples.markdown import Example, Page, read
from spec_examples.mutants import record as catches
from spec_examples.mutants.catalogue import MUTANTS
from spec_examples.mutants.checked import invalid
from spec_examples.mutants.record import CatchRecord
from spec_examples.traceability.named import NamedTest, named_tests
from spec_examples.traceability.sentences import Paragraph, paragraphs

JUDGED = frozenset({*JUDGES, pair.CLAUSE})
"""The clauses that a module judges: from one trace, or from two."""

CONTRACT = "docs/contract/"


@dataclass(frozen=True)
class Evidence:
    """All that is read. ``pages`` are those of the contract, ``judged`` the clauses that have a judge."""

    pages: tuple[Page, ...]
    tests: tuple[NamedTest, ...]
    records: tuple[CatchRecord, ...]
    clauses: Mapping[str, Clause]
    judged: frozenset[str]


@dataclass(frozen=True)
class Cover:
    """What stands behind one clause. ``sentence`` is its paragraph, as Markdown.

    ``line`` is where that begins, or 1. ``defects`` are those that its judge names.
    """

    clause: Clause
    sentence: str
    line: int
    examples: tuple[Example, ...]
    tests: tuple[NamedTest, ...]
    defects: tuple[str, ...]


@dataclass(frozen=True)
class Wrong:
    """One thing that is missing, and where."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def evidence(root: Path) -> Evidence:
    """What a clone has. Raises ``PageError`` and ``ValueError`` where a page or a record cannot be read."""
    pages = tuple(read(path) for path in sorted((root / CONTRACT).glob("*.md")))
    return Evidence(pages, named_tests(root), tuple(catches.read_all()), {**CLAUSES, **MODEL_CLAUSES}, JUDGED)


def covers(found: Evidence) -> tuple[Cover, ...]:
    """One for each clause, in their order."""
    stated = {each.states: each for page in found.pages for each in paragraphs(page) if each.states}
    examples = [each for page in found.pages for each in page.examples if not each.exempt]
    return tuple(_cover(clause, stated.get(clause.id), examples, found) for clause in found.clauses.values())


def _cover(clause: Clause, stated: Paragraph | None, examples: Iterable[Example], found: Evidence) -> Cover:
    return Cover(
        clause,
        stated.text if stated else "",
        stated.line if stated else 1,
        tuple(each for each in examples if clause.id in each.clauses),
        tuple(test for test in found.tests if clause.id in test.clauses),
        tuple(
            caught.name
            for record in found.records
            for caught in record.caught.values()
            if caught.state == "caught" and clause.id in caught.judged and caught.name in MUTANTS
        ),
    )


def wrong(found: Evidence) -> list[Wrong]:
    """Every clause without cover, every sentence without a clause, and every catch that is no longer one."""
    return [
        *(each for cover in covers(found) for each in _uncovered(cover, found)),
        *_unknown(found),
        *_unbound(found.pages),
        *(Wrong(record.shown, *each) for record in found.records for each in invalid(record)),
        *gone(found.records, found.pages),
    ]


def _uncovered(cover: Cover, found: Evidence) -> Iterator[Wrong]:
    clause = cover.clause
    missing = []
    if not cover.sentence:
        missing.append("no sentence on its page")
    if not cover.examples:
        missing.append("no example that is run")
    if clause.kind == "promise":
        if clause.id not in found.judged:
            missing.append("no judge")
        if not cover.tests:
            missing.append("no test that names it")
        if not cover.defects:
            missing.append("no known defect that its judge catches")
    for each in missing:
        yield Wrong(clause.page, cover.line, f"{clause.id}, a {clause.kind}, has {each}")


def _unknown(found: Evidence) -> Iterator[Wrong]:
    """What names a clause that no page states."""
    for page in found.pages:
        for name, line in page.clauses.items():
            if name not in found.clauses:
                yield Wrong(CONTRACT + page.path.name, line, f"{name} is stated here, and is no clause of the contract")
    promises = {each.id for each in found.clauses.values() if each.kind == "promise"}
    for name in sorted(found.judged - promises):
        yield Wrong("spec_examples/contract/judge.py", 1, f"{name} is judged, and is no promise of a page")
    for test in found.tests:
        for name in test.clauses:
            if name not in found.clauses:
                yield Wrong(test.path, test.line, f"{test.name} names {name}, which is no clause of the contract")


def _unbound(pages: Iterable[Page]) -> Iterator[Wrong]:
    for page in pages:
        for each in paragraphs(page):
            if each.binds and not each.is_covered:
                right = "state it as a clause, link the clause that says it, or say it in other words"
                yield Wrong(each.page, each.line, f"no clause stands behind {each.binds!r}: {right}")


def gone(records: Iterable[CatchRecord], pages: Iterable[Page]) -> Iterator[Wrong]:
    """Examples to which the defects were put and that are gone or other now, with what nothing else caught."""
    now = catches.keys(pages).keys()
    for record in records:
        for key in record.examples.keys() - now:
            by = {name: caught.by for name, caught in record.valid.items() if key in caught.by}
            alone = [name for name, keys in by.items() if not now & set(keys)]
            lost = f"of the {len(by)} defects that it caught, nothing else caught {', '.join(alone)}" if alone else ""
            said = f"{record.examples[key]} was put to the defects, and is gone or was edited; "
            yield Wrong(
                record.shown, record.line(alone[0]) if alone else 1, f"{said}{lost and lost + '; '}{record.again}"
            )
