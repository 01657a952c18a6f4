"""Exceptions: ``# phase-contract: allow[rule] reason``, on the line of a finding or on a line of its own above."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from spec_examples.lint.finding import Finding, Place
from spec_examples.lint.rules import BY_NAME, UnknownRule, rule

COMMENT = re.compile(r"#\s*phase-contract:\s*(?P<rest>.*)")
ALLOW = re.compile(r"allow\s*\[(?P<rules>[^\]]*)\]\s*(?:[-:–—]\s*)?(?P<reason>.*)")


@dataclass(frozen=True)
class Allow:
    """One comment: the lines of code that it speaks of, the rules that it allows there, and what is wrong with it."""

    place: Place
    lines: range
    rules: tuple[str, ...]
    reason: str
    wrong: str = ""


def allows(text: str) -> Iterator[Allow]:
    """The comments in a source, in order."""
    if "phase-contract:" not in text:
        return
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for number, token in enumerate(tokens):
        found = COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
        if found:
            place = Place(token.start[0], token.start[1] + 1, token.end[0], token.end[1] + 1)
            yield _read(place, _lines(tokens, number), found["rest"].strip())


def _lines(tokens: list[tokenize.TokenInfo], number: int) -> range:
    """The lines that a comment speaks of: its own, or where it stands alone the statement that follows."""
    line = tokens[number].start[0]
    alone = not tokens[number].line[: tokens[number].start[1]].strip()
    if not alone:
        return range(line, line + 1)
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT)
    following = (token for token in tokens[number + 1 :] if token.type not in blank)
    first = next(following, None)
    if first is None:
        return range(line, line + 1)
    last = next((token.end[0] for token in following if token.type == tokenize.NEWLINE), first.end[0])
    return range(first.start[0], last + 1)


def _read(place: Place, lines: range, rest: str) -> Allow:
    found = ALLOW.match(rest)
    if found is None:
        return Allow(place, lines, (), "", "it is no allow[rule] with a reason")
    words = [word.strip() for word in found["rules"].split(",") if word.strip()]
    try:
        rules = tuple(rule(word).id for word in words)
    except UnknownRule as error:
        return Allow(place, lines, (), found["reason"], str(error))
    wrong = "it names no rule" if not rules else "" if found["reason"].strip() else "it gives no reason"
    return Allow(place, lines, rules, found["reason"].strip(), wrong)


def without_allowed(path: str, text: str, findings: list[Finding], active: frozenset[str]) -> tuple[list[Finding], int]:
    """The findings that stay, with those about the comments themselves, and how many were allowed.

    A comment without a reason allows nothing. ``active`` are the rules that are asked at all: a comment for another is
    left alone.
    """
    comments = list(allows(text))
    used: set[tuple[Place, str]] = set()
    stay = []
    for finding in findings:
        its = [c for c in comments if not c.wrong and finding.rule in c.rules and finding.place.line in c.lines]
        used |= {(comment.place, finding.rule) for comment in its}
        stay += [] if its else [finding]
    for comment in comments:
        if comment.wrong:
            stay.append(_about(path, comment, "PHASE101", comment.wrong))
        for name in comment.rules if not comment.wrong else ():
            if (comment.place, name) not in used and name in active:
                stay.append(_about(path, comment, "PHASE100", f"nothing here breaks {name} {BY_NAME[name].name}"))
    return [finding for finding in stay if finding.rule in active], len(findings) - sum(f in findings for f in stay)


def _about(path: str, comment: Allow, name: str, why: str) -> Finding:
    found = BY_NAME[name]
    return Finding(path, comment.place, name, f"{found.what}: {why}; {found.instead}")
