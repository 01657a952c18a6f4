"""Exceptions: a comment with a rule and a reason, on the line or above it; itself reported where it allows nothing."""

import pytest
from small_models import findings, hook, rules

from spec_examples.lint import lint_source, parse

BRANCH = "if input_ids.numel() > 1:{}\n    return 1, 2, {{}}\nreturn 3, 4, {{}}"
ALLOW = "# phase-contract: allow[phase-from-span] chunking is off for this model"


@pytest.mark.parametrize("rule", ["phase-from-span", "PHASE001", "phase001", "field-written, phase-from-span"])
def test_on_the_line(rule: str) -> None:
    source = hook(BRANCH.format(f"  # phase-contract: allow[{rule}] chunking is off"))
    report = lint_source(parse("model.py", source))
    assert report.allowed == 1
    assert [finding.rule for finding in report.findings] == (["PHASE100"] if "," in rule else [])


def test_on_a_line_of_its_own_it_speaks_of_the_statement_below() -> None:
    assert rules(hook(f"{ALLOW}\n" + BRANCH.format(""))) == []
    assert rules(hook(f"{ALLOW}\n# and more of why\n\n" + BRANCH.format(""))) == []
    over_lines = "many = (\n    1\n    < input_ids.numel()\n)\nif many:\n    return 1, 2, {}\nreturn 3, 4, {}"
    assert rules(hook(f"{ALLOW}\n{over_lines}")) == []


def test_it_goes_no_further() -> None:
    body = f"{ALLOW}\nx = 1\n" + BRANCH.format("")
    assert rules(hook(body)) == ["PHASE100", "PHASE001"]
    assert rules(hook(BRANCH.format("") + f"  {ALLOW}")) == ["PHASE001", "PHASE100"]


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("# phase-contract: allow[phase-from-span]", "it gives no reason"),
        ("# phase-contract: allow[phase-from-span]   ", "it gives no reason"),
        ("# phase-contract: allow[] whatever", "it names no rule"),
        ("# phase-contract: allow[PHASE999] whatever", "no rule is called 'PHASE999'"),
        ("# phase-contract: allow phase-from-span", "it is no allow[rule] with a reason"),
        ("# phase-contract: ignore", "it is no allow[rule] with a reason"),
    ],
)
def test_a_comment_that_is_not_clear_allows_nothing(comment: str, said: str) -> None:
    found = findings(hook(BRANCH.format(f"  {comment}")))
    assert [finding.rule for finding in found] == ["PHASE001", "PHASE101"]
    assert said in found[1].message


def test_a_comment_that_allows_nothing_is_reported_with_its_rule() -> None:
    (finding,) = findings(hook(f"return 1, 2, {{}}  {ALLOW}"))
    assert finding.rule == "PHASE100"
    assert "nothing here breaks PHASE001 phase-from-span" in finding.message


def test_a_comment_for_a_rule_that_is_not_asked_is_left_alone() -> None:
    source = parse("model.py", hook(f"return 1, 2, {{}}  {ALLOW}"))
    assert lint_source(source, frozenset({"PHASE005", "PHASE100"})).findings == ()


def test_text_that_only_looks_like_a_comment() -> None:
    assert rules(hook(f'return 1, "{ALLOW}", {{}}')) == []
    assert rules(hook(f'text = """\n{ALLOW}\n"""\n' + BRANCH.format(""))) == ["PHASE001"]
