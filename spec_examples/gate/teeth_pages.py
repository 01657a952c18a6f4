"""What the site shows of the known defects and of what stands behind each clause: Markdown, from what was recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from spec_examples.contract.clauses import CLAUSES
from spec_examples.contract.consequences import CONSEQUENCES
from spec_examples.markdown import Example
from spec_examples.mutants import MUTANTS
from spec_examples.mutants import record as catches
from spec_examples.mutants.record import CatchRecord, Caught
from spec_examples.traceability import Cover, Evidence, covers, evidence
from spec_examples.traceability.redundancy import of_examples, of_judges

RUNNERS = {"ar": "The shared runner", "v2": "Model Runner V2"}
_LINK = re.compile(r"\]\((?P<page>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


def files(root: Path) -> dict[str, str]:
    """The generated files of both pages, by name."""
    found = evidence(root)
    return {
        "mutants.md": "\n".join(_mutants(found)),
        "traceability.md": "\n".join(_traceability(found)),
    }


def _mutants(found: Evidence) -> Iterator[str]:
    """For each runner: release and date, the counts, and a table of its defects."""
    where = catches.keys(found.pages)
    for record in found.records:
        states = [caught.state for caught in record.caught.values()]
        name = RUNNERS.get(record.runner, record.runner)
        yield f"## {name} {{#{record.runner}}}"
        yield ""
        hidden = states.count("not-measurable")
        yield (
            f"{len(states)} defects of vLLM-Omni {record.vllm_omni} with vLLM {record.vllm}, on {record.recorded}: "
            f"{states.count('caught')} caught"
            + (f", {hidden} not measurable, since the runner breaks the clause as it is" if hidden else "")
            + "."
        )
        yield ""
        yield from _table(
            f"{RUNNERS.get(record.runner, record.runner)}: defects", _DEFECT_HEAD, _defects(record, where)
        )
        yield ""


_DEFECT_HEAD = ("What was done", "Breaks", "What a model gets then", "Caught by")


def _defects(record: CatchRecord, where: dict[str, Example]) -> Iterator[str]:
    for caught in record.caught.values():
        mutant = MUTANTS.get(caught.name)
        if mutant is None:
            continue
        breaks = " ".join(_clause(clause) for clause in mutant.clauses)
        suffers = CONSEQUENCES[mutant.clauses[0]]
        effect = escape(suffers[0].upper() + suffers[1:] + ".")
        said = f"<br><small>{escape(caught.message)}</small>" if caught.message else ""
        yield (
            f'<tr id="{caught.name}"><th scope="row">{escape(mutant.what)}<br><code>{caught.name}</code></th>'
            f"<td>{breaks}</td><td>{effect}{said}</td><td>{_by(caught, where)}</td></tr>"
        )


def _by(caught: Caught, where: dict[str, Example]) -> str:
    if caught.state != "caught":
        return escape(caught.state.replace("-", " "))
    found = [where[each] for each in caught.by if each in where]
    parts = []
    if found:
        parts.append(f"{_count(len(found), 'example')}, {_place(found[0])} first")
    if caught.cases:
        parts.append(_count(len(caught.cases), "case") + " of the suite")
    return escape("; ".join(parts))


def _place(example: Example) -> str:
    return f"{example.page.removeprefix('docs/contract/')}:{example.line}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _clause(clause: str) -> str:
    return f'<a href="../../{_built(clause)}#{clause}">{clause}</a>'


def _built(clause: str) -> str:
    return CLAUSES[clause].page.removeprefix("docs/").removesuffix(".md") + "/"


def _table(label: str, head: Iterable[str], rows: Iterable[str]) -> Iterator[str]:
    yield f'<div class="matrix" tabindex="0" role="region" aria-label="{escape(label)}">'
    yield "<table><thead><tr>" + "".join(f'<th scope="col">{each}</th>' for each in head) + "</tr></thead><tbody>"
    yield from rows
    yield "</tbody></table></div>"


def _traceability(found: Evidence) -> Iterator[str]:
    """A table of counts, then a section for each clause, then what could go without being missed."""
    all_covers = covers(found)
    yield from _table(
        "What stands behind each clause", ("Clause", "Kind", "Examples", "Tests", "Defects"), map(_counts, all_covers)
    )
    for cover in all_covers:
        yield from _section(cover)
    yield from _missed(found)


def _counts(cover: Cover) -> str:
    clause = cover.clause
    numbers = "".join(f"<td>{len(each)}</td>" for each in (cover.examples, cover.tests, cover.defects))
    link = f'<a href="#of-{clause.id}">{clause.id}</a> {escape(clause.name)}'
    return f'<tr><th scope="row">{link}</th><td>{clause.kind}</td>{numbers}</tr>'


def _section(cover: Cover) -> Iterator[str]:
    clause = cover.clause
    page = "../" + clause.page.removeprefix("docs/")
    yield from ("", f"## {clause.id}: {clause.name} {{#of-{clause.id}}}", "")
    yield f"> {_LINK.sub(lambda link: _from_here(link, clause.page), cover.sentence)}"
    yield ""
    yield f"- [{clause.id}]({page}#{clause.id}), a {clause.kind}: {_examples(cover.examples)}"
    if cover.tests:
        by_file: dict[str, list[str]] = {}
        for test in cover.tests:
            by_file.setdefault(test.path, []).append(f"`{test.name}`")
        said = "; ".join(f"`{path}`: {', '.join(names)}" for path, names in by_file.items())
        yield f"- {_count(len(cover.tests), 'test')}: {said}"
    if cover.defects:
        links = ", ".join(f"[{name}](mutants.md#{name})" for name in cover.defects)
        yield f"- {_count(len(cover.defects), 'defect')} that its judge names: {links}"


def _from_here(link: re.Match[str], page: str) -> str:
    """A link of a page of the contract, as it reads from a page beside that folder."""
    target = link["page"]
    if "://" in target:
        return link[0]
    base = Path("../contract") / (target or Path(page).name)
    return f"]({_normal(base)}{link['anchor'] or ''})"


def _normal(path: Path) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _examples(examples: Iterable[Example]) -> str:
    by_page: dict[str, list[str]] = {}
    number = 0
    for example in examples:
        number += 1
        by_page.setdefault(example.page, []).append(str(example.line))
    said = "; ".join(f"`{page}` {' '.join(lines)}" for page, lines in by_page.items())
    return f"{_count(number, 'example')}, by their lines: {said}"


def _missed(found: Evidence) -> Iterator[str]:
    """What each judge and each example is alone in showing, and which examples show nothing that others do not."""
    yield from ("", "## What would be missed {#missed}", "")
    judges = of_judges([each.clause.id for each in covers(found) if each.clause.kind == "promise"], found.records)
    yield "How many defects each judge names, and how many no other judge does:"
    yield ""
    yield from _table(
        "Judges",
        ("Clause", "Defects named", "By no other judge"),
        (
            f'<tr><th scope="row">{_clause(clause)}</th><td>{len(share.catches)}</td><td>{len(share.alone)}</td></tr>'
            for clause, share in judges.items()
        ),
    )
    shares = of_examples(found.pages, found.records)
    alone = {each: share for each, share in shares.items() if share.alone}
    idle = [each for each, share in shares.items() if not share.catches]
    yield ""
    yield f"{len(shares)} examples were executed with the defects, and {len(shares) - len(idle)} catch at least one."
    yield from _lines("are the only ones on a page that catch some defect", alone)
    yield from _lines("catch none: they say what another release does, or what is no promise", idle)
    rest = len(shares) - len(idle) - len(alone)
    yield ""
    yield f"Without any one of the other {rest}, the rest would catch the same defects."


def _lines(what: str, ids: Iterable[str]) -> Iterator[str]:
    by_page: dict[str, list[str]] = {}
    number = 0
    for each in ids:
        number += 1
        page, _, line = each.rpartition(":")
        by_page.setdefault(page, []).append(line)
    said = "; ".join(f"`{page}` {' '.join(lines)}" for page, lines in by_page.items())
    yield from ("", f"{number} {what}{': ' if said else ''}{said}.")
