"""Any text at all leads to findings or to one line, and always to the same; and findings lie inside the source."""

import ast

from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import hook

from spec_examples.lint import BadSource, Report, lint_source, parse

SPANS = st.sampled_from(["input_ids.numel()", "len(input_ids)", "input_ids.shape[0]", "input_embeds.size(0)", "n", "1"])
FLAGS = st.sampled_from(
    ['info["_omni_is_prefill"]', 'info.get("_omni_is_prefill")', 'info.get("_omni_is_prefill", n > 1)', "flag", "None"]
)
STORED = st.sampled_from(
    ['info.get("state")', 'info["at"]', "self.live", "self.live[0]", "state", "self.step(n, info)"]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    compared = st.tuples(inner, st.sampled_from([">", "!=", "==", "is", "is not", "in", "+", "-"]), inner)
    return st.one_of(
        compared.map(lambda t: f"({' '.join(t)})"),
        two.map(lambda t: f"({t[0]} or {t[1]})"),
        two.map(lambda t: f"({t[0]} and {t[1]})"),
        inner.map(lambda e: f"(not {e})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        inner.map(lambda e: f"int({e})"),
        inner.map(lambda e: f"isinstance({e}, bool)"),
        inner.map(lambda e: f'{{"state": {e}, "at": 1}}'),
        two.map(lambda t: f"self.step({t[0]}, {t[1]})"),
    )


EXPRESSIONS = st.recursive(st.one_of(SPANS, FLAGS, STORED), _larger, max_leaves=8)


def _block(lines: list[str]) -> str:
    return "\n".join("    " + line for text in lines for line in text.splitlines())


def _statements(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bodies = st.lists(inner, min_size=1, max_size=3).map(_block)
    return st.one_of(
        st.tuples(EXPRESSIONS, bodies).map(lambda t: f"if {t[0]}:\n{t[1]}"),
        st.tuples(EXPRESSIONS, bodies, bodies).map(lambda t: f"if {t[0]}:\n{t[1]}\nelse:\n{t[2]}"),
        st.tuples(bodies, bodies).map(lambda t: f"try:\n{t[0]}\nexcept KeyError:\n{t[1]}\nfinally:\n    n = 2"),
        st.tuples(EXPRESSIONS, bodies).map(lambda t: f"for each in {t[0]}:\n{t[1]}"),
        st.tuples(EXPRESSIONS, bodies).map(lambda t: f"while {t[0]}:\n{t[1]}\n    break"),
        st.tuples(EXPRESSIONS, bodies).map(lambda t: f"match {t[0]}:\n    case 1:\n{_block([t[1]])}"),
        bodies.map(lambda b: f"def inside(n):\n{b}\ninside(n)"),
    )


SIMPLE = st.one_of(
    EXPRESSIONS.map(lambda e: f"flag = {e}"),
    EXPRESSIONS.map(lambda e: f"n = {e}"),
    EXPRESSIONS.map(lambda e: f'info["at"] = {e}'),
    EXPRESSIONS.map(lambda e: f"self.live += {e}"),
    EXPRESSIONS.map(lambda e: f"return input_ids, state, {{'state': {e}}}"),
    EXPRESSIONS.map(lambda e: f"assert {e}"),
    st.sampled_from(["pass", "raise KeyError(n)", "state = info", "del flag", "state, n = input_ids.shape"]),
)
BODIES = st.lists(st.recursive(SIMPLE, _statements, max_leaves=8), min_size=1, max_size=6).map("\n".join)


def _linted(text: str) -> Report | None:
    """The report on a source; ``None`` where it was refused, in one line that says where."""
    refused = ""
    try:
        return lint_source(parse("model.py", text))
    except BadSource as error:
        refused = str(error)
    assert refused.startswith("model.py:")
    assert "\n" not in refused
    return None


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text(text: str) -> None:
    assert _linted(text) == _linted(text)


@given(BODIES, BODIES)
@settings(deadline=None, max_examples=80)
def test_any_model(body: str, helper: str) -> None:
    source = hook(body, "def step(self, n, info=None):\n" + "\n".join(f"    {line}" for line in helper.splitlines()))
    report = _linted(source)
    assert report is not None
    assert report == _linted(source)
    lines = source.splitlines()
    for finding in report.findings:
        place = finding.place
        assert 1 <= place.line <= place.end_line <= len(lines)
        assert 1 <= place.column <= len(lines[place.line - 1]) + 1


@given(BODIES)
@settings(deadline=None, max_examples=40)
def test_a_comment_allows_each_finding(body: str) -> None:
    """With an exception on every line that has a finding, nothing is left, and no exception is unused."""
    source = ast.unparse(ast.parse(hook(body)))
    report = _linted(source)
    assert report is not None
    lines = source.splitlines()
    for number in {finding.place.line for finding in report.findings}:
        its = ", ".join(sorted({f.rule for f in report.findings if f.place.line == number}))
        lines[number - 1] += f"  # phase-contract: allow[{its}] it is meant so"
    allowed = _linted("\n".join(lines) + "\n")
    assert allowed is not None
    assert (allowed.findings, allowed.allowed) == ((), len(report.findings))
