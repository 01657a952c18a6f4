"""A known divergence is reported and green; one that is gone is red and says what to edit; a new one is red."""

from pathlib import Path

import pytest

from spec_examples.conformance.known import PAGE, known
from spec_examples.execution.page import ENDS_WITH_PROMPT
from spec_examples.gate.check import check
from spec_examples.gate.formats import github, sarif
from spec_examples.targets import Session, Target

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "contract").glob("*.md"))
STATE = "worker_v2/model_states/omni_model_state.py"
UNGUARDED = "if mtp_inputs is not None and n_tok == 1:"
GUARDED = "if mtp_inputs is not None and n_tok == 1 and not _is_prefill:"
FLAG = 'info["_omni_is_prefill"] = int(num_computed_tokens) < int(prompt_len)'


@pytest.fixture(scope="module")
def checked(runner_copy):
    """``checked((old, new), …)``: the report on a copy whose Model Runner V2 was edited, all clauses asked."""

    def run(*edits):
        with Session() as session:
            return check(PAGES, session, Target(str(runner_copy(*edits, file=STATE)), "v2"), complete=True)

    return run


def red(report):
    return [str(result) for result in report.results if result.outcome in ("failed", "error")]


def test_what_is_known_is_reported_and_green(checked):
    report = checked()
    assert red(report) == []
    assert report.exit_code == 0
    seen = {clause for result in report.results if result.outcome == "diverges" for clause in result.clauses}
    assert seen == set(known("0.30.0", "v2", gate=True))
    assert "::notice" in github.render(report)
    assert '"suppressions"' in sarif.render(report)


def test_a_divergence_that_was_mended_is_red_and_says_what_to_edit(checked):
    report = checked((UNGUARDED, GUARDED))
    assert report.exit_code == 1
    gone = [line for line in red(report) if line.startswith(f"{PAGE}:1: ")]
    assert len(gone) == 2
    shown = [line for line in red(report) if line not in gone]  # the pages that show it have to be changed as well
    assert all("prints something else" in line for line in shown), shown
    for clause, line in zip(("ROUTE-2", "ROUTE-3"), gone, strict=True):
        assert f"{clause} is kept here, so the known divergence 'v2-prefill-tail' is gone" in line
        assert "spec_examples/conformance/divergences.toml" in line


def test_a_divergence_that_is_new_is_red_beside_those_that_are_known(checked):
    report = checked((FLAG, FLAG.replace("<", "<=")))
    assert report.exit_code == 1
    assert "FIELD-3" in {each.clause for each in report.broken}
    assert any(result.outcome == "diverges" for result in report.results)


def test_the_generation_runner_is_green_where_a_page_goes_on_behind_the_prompt(session):
    report = check(PAGES, session, Target("installed", "generation"), complete=True)
    assert red(report) == []
    said = {result.message.partition(": ")[0] for result in report.results if result.outcome == "diverges"}
    assert said == {ENDS_WITH_PROMPT}


def test_and_red_where_it_breaks_a_promise(runner_copy):
    late = ("is_prefill = num_computed_tokens < prompt_len", "is_prefill = num_computed_tokens <= prompt_len")
    with Session() as session:
        report = check(PAGES, session, Target(str(runner_copy(late)), "generation"), complete=True)
    assert report.exit_code == 1
    assert "FIELD-3" in {each.clause for each in report.broken}


FORCED = "not run(Row(5, 5, 1)).steps[0].hooks"
SCHEDULED = "run(Request(5), limits=Limits(budget=8)).steps[2:]"


@pytest.mark.parametrize(
    ("expected", "outcome"), [(FORCED, "failed"), (SCHEDULED, "diverges")], ids=["rows", "requests"]
)
def test_what_a_page_expects_of_forced_rows_binds_it_too(tmp_path, session, expected, outcome):
    """Its requests end with their prompt; what it does with a row does not."""
    page = tmp_path / "page.md"
    page.write_text(
        f"# Page\n\n```python\nfrom spec_examples import Limits, Request, Row, run\n\nassert {expected}\n```\n"
    )
    (result,) = check([page], session, Target("installed", "generation")).results
    assert result.outcome == outcome
