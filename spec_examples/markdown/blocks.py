"""The parser that finds examples: markdown-it with tables, admonitions and content tabs, every construct located.

markdown-it gives constructs their lines. Rewriting a cell and pointing at a column also take the place inside the line,
behind the list marks, quote marks and indentation that only the block rules know; so these rules note it in ``meta``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from markdown_it import MarkdownIt, rules_block
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.admon.index import admonition

Rule = Callable[[StateBlock, int, int, bool], bool]

_ANYWHERE = ["paragraph", "reference", "blockquote", "list"]
_LOCATED = {"fence", "code_block", "tr_open", "admonition_open"}
_TAB = re.compile(r'===(?:\+|\+!|!\+|!)? +"(.*?)" *$')
_DEEPEST = 100

MOST_MARKS = {"[": 1000, "<": 2000}
"""How often a mark that may open something can stand in one paragraph, cell or piece of HTML.

What a reader takes for each of them grows with all the others.
"""


class TooDense(ValueError):
    """``line``, counted from 1, begins a paragraph with more open marks than can be read in reasonable time."""

    def __init__(self, line: int, mark: str, count: int) -> None:
        super().__init__(f"{count} {mark!r} in one paragraph, of at most {MOST_MARKS[mark]}: cut it into several")
        self.line = line


def parse(body: str) -> list[Token]:
    """The tokens of ``body``, inline content included.

    Tokens of ``fence``, ``code_block``, ``tr_open`` and ``admonition_open`` have ``meta`` ``start`` and ``end``: the
    offsets in ``body`` of the construct (of a row or an admonition: of its line), without what surrounds it. A fence
    has ``closed`` too.

    Raises ``TooDense``.
    """
    return _parser().parse(body)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table").use(admon_plugin)
    ruler = parser.block.ruler
    ruler.at("table", _located(rules_block.table), {"alt": ["paragraph", "reference"]})
    ruler.at("code", _located(rules_block.code), {"alt": []})
    ruler.at("fence", _located(rules_block.fence), {"alt": _ANYWHERE})
    ruler.at("admonition", _located(admonition), {"alt": _ANYWHERE})
    ruler.before("fence", "content_tab", content_tab, {"alt": _ANYWHERE})
    parser.core.ruler.after("block", "not_too_dense", _not_too_dense)
    return parser


def _not_too_dense(state: StateCore) -> None:
    """Between block and inline rules: nothing is read that would take for ever."""
    for token in state.tokens:
        for mark, most in MOST_MARKS.items() if token.type in ("inline", "html_block") else ():
            if (count := token.content.count(mark)) > most:
                raise TooDense((token.map or [0])[0] + 1, mark, count)


def _located(rule: Rule) -> Rule:
    def run(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
        first = len(state.tokens)
        if not rule(state, start_line, end_line, silent):
            return False
        for token in [] if silent else state.tokens[first:]:
            if token.type in _LOCATED and "start" not in token.meta and token.map:
                token.meta = {**token.meta, **_place(state, token)}
        return True

    return run


def _place(state: StateBlock, token: Token) -> dict[str, int | bool]:
    assert token.map is not None
    first = token.map[0]
    own = first if token.type in ("tr_open", "admonition_open") else token.map[1] - 1
    place: dict[str, int | bool] = {"start": state.bMarks[first] + state.tShift[first], "end": state.eMarks[own]}
    if token.type == "fence":
        place["closed"] = own > first and not state.is_code_block(own) and _closes(_line(state, own), token.markup)
    return place


def _closes(line: str, markup: str) -> bool:
    line = line.rstrip(" \t")
    return len(line) >= len(markup) and set(line) == {markup[0]}


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def content_tab(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """The block rule of ``=== "Title"`` with a body indented by four spaces, as pymdownx.tabbed reads it."""
    if state.is_code_block(start_line) or not _TAB.match(_line(state, start_line)):
        return False
    if silent:
        return True
    parent, line_max, indent = state.parentType, state.lineMax, state.blkIndent
    state.parentType = "content_tab"
    # Counted from the mark, which a list may have indented.
    state.blkIndent = state.sCount[start_line] + 4
    line = start_line + 1
    while line < end_line and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
        line += 1
    state.lineMax = line
    opening = state.push("content_tab_open", "div", 1)
    opening.map = [start_line, line]
    state.md.block.tokenize(state, start_line + 1, line)
    state.push("content_tab_close", "div", -1)
    state.parentType, state.lineMax, state.blkIndent, state.line = parent, line_max, indent, line
    return True
