"""What is kept while hooks are followed: where the walk is, and what it has seen."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field, replace

from spec_examples.lint.definitions import Definitions, Function, FunctionNode
from spec_examples.lint.finding import Finding, Place
from spec_examples.lint.rules import BY_NAME
from spec_examples.lint.values import UNKNOWN, Facts, Value, join, leaves, of_kind, place

SNIPPET = 64
"""Characters of source that a message shows."""

HOOKS_ALONE = frozenset({"PHASE001", "PHASE005", "PHASE006", "PHASE007", "PHASE008", "PHASE009"})
"""Rules about what a hook does; a function that no hook calls is asked the others only."""


@dataclass
class Frame:
    """One call of a function that is being followed. ``hook`` is empty where no hook led here."""

    function: Function
    hook: str
    self_class: str = ""
    returns: list[Value] = field(default_factory=list)
    local_functions: dict[str, tuple[FunctionNode, Env]] = field(default_factory=dict)
    embedding_names: frozenset[str] = frozenset()


@dataclass
class Env:
    """What is known at one place: the variables, and the facts."""

    variables: dict[str, Value]
    facts: Facts
    frame: Frame

    def copy(self, facts: Facts | None = None) -> Env:
        """The same, to go on separately."""
        return Env(dict(self.variables), facts or self.facts, self.frame)


@dataclass
class Walk:
    """What was seen so far of one module.

    ``advanced`` are the keys of the model's own state that are moved on by a span; ``reads`` where a key is read,
    and ``counted`` those reads that only count on. ``latches`` are tests of stored state that wait for the end, when
    all that is written is known. ``done`` and ``active`` keep a call from being followed twice or without end.
    """

    path: str
    found: Definitions
    findings: dict[tuple[str, Place], Finding] = field(default_factory=dict)
    texts: dict[Place, str] = field(default_factory=dict)
    advanced: set[str] = field(default_factory=set)
    reads: dict[str, set[Place]] = field(default_factory=lambda: defaultdict(set))
    counted: set[Place] = field(default_factory=set)
    latches: dict[Place, tuple[frozenset[str], bool]] = field(default_factory=dict)
    one_token: set[FunctionNode] = field(default_factory=set)
    visited: set[FunctionNode] = field(default_factory=set)
    done: dict[object, Value] = field(default_factory=dict)
    active: list[FunctionNode] = field(default_factory=list)
    embeddings: dict[FunctionNode, frozenset[str]] = field(default_factory=dict)

    def report(self, frame: Frame, rule: str, at: Place, text: str = "") -> None:
        """Keep a finding, once for each place."""
        if rule in HOOKS_ALONE and not frame.hook:
            return
        shown = text or self.texts.get(at, "")
        said = f"{BY_NAME[rule].what}: `{shown}`" if shown else BY_NAME[rule].what
        self.findings.setdefault((rule, at), Finding(self.path, at, rule, f"{said}; {BY_NAME[rule].instead}"))

    def at(self, node: ast.expr | ast.stmt | ast.arg) -> Place:
        """The place of a node, whose text is kept for a message."""
        where = place(node)
        if where not in self.texts:
            text = " ".join(ast.unparse(node).split())
            self.texts[where] = text if len(text) <= SNIPPET else f"{text[: SNIPPET - 1]}…"
        return where


def merged(walk: Walk, frame: Frame, values: list[Value]) -> Value:
    """What may be any of ``values``. Where one is the flag and another a guess, the guess is reported."""
    flags = [v for v in values if of_kind(v, "flag", "maybe")]
    if flags:
        values = [v if v in flags else _without_guess(walk, frame, v) for v in values]
    return join(values)


def _without_guess(walk: Walk, frame: Frame, guess: Value) -> Value:
    """A value that stands in for the flag: reported, and then nothing."""
    spans = [leaf for leaf in leaves(guess) if leaf.kind == "many?" and leaf.at]
    for leaf in spans:
        walk.report(frame, "PHASE002", leaf.at)  # type: ignore[arg-type]
    constants = [atom for atom in of_kind(guess, "constant") if atom.key in ("True", "False") and atom.at]
    for atom in constants:
        walk.report(frame, "PHASE003", atom.at)  # type: ignore[arg-type]
    return UNKNOWN if spans or constants else guess


def joined(walk: Walk, envs: list[Env | None]) -> Env | None:
    """Where branches meet again; ``None`` where none of them goes on."""
    alive = [env for env in envs if env is not None]
    if len(alive) < 2:
        return alive[0] if alive else None
    first = alive[0]
    names = set().union(*(env.variables for env in alive))
    variables: dict[str, Value] = {}
    for name in names:
        values = [env.variables[name] for env in alive if name in env.variables]
        variables[name] = values[0] if len(set(values)) == 1 else merged(walk, first.frame, values)
    facts = alive[0].facts
    for env in alive[1:]:
        facts = replace(
            facts,
            phase=facts.phase if facts.phase == env.facts.phase else "",
            span=facts.span if facts.span == env.facts.span else "",
            absent=facts.absent and env.facts.absent,
            present=facts.present and env.facts.present,
        )
    return Env(variables, facts, first.frame)
