"""Every clause has cover, and whatever is taken away shows up: as a clause without it, or as a defect that passes."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from spec_examples.contract.clauses import CLAUSES, PROMISES
from spec_examples.markdown import Page, read
from spec_examples.mutants import record as catches
from spec_examples.mutants.record import Caught
from spec_examples.traceability import Evidence, covers, evidence, gone, wrong
from spec_examples.traceability.named import named_tests
from spec_examples.traceability.redundancy import of_examples, of_judges

ROOT = Path(__file__).resolve().parents[2]


@cache
def found() -> Evidence:
    return evidence(ROOT)


def said(changed: Evidence) -> list[str]:
    return [str(each) for each in wrong(changed)]


def without_example(pages: tuple[Page, ...], *ids: str) -> tuple[Page, ...]:
    return tuple(replace(page, examples=tuple(e for e in page.examples if e.id not in ids)) for page in pages)


def edited(name: str, old: str, new: str) -> Evidence:
    """The evidence with one page's text changed in one place."""
    path = ROOT / "docs" / "contract" / name
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    page = read(path, text.replace(old, new))
    return replace(found(), pages=tuple(page if p.path == path else p for p in found().pages))


def with_caught(name: str, **changes: object) -> Evidence:
    """The evidence with one recorded catch changed."""
    first, *others = found().records
    caught = {**first.caught, name: replace(first.caught[name], **changes)}
    return replace(found(), records=(replace(first, caught=caught), *others))


def test_every_clause_has_cover_and_every_catch_is_valid():
    assert said(found()) == []


# Taken away, one after the other


@pytest.mark.parametrize("clause", CLAUSES)
def test_a_clause_without_its_examples(clause):
    ids = [e.id for page in found().pages for e in page.examples if clause in e.clauses]
    changed = replace(found(), pages=without_example(found().pages, *ids))
    assert any(f": {clause}, a {CLAUSES[clause].kind}, has no example that is run" in line for line in said(changed))


@pytest.mark.parametrize("clause", PROMISES)
def test_a_promise_without_its_judge(clause):
    changed = replace(found(), judged=found().judged - {clause})
    assert [line.partition(": ")[2] for line in said(changed)] == [f"{clause}, a promise, has no judge"]


@pytest.mark.parametrize("clause", PROMISES)
def test_a_promise_that_no_test_names(clause):
    changed = replace(found(), tests=tuple(test for test in found().tests if clause not in test.clauses))
    assert any(f": {clause}, a promise, has no test that names it" in line for line in said(changed))


@pytest.mark.parametrize("clause", PROMISES)
def test_a_promise_whose_judge_catches_nothing(clause):
    def without(caught: Caught) -> Caught:
        return replace(caught, judged=tuple(each for each in caught.judged if each != clause))

    records = tuple(replace(r, caught={n: without(c) for n, c in r.caught.items()}) for r in found().records)
    lines = said(replace(found(), records=records))
    assert [line.partition(": ")[2] for line in lines] == [
        f"{clause}, a promise, has no known defect that its judge catches"
    ]


def test_each_example():
    """It was put to the defects: where it is gone, that is said, and which defects nothing else shows."""
    shares = of_examples(found().pages, found().records)
    assert len(shares) > 100
    lonely = set()
    for example, share in shares.items():
        lines = [each.message for each in gone(found().records, without_example(found().pages, example))]
        assert any(line.startswith(f"{recorded_as(example)} ") for line in lines), example
        with_output = {example, output_of(example)}  # an output goes with its block
        elsewhere = {defect for each, other in shares.items() if each not in with_output for defect in other.catches}
        alone = {defect for each in with_output & shares.keys() for defect in shares[each].catches} - elsewhere
        named = [line.partition("nothing else caught ")[2].partition(";")[0].split(", ") for line in lines]
        assert {name for names in named for name in names if name} >= set(share.alone), example
        assert {name for names in named for name in names if name} <= alone, example
        lonely |= alone
    assert lonely  # some defects are shown by one block and its output, and by nothing else


def recorded_as(example: str) -> str:
    """The place and kind of an example when the defects were put to it."""
    now = {each.id: key for key, each in catches.keys(found().pages).items()}
    return next(record.examples[now[example]] for record in found().records if now[example] in record.examples)


def output_of(example: str) -> str:
    """The id of the output right behind a block, which is none without it; empty where there is none."""
    page = next(page for page in found().pages if any(each.id == example for each in page.examples))
    later = [each for each in page.examples if each.line > int(example.rpartition(":")[2])]
    return later[0].id if later and later[0].language == "text" else ""


def test_each_test_that_alone_names_a_promise():
    for test in found().tests:
        lines = said(replace(found(), tests=tuple(each for each in found().tests if each != test)))
        alone = [c for c in test.clauses if c in PROMISES and sum(c in each.clauses for each in found().tests) == 1]
        assert len(lines) == len(alone), test


BROKEN_WITH_ANOTHER = {"FIELD-4", "FIELD-6", "FIELD-7", "HOOK-1", "HOOK-2", "ROUTE-2", "ROUTE-5", "ROUTE-6"}
"""Promises that no recorded catch shows broken alone: a stale value is also a wrong one, and so is another row's."""


