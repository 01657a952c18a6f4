"""``python -m spec_examples.gate.site``: write what pages take in of recorded results, before the site is built.

The files are plain Markdown and HTML under ``build/generated``, taken in by snippets, so that both MkDocs and its
successor show them.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from packaging.version import Version

from spec_examples.conformance import record as recorded
from spec_examples.conformance.known import divergences, known
from spec_examples.conformance.record import Record
from spec_examples.conformance.suite import SUITE
from spec_examples.contract.clauses import CLAUSES
from spec_examples.contract.judge import judge
from spec_examples.execution.show import show_step
from spec_examples.trace import Trace

GENERATED = Path("build/generated")
RUNNER_NAMES = {"ar": "AR", "generation": "generation", "v2": "V2"}
WORDS = {"passed": "kept", "failed": "broken", "not-applicable": "does not apply", "not-runnable": "could not be run"}
MARKS = {"passed": "✓", "failed": "✗", "not-applicable": "·", "not-runnable": "?"}


def main() -> None:
    """Write every generated file."""
    records = recorded.read_all()
    GENERATED.mkdir(parents=True, exist_ok=True)
    files = {
        "matrix.md": _matrix(records),
        "evidence.md": "\n".join(line for record in reversed(records) for line in _evidence(record)),
        "newest.md": _newest(records),
    }
    for name, text in files.items():
        (GENERATED / name).write_text(text + "\n", encoding="utf-8")


def _judged(records: list[Record]) -> list[str]:
    return [c for c in CLAUSES if any(r.cells[c].verdict in ("passed", "failed") for r in records)]


def _anchor(record: Record, clause: str = "") -> str:
    name = f"{record.vllm_omni}-{record.runner}".replace(".", "-")
    return f"{name}-{clause}" if clause else name


def _matrix(records: list[Record]) -> str:
    """The table, newest release first; each cell is a link with its reading in words."""
    clauses = _judged(records)
    head = "".join(
        f'<th scope="col"><a href="../{_page(c)}#{c}" title="{escape(CLAUSES[c].name)}">{c}</a></th>' for c in clauses
    )
    lines = [
        '<div class="matrix" tabindex="0" role="region" aria-label="Release, runner and clause">',
        '<table class="matrix">',
        f'<thead><tr><th scope="col">vLLM-Omni</th><th scope="col">runner</th>{head}</tr></thead>',
        "<tbody>",
    ]
    for record in reversed(records):
        expected = known(record.vllm_omni, record.runner)
        cells = []
        for clause in clauses:
            cell = record.cells[clause]
            words = WORDS[cell.verdict] + (
                ", a known divergence" if clause in expected and cell.verdict == "failed" else ""
            )
            label = f"{clause} on {record.vllm_omni}, {RUNNER_NAMES.get(record.runner, record.runner)}: {words}"
            cells.append(
                f'<td class="{cell.verdict}"><a href="evidence/#{_anchor(record, clause)}" title="{escape(label)}" '
                f'aria-label="{escape(label)}">{MARKS[cell.verdict]}</a></td>'
            )
        how = "" if record.how == "run" else f" ({record.how})"
        lines.append(
            f'<tr><th scope="row"><a href="evidence/#{_anchor(record)}">{record.vllm_omni}</a></th>'
            f"<td>{RUNNER_NAMES.get(record.runner, record.runner)}{how}</td>{''.join(cells)}</tr>"
        )
    lines += ["</tbody></table>", "</div>"]
    return "\n".join(lines)


def _page(clause: str) -> str:
    return CLAUSES[clause].page.removeprefix("docs/").removesuffix(".md") + "/"


def _evidence(record: Record) -> Iterator[str]:
    """One section a target: what ran, and each clause with the case and the step that show it."""
    runner = RUNNER_NAMES.get(record.runner, record.runner)
    yield f'<h2 id="{_anchor(record)}">vLLM-Omni {record.vllm_omni}, {runner} runner</h2>'
    how = "Run" if record.how == "run" else "Read, not run; hardware still has to validate it"
    facts = [
        f"{how} on {record.recorded}",
        f"vLLM {record.vllm}",
        f"runner class <code>{escape(record.environment.runner or 'none')}</code>",
        f"producer <code>{escape(record.environment.preprocess_from or 'unknown')}</code>",
        f"packages <code>{record.made_with.get('packages', '')[:12]}</code>",
        f"harness <code>{record.made_with.get('harness', '')[:12]}</code>",
    ]
    if record.route_form:
        facts.append(f"batched hook {escape(record.route_form)}")
    yield f"<p>{'; '.join(facts)}.</p>"
    traces = recorded.traces_of(record) if record.traces_path.is_file() else {}
    yield "<dl>"
    for clause, cell in record.cells.items():
        shown = f" in the case <em>{escape(cell.evidence)}</em>" if cell.evidence else ""
        message = f": {escape(cell.message)}" if cell.message else ""
        yield f'<dt id="{_anchor(record, clause)}">{clause}</dt><dd>{WORDS[cell.verdict]}{shown}{message}'
        if cell.verdict == "failed" and cell.evidence:
            step = _failing_step(traces, cell.evidence, clause)
            if step:
                yield f'<pre class="evidence">{escape(step)}</pre>'.replace("\n", "&#10;")
        yield "</dd>"
    yield "</dl>"


def _failing_step(traces: dict[str, Trace], name: str, clause: str) -> str:
    case = next((case for case in SUITE if case.name == name), None)
    for scenario in case.scenarios if case else ():
        trace = traces.get(scenario.digest)
        verdicts = judge(trace) if trace else ()
        for verdict in verdicts:
            if trace and verdict.clause == clause and verdict.outcome == "failed" and verdict.step:
                return show_step(trace, verdict.step)
    return ""


def _newest(records: list[Record]) -> str:
    """One line a runner of the newest stable release, and of a newer candidate beside it."""
    versions = {record.vllm_omni for record in records}
    if not versions:
        return "Nothing has been recorded yet."
    stable = max((v for v in versions if not Version(v).is_prerelease), key=Version, default=max(versions, key=Version))
    newest = max(versions, key=Version)
    lines = ['<ul class="newest">']
    for version in dict.fromkeys((stable, newest)):
        kind = "the newest release" if version == stable else "a newer candidate"
        for record in records:
            if record.vllm_omni != version:
                continue
            promises = [c for c in record.cells.values() if CLAUSES[c.clause].kind == "promise"]
            kept = [c for c in promises if c.verdict == "passed"]
            broken = [c.clause for c in promises if c.verdict == "failed"]
            runner = RUNNER_NAMES.get(record.runner, record.runner)
            verdict = f"breaks {', '.join(broken)}" if broken else f"keeps all {len(kept)} promises that apply"
            state = "failed" if broken else "passed"
            lines.append(
                f'<li class="{state}"><a href="conformance/evidence/#{_anchor(record)}">{version}, {runner} runner</a> '
                f"({kind}): {verdict}</li>"
            )
    lines.append("</ul>")
    return "\n".join(lines)


def divergence_ids() -> list[str]:
    """Anchors that the page of known divergences has to have."""
    return [d.id for d in divergences()]


if __name__ == "__main__":
    main()
