"""What a condition decides, and by what: the rules about phases."""

from __future__ import annotations

from dataclasses import replace

from spec_examples.lint.finding import Place
from spec_examples.lint.values import Atom, Facts, Value, leaves, refined
from spec_examples.lint.walk import Env, Walk


def decide(walk: Walk, env: Env, condition: Value, at: Place, *, splits: bool = True) -> None:
    """Something depends on ``condition``: report by what it takes the phase.

    ``splits`` says that both outcomes go different ways; else only something is done in addition where it is true.
    """
    _decide(walk, env, env.facts, condition, splits)
    tests = list(leaves(condition))
    if tests and all(leaf.kind == "stored?" for leaf in tests):
        keys = frozenset(leaf.key for leaf in tests)
        walk.latches.setdefault(at, (keys, False))


def _decide(walk: Walk, env: Env, facts: Facts, condition: Value, splits: bool) -> None:
    for atom in condition:
        if atom.kind == "many?":
            _by_span(walk, env, facts, atom)
        elif atom.kind == "maybe" and atom.at:
            walk.report(env.frame, "PHASE003", atom.at)
        elif atom.kind in ("and", "or"):
            _combined(walk, env, facts, atom, splits)


def _by_span(walk: Walk, env: Env, facts: Facts, atom: Atom) -> None:
    if facts.phase or facts.span or atom.at is None:
        return
    walk.report(env.frame, "PHASE002" if facts.absent else "PHASE001", atom.at)


def _combined(walk: Walk, env: Env, facts: Facts, atom: Atom, splits: bool) -> None:
    """``and`` and ``or``: which of their parts speak of the phase, and whether they speak against each other."""
    direct = [leaf for part in atom.parts if len({each.kind for each in part}) == 1 for leaf in part]
    flags = [leaf for leaf in direct if leaf.kind in ("flag", "maybe")]
    spans = [leaf for leaf in direct if leaf.kind == "many?"]
    _silent_presence(walk, env, atom, direct, flags)
    _with_stored(walk, env, facts, atom, direct)
    if flags and spans and not facts.phase:
        prefill = any(leaf.sense for leaf in flags)
        for leaf in spans:
            if atom.kind == "or" or (splits and prefill and leaf.sense):
                _by_span(walk, env, replace(facts, span=""), leaf)
    going = facts
    for part in atom.parts:
        if not (flags and len(part) == 1 and next(iter(part)).kind == "many?"):
            _decide(walk, env, going, part, splits)
        if atom.kind == "and":
            going = refined(going, part, True)


def _silent_presence(walk: Walk, env: Env, atom: Atom, direct: list[Atom], flags: list[Atom]) -> None:
    """``flag is not None and flag`` is decode where there is none; ``flag is None or flag`` is prefill."""
    for leaf in direct:
        if leaf.kind == "present?" and leaf.sense == (atom.kind == "and") and flags and leaf.at:
            walk.report(env.frame, "PHASE003", leaf.at)


def _with_stored(walk: Walk, env: Env, facts: Facts, atom: Atom, direct: list[Atom]) -> None:
    """A phase that stored state may overrule: ``prefill or not started``, ``decode and started``."""
    prefill = atom.kind == "or"
    phases = [leaf for leaf in direct if leaf.kind in ("flag", "maybe", "many?") and leaf.sense == prefill]
    stored = frozenset(leaf.key for leaf in direct if leaf.kind == "stored?")
    if phases and stored and not facts.phase and atom.at:
        walk.latches[atom.at] = (stored, True)
