"""From sources to findings."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from spec_examples.lint.allow import without_allowed
from spec_examples.lint.calls import entry  # with what it imports, it looks at every kind of expression
from spec_examples.lint.definitions import Definitions, Function, definitions
from spec_examples.lint.finding import Finding
from spec_examples.lint.looking import NAMES_A_PHASE
from spec_examples.lint.rules import RULES
from spec_examples.lint.source import BadSource, Source, files, parse, read
from spec_examples.lint.statements import follow
from spec_examples.lint.stored import is_latch, written
from spec_examples.lint.values import FIELD_KINDS, UNKNOWN, Facts, of_kind
from spec_examples.lint.walk import Frame, Walk

EVERY_RULE = frozenset(rule.id for rule in RULES)
FIELDS = tuple(FIELD_KINDS)

DEPTH = 4_000
"""How deeply calls of this package may nest: a deeply nested source is followed, and an absurd one is refused."""


@dataclass(frozen=True)
class Report:
    """What lint found. ``hooks`` counts the hooks that were followed, ``allowed`` what a comment allows.

    ``unreadable`` has a line for each file that is no Python source.
    """

    findings: tuple[Finding, ...] = ()
    files: int = 0
    hooks: int = 0
    allowed: int = 0
    unreadable: tuple[str, ...] = ()
    rules: frozenset[str] = field(default=EVERY_RULE)


def lint_paths(
    paths: Sequence[str], rules: frozenset[str] = EVERY_RULE, given: Mapping[str, str] | None = None
) -> Report:
    """Lint files, and folders with all that is in them. Raises ``BadSource`` where one of these does not exist.

    ``given`` are texts by name that stand for files, such as those that a page shows.
    """
    found: list[Finding] = []
    unreadable: list[str] = []
    hooks = allowed = 0
    given = given or {}
    everything = [(path, True) for path in paths if path in given]
    everything += files([path for path in paths if path not in given])
    for path, named in everything:
        try:
            source = parse(path, given[path]) if path in given else read(path, named=named)
            report = lint_source(source, rules) if source is not None else Report()
        except BadSource as error:
            unreadable.append(str(error))
            continue
        found += report.findings
        hooks += report.hooks
        allowed += report.allowed
    return Report(tuple(sorted(found)), len(everything), hooks, allowed, tuple(unreadable), rules)


def lint_source(source: Source, rules: frozenset[str] = EVERY_RULE) -> Report:
    """Lint one source. Raises ``BadSource`` where it is nested too deeply to be followed."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEPTH))
    try:
        walk = _walked(source)
        lines = source.text.splitlines() or [""]
        findings = [_in_characters(found, lines) for (rule, _), found in walk.findings.items() if rule in rules]
        stay, allowed = without_allowed(source.path, source.text, findings, rules)
    except RecursionError as error:
        raise BadSource(f"{source.path}:1:1: nested too deeply to be followed") from error
    finally:
        sys.setrecursionlimit(limit)
    return Report(tuple(sorted(stay)), 1, len(walk.found.hooks()), allowed, (), rules)


def _in_characters(finding: Finding, lines: list[str]) -> Finding:
    """The same finding with columns in characters: a tree counts bytes of UTF-8."""
    place = finding.place
    start, end = (_character(lines, *at) for at in ((place.line, place.column), (place.end_line, place.end_column)))
    return replace(finding, place=replace(place, column=start, end_column=end))


def _character(lines: list[str], line: int, column: int) -> int:
    text = lines[line - 1] if line <= len(lines) else ""
    return column if text.isascii() else len(text.encode()[: column - 1].decode(errors="ignore")) + 1


def _walked(source: Source) -> Walk:
    """Every hook followed, then every function that no hook led to."""
    found, lines = definitions(source.tree, source.text), source.text.splitlines()
    walk = Walk(source.path, found)
    for function in found.hooks():
        _enter(walk, function)
    for function in found.all():
        if function.node not in walk.visited and _speaks_of_phases(function, found, lines):
            _enter(walk, function)
    _own_progress(walk)
    if walk.latches:
        _latched(walk, written(source.tree))
    return walk


def _enter(walk: Walk, function: Function) -> None:
    bound, frame = entry(walk, function)
    returned = follow(walk, function, bound, Facts(), frame)
    for atom in of_kind(returned, "tuple"):
        update = atom.parts[2] if function.hook == "row" and len(atom.parts) == 3 else UNKNOWN
        if atom.at and any(not each.key for each in of_kind(update, "info")):
            walk.report(frame, "PHASE005", atom.at)


def _speaks_of_phases(function: Function, found: Definitions, lines: list[str]) -> bool:
    """Whether a function that no hook led to names a field, or has a phase in its own name."""
    if any(word in function.node.name.lower() for word in NAMES_A_PHASE):
        return True
    words = [*FIELD_KINDS, *(name for name, text in found.constants.items() if text in FIELDS)]
    its_lines = lines[function.node.lineno - 1 : function.node.end_lineno]
    return any(word in line for line in its_lines for word in words)


def _own_progress(walk: Walk) -> None:
    """Positions that the model keeps: reported where they are read, unless only to be counted on."""
    for key in walk.advanced:
        for at in walk.reads.get(key, set()) - walk.counted:
            walk.report(_hook_frame(walk), "PHASE006", at)


def _latched(walk: Walk, kept: dict[str, set[str]]) -> None:
    """Tests of stored state: any that stand beside the phase, and by themselves those of what never goes back."""
    for at, (keys, beside_the_phase) in walk.latches.items():
        stored = [key for key in keys if key in kept]
        if (beside_the_phase and stored) or any(is_latch(key, kept[key]) for key in stored):
            walk.report(_hook_frame(walk), "PHASE008", at)


def _hook_frame(walk: Walk) -> Frame:
    hooks = walk.found.hooks()
    return Frame(hooks[0], hooks[0].hook) if hooks else Frame(next(walk.found.all()), "")