def test_every_judge_names_defects_and_is_the_only_one_to_name_some_or_is_listed():
    shares = of_judges(PROMISES, found().records)
    assert all(share.catches for share in shares.values())
    assert {clause for clause, share in shares.items() if not share.alone} <= BROKEN_WITH_ANOTHER


# What names what is not there


def test_a_judge_of_no_promise():
    lines = said(replace(found(), judged=found().judged | {"ROUTE-9"}))
    assert lines == ["spec_examples/contract/judge.py:1: ROUTE-9 is judged, and is no promise of a page"]


def test_a_clause_that_a_page_states_and_nobody_knows():
    line = "[ROUTE-9](#ROUTE-9){#ROUTE-9 .clause} *promise*: All is well.\n\n## Which rows MTP takes"
    assert any(
        "ROUTE-9 is stated here, and is no clause" in each
        for each in said(edited("routing.md", "## Which rows MTP takes", line))
    )


def test_a_clause_whose_sentence_is_gone():
    anchor = "[ROUTE-7](#ROUTE-7){#ROUTE-7 .clause} *statement*: "
    assert any(
        "ROUTE-7, a statement, has no sentence on its page" in each for each in said(edited("routing.md", anchor, ""))
    )


def test_a_test_that_names_no_clause(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(
        "import pytest\n\n\n@pytest.mark.clause('ROUTE-99')\ndef test_x():\n    pass\n"
    )
    (line,) = said(replace(found(), tests=(*found().tests, *named_tests(tmp_path))))
    assert line == "tests/test_x.py:5: test_x names ROUTE-99, which is no clause of the contract"


def test_a_marked_module_marks_each_of_its_tests(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(
        "import pytest\n\npytestmark = pytest.mark.clause('ROUTE-1')\n\n\n"
        "def test_x():\n    pass\n\n\n@pytest.mark.clause('ROUTE-2')\ndef test_y():\n    pass\n"
    )
    assert [(test.name, test.clauses) for test in named_tests(tmp_path)] == [
        ("test_x", ("ROUTE-1",)),
        ("test_y", ("ROUTE-1", "ROUTE-2")),
    ]


def test_a_pattern_names_each_clause_that_it_matches(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(
        "import pytest\n\n\n@pytest.mark.clause('HOOK-[12]', 'STATE-*')\ndef test_x():\n    pass\n"
    )
    assert [test.clauses for test in named_tests(tmp_path)] == [("HOOK-1", "HOOK-2", "STATE-1", "STATE-2")]


# Sentences


@pytest.mark.parametrize("sentence", ["A model MUST fly.", "A model must fly.", "It never raises.", "Never do that."])
def test_a_sentence_that_binds_and_no_clause_behind_it(sentence):
    heading = "## What it does not show"
    (line,) = said(edited("verification.md", heading, f"{sentence}\n\n{heading}"))
    assert f"no clause stands behind {sentence!r}" in line
    number = int(line.split(":")[1])
    text = (ROOT / "docs/contract/verification.md").read_text(encoding="utf-8")
    assert text.splitlines()[number - 1] == heading


def test_a_sentence_that_links_its_clause():
    heading = "## What it does not show"
    sentence = "A prompt is never overwritten ([ROUTE-3](routing.md#ROUTE-3))."
    assert said(edited("verification.md", heading, f"{sentence}\n\n{heading}")) == []


# Recorded catches


def test_a_catch_of_a_defect_that_was_changed_since():
    (line,) = said(with_caught("boundary-late", digest="0" * 12))
    assert (
        "boundary-late is new or was changed; run phase-contract mutants --record --all --runner ar boundary-late"
        in line
    )


def test_a_defect_that_nothing_catches():
    lines = said(with_caught("boundary-late", state="passed", by=(), judged=(), cases=()))
    assert any("boundary-late: passed: " in line for line in lines)


def test_a_record_is_stale_where_a_judge_changed():
    first, *others = found().records
    changed = replace(first, made_with={**first.made_with, "judges": "other"})
    lines = said(replace(found(), records=(changed, *others)))
    assert any("stale: judges changed since it was recorded; run phase-contract mutants --record" in x for x in lines)


def test_a_record_comes_back_as_it_was_written(tmp_path, monkeypatch):
    monkeypatch.setattr(catches, "CATCHES", tmp_path)
    for record in found().records:
        assert catches.write(record)
        assert catches.read(record.path) == record
        assert not catches.write(replace(record, recorded="2099-01-01"))


def test_an_example_that_moves_stays_the_same_and_one_that_is_edited_does_not():
    moved = edited("routing.md", "# Routing\n", "# Routing\n\nMore words.\n").pages
    assert catches.keys(moved).keys() == catches.keys(found().pages).keys()
    changed = edited(
        "routing.md", "| 5 | 4 | 1 | Prefill tail | No |", "| 5 | 4 | 1 | Prefill tail | No (a tail) |"
    ).pages
    assert len(catches.keys(changed).keys() - catches.keys(found().pages).keys()) == 1


def test_the_page_lists_every_clause_and_every_defect():
    from spec_examples.gate.teeth_pages import files

    pages = files(ROOT)
    for cover in covers(found()):
        assert f"{{#of-{cover.clause.id}}}" in pages["traceability.md"]
    for record in found().records:
        for name in record.caught:
            assert f'<tr id="{name}">' in pages["mutants.md"]
