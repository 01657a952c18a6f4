"""What the page about vLLM-Omni's models takes in: tables of what lint recorded, and of what a person says of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from packaging.version import Version

from spec_examples.lint.by_eye import Seen, by_eye
from spec_examples.lint.measured import USES, Measured, Model, newest, recorded
from spec_examples.lint.rules import BY_NAME, RULES

MARKS = {"flag": "✓", "stored": "◐", "fallback": "?", "span": "✗", "position": "○", "unasked": "·"}
"""One sign for each way of ``USES``."""


def files() -> dict[str, str]:
    """The generated files by name."""
    found = sorted(recorded(), key=lambda each: Version(each.vllm_omni), reverse=True)
    stable, candidate = newest(found), found[0]
    return {
        "lint-models.md": "\n".join(_models(stable, candidate)),
        "lint-uses.md": "\n".join(_uses([each for each in found if not Version(each.vllm_omni).is_prerelease])),
        "lint-releases.md": "\n".join(_releases(found)),
        "lint-read.md": "\n".join(_read()),
    }


def _table(label: str, head: Iterable[str], rows: Iterable[str]) -> Iterator[str]:
    """An HTML table in the frame that wide tables of the site have."""
    cells = "".join(f'<th scope="col">{each}</th>' for each in head)
    yield f'<div class="matrix" tabindex="0" role="region" aria-label="{escape(label)}">'
    yield f'<table class="evidence"><thead><tr>{cells}</tr></thead><tbody>'
    yield from rows
    yield "</tbody></table></div>"


def _models(stable: Measured, candidate: Measured) -> Iterator[str]:
    """Each model of the two newest releases: how it finds the phase, and the rules that hit."""
    names = sorted({model.name for model in (*stable.models, *candidate.models)})
    sides = [{model.name: model for model in each.models} for each in (stable, candidate)]
    head = [
        "model",
        *(f"{each.vllm_omni}: {what}" for each in (stable, candidate) for what in ("phase", "rules that hit")),
    ]
    rows = (_model(name, [side.get(name) for side in sides]) for name in names)
    yield from _table("Models of the newest releases", head, rows)


def _model(name: str, sides: list[Model | None]) -> str:
    cells = "".join(
        f"<td>{MARKS[model.use]} {USES[model.use]}</td><td>{_rules(model)}</td>"
        if model
        else "<td>not there</td><td></td>"
        for model in sides
    )
    return f'<tr><th scope="row"><code>{escape(name)}</code></th>{cells}</tr>'


def _rules(model: Model) -> str:
    """The rules that hit, each a link, with how often."""
    hits = [hit.rule for hit in model.hits]
    return ", ".join(
        f"{_link(rule)}{f' ×{hits.count(rule)}' if hits.count(rule) > 1 else ''}"
        for rule in dict.fromkeys(sorted(hits))
    )


def _link(rule: str) -> str:
    return f'<a href="../../reference/lint/#{rule}" title="{escape(BY_NAME[rule].name)}">{rule}</a>'


def _uses(found: list[Measured]) -> Iterator[str]:
    """Each model by stable release: a mark for how it finds the phase."""
    names = sorted({model.name for each in found for model in each.models})
    uses = [{model.name: model.use for model in each.models} for each in found]
    rows = []
    for name in names:
        cells = "".join(f"<td>{_mark(use.get(name))}</td>" for use in uses)
        rows.append(f'<tr><th scope="row"><code>{escape(name)}</code></th>{cells}</tr>')
    yield from _table("Models by stable release", ["model", *(each.vllm_omni for each in found)], rows)
    yield ""
    yield ", ".join(f"{MARKS[use]} {words}" for use, words in USES.items()) + "; empty: the model is not there."


def _mark(use: str | None) -> str:
    return f'<span role="img" title="{USES[use]}" aria-label="{USES[use]}">{MARKS[use]}</span>' if use else ""


def _releases(found: list[Measured]) -> Iterator[str]:
    """Each release: how many models have hooks, and how often each rule hit."""
    rules = [rule.id for rule in RULES if any(each.counts[rule.id] for each in found)]
    rows = []
    for each in found:
        hooked = sum(bool(model.hooks) for model in each.models)
        cells = "".join(f"<td>{each.counts[rule] or ''}</td>" for rule in rules)
        rows.append(f'<tr><th scope="row">{each.vllm_omni}</th><td>{hooked}</td><td>{len(each.hits)}</td>{cells}</tr>')
    head = ["vLLM-Omni", "models with hooks", "findings", *map(_link, rules)]
    yield from _table("Findings by release and rule", head, rows)


def _read() -> Iterator[str]:
    """Each finding with the verdict of the person who read it, then what that person adds."""
    seen = by_eye()
    yield f"### Findings on {seen.vllm_omni} {{#read}}"
    yield ""
    yield from _seen("Findings that were read", seen.read, verdicts=True)
    for anchor, title, places in (
        ("missed", "What was missed", seen.missed),
        ("withdrawn", "What is no longer said", seen.withdrawn),
        ("beyond", "What no rule is about", seen.beyond),
    ):
        yield ""
        yield f"### {title} {{#{anchor}}}"
        yield ""
        if places:
            yield from _seen(title, places, verdicts=False)
        else:
            yield "Nothing."


def _seen(label: str, places: tuple[Seen, ...], *, verdicts: bool) -> Iterator[str]:
    head = [
        "place",
        *(["rule"] if places and places[0].rule else []),
        *(["verdict"] if verdicts else []),
        "what stands there",
    ]
    rows = []
    for each in places:
        cells = f"<td>{_link(each.rule)}</td>" if each.rule else ""
        cells += f"<td>{'true' if each.is_true else 'false'}</td>" if verdicts else ""
        place = f"{each.path}:{each.line}"
        rows.append(f'<tr><th scope="row"><code>{escape(place)}</code></th>{cells}<td>{escape(each.why)}</td></tr>')
    yield from _table(label, head, rows)
