"""``python -m spec_examples.gate.site``: write what pages take in of recorded results, before the site is built.

The files are plain Markdown and HTML under ``build/generated``, taken in by snippets, so that both MkDocs and its
successor show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from packaging.version import Version

from spec_examples.conformance import record as recorded
from spec_examples.conformance.known import known
from spec_examples.conformance.matrix import first_kept
from spec_examples.conformance.record import Record
from spec_examples.conformance.suite import SUITE, case, in_words
from spec_examples.conformance.verdicts import Cell, failing_step
from spec_examples.contract.clauses import CLAUSES
from spec_examples.execution.show import show_step
from spec_examples.explorer import page as explorer
from spec_examples.gate import lint_tables, teeth_pages
from spec_examples.site import newest as standings
from spec_examples.site import whole
from spec_examples.site.newest import Standing
from spec_examples.stories import draw
from spec_examples.targets import catalogue
from spec_examples.trace import Trace
from spec_examples.whole_files import write_whole

GENERATED = Path("build/generated")
RUNNER_NAMES = {"ar": "AR", "generation": "generation", "v2": "V2", "v2-whole": "V2, whole", "npu": "NPU", "xpu": "XPU"}
WORDS = {"passed": "kept", "failed": "broken", "not-applicable": "does not apply", "not-runnable": "not run"}
MARKS = {"passed": "✓", "failed": "✗", "not-applicable": "·", "not-runnable": "?"}


def main() -> None:
    """Write every generated file."""
    records = newest_first(recorded.read_all())
    GENERATED.mkdir(parents=True, exist_ok=True)
    files = {
        "matrix.md": matrix([record for record in records if record.how == "run"], "Run: release, runner and clause"),
        "matrix-read.md": matrix([r for r in records if r.how == "read"], "Read: release, runner and clause"),
        "evidence.md": "\n".join(evidence(records)),
        "newest.md": newest(records),
        "first-kept.md": "\n".join(f"- {line}" for line in _first_kept(records)),
        "explorer.html": explorer.as_html(),
        "whole.md": whole.as_one(),
        **teeth_pages.files(Path()),
    }
    for name, text in (files | lint_tables.files()).items():
        write_whole(GENERATED / name, text + "\n")
    draw.write_all(GENERATED / "traces")


def newest_first(records: Iterable[Record]) -> list[Record]:
    """By release, the newest first; runners of one release in the order of ``RUNNER_NAMES``."""
    order = list(RUNNER_NAMES)
    by_runner = sorted(records, key=lambda r: order.index(r.runner) if r.runner in order else len(order))
    return sorted(by_runner, key=lambda record: Version(record.vllm_omni), reverse=True)


def matrix(records: list[Record], label: str) -> str:
    """The table; each cell is a link to its evidence, with its reading in words. Clauses that nobody judged are out."""
    if not records:
        return "Nothing has been recorded yet."
    clauses = [c for c in CLAUSES if any(r.cells[c].verdict in ("passed", "failed") for r in records)]
    head = "".join(
        f'<th scope="col"><a href="../{_page(c)}#{c}" title="{escape(CLAUSES[c].name)}">{c}</a></th>' for c in clauses
    )
    lines = [
        f'<div class="matrix" tabindex="0" role="region" aria-label="{escape(label)}">',
        '<table class="matrix">',
        f'<thead><tr><th scope="col">vLLM-Omni</th><th scope="col">runner</th>{head}</tr></thead>',
        "<tbody>",
    ]
    previous = ""
    for record in records:
        starts = ' class="starts"' if record.vllm_omni != previous else ""
        previous = record.vllm_omni
        cells = "".join(_cell(record, record.cells[clause]) for clause in clauses)
        lines.append(
            f'<tr{starts}><th scope="row"><a href="evidence/#{_anchor(record)}">{record.vllm_omni}</a></th>'
            f"<td>{_runner(record)}</td>{cells}</tr>"
        )
    lines += ["</tbody></table>", "</div>"]
    return "\n".join(lines)


def _cell(record: Record, cell: Cell) -> str:
    divergence = known(record.vllm_omni, record.runner).get(cell.clause) if cell.verdict == "failed" else None
    words = WORDS[cell.verdict] + (", a known divergence" if divergence else "")
    label = escape(f"{cell.clause} on {record.vllm_omni}, {_runner(record)}: {words}")
    return (
        f'<td class="{cell.verdict}"><a href="evidence/#{_anchor(record, cell.clause)}" title="{label}" '
        f'aria-label="{label}">{MARKS[cell.verdict]}</a></td>'
    )


def _runner(record: Record) -> str:
    return RUNNER_NAMES.get(record.runner, record.runner)


def _anchor(record: Record, clause: str = "") -> str:
    name = f"{record.vllm_omni}-{record.runner}".replace(".", "-")
    return f"{name}-{clause}" if clause else name


def _case_anchor(name: str) -> str:
    return "case-" + "".join(c if c.isalnum() else "-" for c in name)


def _page(clause: str) -> str:
    return CLAUSES[clause].page.removeprefix("docs/").removesuffix(".md") + "/"


def evidence(records: list[Record]) -> Iterator[str]:
    """Where to find each target, a section for each, and the cases that the sections speak of."""
    versions = dict.fromkeys(record.vllm_omni for record in records)
    yield '<ul class="targets">'
    for version in versions:
        links = ", ".join(f'<a href="#{_anchor(r)}">{_runner(r)}</a>' for r in records if r.vllm_omni == version)
        yield f"<li>{version}: {links}</li>"
    yield "</ul>"
    for record in records:
        yield from _section(record)
    yield '<h2 id="cases">The cases of the suite</h2>'
    yield "<p>Rows are (prompt length, computed before the step, span).</p>"
    yield "<dl>"
    for each in SUITE:
        yield f'<dt id="{_case_anchor(each.name)}">{escape(each.name)}</dt>'
        yield from (f"<dd>{escape(in_words(scenario))}</dd>" for scenario in each.scenarios)
    yield "</dl>"


def _section(record: Record) -> Iterator[str]:
    """One target: what was run or read, and each clause with what shows it."""
    yield f'<h2 id="{_anchor(record)}">vLLM-Omni {record.vllm_omni}, {_runner(record)} runner</h2>'
    yield f"<p>{_facts(record)}</p>"
    traces = recorded.traces_of(record) if record.how == "run" and record.traces_path.is_file() else {}
    label = f"Clauses on {record.vllm_omni}, {_runner(record)}"
    yield f'<div class="matrix" tabindex="0" role="region" aria-label="{escape(label)}">'
    yield '<table class="evidence"><thead><tr><th scope="col">Clause</th><th scope="col">Verdict</th>'
    yield '<th scope="col">Shown by</th></tr></thead><tbody>'
    shown: set[str] = set()
    for clause, cell in record.cells.items():
        if CLAUSES[clause].kind != "promise" and clause != "OWN-1":
            continue
        where = escape(cell.message)
        if case(cell.evidence):
            link = f'<a href="#{_case_anchor(cell.evidence)}">{escape(cell.evidence)}</a>'
            where = f"{link}: {where}" if where else link
        step = _step(record, cell, traces) if cell.verdict == "failed" else ""
        if step and step not in shown:
            shown.add(step)
            where += f'<pre class="evidence">{escape(step)}</pre>'.replace("\n", "&#10;")
        link = f'<a href="../../{_page(clause)}#{clause}">{clause}</a>'
        yield (
            f'<tr id="{_anchor(record, clause)}"><th scope="row">{link}</th>'
            f'<td class="{cell.verdict}">{MARKS[cell.verdict]} {WORDS[cell.verdict]}</td><td>{where}</td></tr>'
        )
    yield "</tbody></table></div>"


def _facts(record: Record) -> str:
    release = catalogue.release(record.vllm_omni)
    wheels = ", ".join(f"<code>{digest[:16]}</code>" for digest in release.vllm_omni_sha256) if release else ""
    facts = [f"vLLM-Omni {record.vllm_omni} (wheel {wheels})"]
    if record.how == "read":
        facts.append(f"Read on {record.recorded}, not run; hardware has to validate it")
        facts += [f"<code>{escape(each.name)}</code> in <code>{escape(each.path)}</code>" for each in record.source]
        return "; ".join(facts) + "."
    vllm = ", ".join(f"<code>{digest[:16]}</code>" for digest in release.vllm_sha256) if release else ""
    facts.append(f"vLLM {record.vllm} (wheels {vllm})")
    facts.append(f"run on {record.recorded} with torch {record.environment.torch}, Python {record.environment.python}")
    facts.append(f"runner <code>{escape(record.environment.runner or 'none')}</code>")
    facts.append(f"producer <code>{escape(record.environment.preprocess_from or 'unknown')}</code>")
    if record.route_form:
        facts.append(f"form of ROUTE-1: {escape(record.route_form)}")
    again = f"phase-contract matrix --release {record.vllm_omni} --runner {record.runner}"
    facts.append(f"traces <code>spec_examples/conformance/results/{record.traces_path.name}</code>")
    return (
        "; ".join(facts)
        + f'. <code>{again} --show "CASE"</code> prints a case\'s traces, <code>{again} --live</code> runs all.'
    )


def _step(record: Record, cell: Cell, traces: dict[str, Trace]) -> str:
    """The step that breaks a clause, as it crossed the boundary."""
    found = case(cell.evidence)
    broken = failing_step(found, cell.clause, traces) if found else None
    if broken is None:
        return ""
    scenario, trace, number = broken
    stopped = f"\n    the runner stopped: {trace.error}" if trace.error and number == len(trace.steps) else ""
    return f"    {in_words(scenario)}\n{show_step(trace, number)}{stopped}"


def newest(records: list[Record]) -> str:
    """One line a runner of the newest stable release, and of a newer candidate beside it."""
    lines = [_line(standing) for standing in standings.newest(records)]
    return "\n".join(['<ul class="newest">', *lines, "</ul>"]) if lines else "Nothing has been recorded yet."


def _line(standing: Standing) -> str:
    record, state = standing.record, standing.state
    broken = ", ".join(standing.broken)
    verdict = f"breaks {broken}" if broken else f"keeps all {standing.kept} promises that apply"
    kind = "newest release" if standing.is_stable else "newer candidate"
    return (
        f'<li class="{state}"><a href="conformance/evidence/#{_anchor(record)}"><span>{record.vllm_omni} '
        f"{_runner(record)}</span> <b>{MARKS[state]} {verdict}</b></a> <i>{kind}</i></li>"
    )


def _first_kept(records: list[Record]) -> Iterator[str]:
    """A line for each release with which clauses came to be kept."""
    since = first_kept(records)
    for version in sorted(set(since.values()), key=Version):
        clauses = [clause for clause, first in since.items() if first == version]
        links = ", ".join(
            f"[{clause}](../{CLAUSES[clause].page.removeprefix('docs/')}#{clause})"
            for clause in CLAUSES
            if clause in clauses
        )
        first_run = version == min((r.vllm_omni for r in records if r.how == "run"), key=Version)
        yield f"{version}{', the first that is run' if first_run else ''}: {links}"
    forms: dict[str, str] = {}
    for record in sorted(records, key=lambda record: Version(record.vllm_omni)):
        if record.runner == "ar" and record.route_form:
            forms.setdefault(record.route_form, record.vllm_omni)
    words = {
        "needs talker_mtp": "its first form, in which the batched hook needs `talker_mtp`",
        "without talker_mtp": "its second, in which it does not",
        "rows may be filled by the model": "its third, in which a model may fill rows itself",
    }
    if forms:
        said = "; ".join(f"{words[form]}, since {version}" for form, version in forms.items())
        yield f"ROUTE-1 in {said}"


if __name__ == "__main__":
    main()
