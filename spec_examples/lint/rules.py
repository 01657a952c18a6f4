"""The rules: what each looks for, why it matters, and what to write instead. Pages and command read from here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One rule. ``id`` and ``name`` are stable; ``clauses`` are the promises that a hit gives away or ignores."""

    id: str
    name: str
    what: str
    why: str
    instead: str
    clauses: tuple[str, ...] = ()


RULES = (
    Rule(
        "PHASE001",
        "phase-from-span",
        "the phase is taken from how many tokens are scheduled",
        "a one-token span is also the tail of a split prompt, or a prompt of one token; and a decode row of several"
        " tokens is a verify or a replay, not a prompt",
        'branch on info["_omni_is_prefill"]',
        ("FIELD-3", "ROUTE-5"),
    ),
    Rule(
        "PHASE002",
        "silent-span-fallback",
        "the flag is read, and where it is absent the span length is asked without a word",
        "without the flag the guess is wrong for the very rows that the flag was made for, and nothing says so",
        'read info["_omni_is_prefill"], so that its absence is an error',
        ("FIELD-3", "COMPAT-3"),
    ),
    Rule(
        "PHASE003",
        "silent-phase-default",
        "where the flag is absent, a fixed phase is assumed",
        "on a runner without the flag every row gets that phase, and nothing says so",
        'read info["_omni_is_prefill"], so that its absence is an error',
        ("FIELD-3",),
    ),
    Rule(
        "PHASE004",
        "silent-progress-default",
        "where the progress or the prompt length is absent, a value is made up",
        "a chunk that does not start the prompt then gets the embeddings of another place, and nothing says so",
        'read info["_omni_num_computed_tokens"] and info["_omni_prompt_len"], so that their absence is an error',
        ("FIELD-1", "FIELD-2"),
    ),
    Rule(
        "PHASE005",
        "field-written",
        "one of the three fields is written, handed back or removed",
        "they belong to the runner: what a model writes is gone at the next step, and misleads whoever reads it before",
        "keep the model's own values under keys of its own",
        ("FIELD-4", "FIELD-7"),
    ),
    Rule(
        "PHASE006",
        "own-progress",
        "the position in the prompt is a counter of the model's own, advanced by the rows it has seen",
        "after a preemption, or where a prefix was cached, the counter is not where the row is",
        'take the position from info["_omni_num_computed_tokens"]',
        ("FIELD-2", "FIELD-6"),
    ),
    Rule(
        "PHASE007",
        "one-token-decode",
        "the decode branch takes for granted that its row is one token",
        "a verified draft and a replay after a preemption are decode rows of several tokens",
        "fill every row of the span, or refuse a longer one with an error that says so",
        ("ROUTE-5",),
    ),
    Rule(
        "PHASE008",
        "latched-phase",
        "the phase is taken from what the model has stored of the request",
        "a resumed, preempted or growing request goes back to prefill, and what was stored does not",
        'branch on info["_omni_is_prefill"] alone, and start state anew where progress is 0',
        ("FIELD-6",),
    ),
    Rule(
        "PHASE009",
        "unpromised-key",
        "a key is read that the contract does not promise",
        "it may change or go with any release",
        "read the three fields, or let nothing depend on it that has to be right",
        ("SCOPE-1",),
    ),
    Rule(
        "PHASE010",
        "fields-too-early",
        "a field is read in preprocess_batch",
        "that boundary has no fresh values: what is there is of an earlier step, or nothing",
        "read the fields in preprocess and preprocess_decode_batch",
        ("HOOK-3",),
    ),
    Rule(
        "PHASE100",
        "unused-allow",
        "a comment allows what is not there",
        "an exception that nobody needs hides the next one that nobody meant",
        "remove the comment",
    ),
    Rule(
        "PHASE101",
        "unclear-allow",
        "a comment that allows has no reason, or names no rule",
        "whoever comes next has to know why",
        "write it as: # phase-contract: allow[phase-from-span] the reason",
    ),
)
"""Every rule, in the order of its id."""

BY_NAME = {key: rule for rule in RULES for key in (rule.id, rule.name)}


def chosen(select: list[str] | None, ignore: list[str] | None) -> frozenset[str]:
    """The ids that are selected and not ignored. Ids, names and beginnings of ids are taken.

    Raises ``UnknownRule`` for any other word.
    """
    selected = _ids(select) if select else frozenset(rule.id for rule in RULES)
    return selected - (_ids(ignore) if ignore else frozenset())


class UnknownRule(ValueError):
    """No rule has that id or name."""


def rule(word: str) -> Rule:
    """The rule with that id or name. Raises ``UnknownRule``."""
    found = BY_NAME.get(word) or BY_NAME.get(word.upper())
    if found is None:
        raise UnknownRule(f"no rule is called {word!r}; there are {', '.join(rule.id for rule in RULES)}")
    return found


def _ids(words: list[str]) -> frozenset[str]:
    found: set[str] = set()
    for word in (part.strip() for given in words for part in given.split(",")):
        starts = {each.id for each in RULES if word and each.id.startswith(word.upper())}
        found |= starts or {rule(word).id}
    return frozenset(found)
