"""How a page is executed: what passes, what is red, and where the report points."""

import pytest

from spec_examples.execution.page import PageExecution
from spec_examples.markdown import read
from spec_examples.targets import Target

RUN = "from spec_examples import Limits, Request, Row, rows, run, settings\n"


@pytest.fixture
def execute(tmp_path, session):
    def page(text, target=None):
        path = tmp_path / "docs" / "page.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Page\n\n{text}", encoding="utf-8")
        execution = PageExecution(read(path), session, target or Target())
        return [execution.evaluate(example) for example in execution.page.examples]

    return page


def outcomes(results):
    return [(result.line, result.outcome) for result in results]


def block(code, language="python", title=None):
    heading = f' title="{title}"' if title else ""
    return f"```{language}{heading}\n{code}\n```\n\n"


def test_blocks_share_a_namespace_and_output_is_compared(execute):
    text = (
        block(RUN + "trace = run(Row(5, 4, 1))")
        + block("print(rows(trace)[0].phase)")
        + block("prefill", "text", "Output")
    )
    assert {result.outcome for result in execute(text)} == {"passed"}


def test_another_output_is_red_at_its_line_and_shows_both(execute):
    text = block(RUN + "print(rows(run(Row(5, 4, 1)))[0].phase)\nprint(1)") + block("prefill\n2", "text", "Output")
    printing, shown = execute(text)
    assert printing.outcome == "passed"
    assert (shown.outcome, shown.line) == ("failed", 11)
    assert "-2" in shown.detail
    assert "+1" in shown.detail


def test_what_is_printed_has_to_be_shown(execute):
    (result,) = execute(block(RUN + "print(run(Row(5, 4, 1)).mtp)"))
    assert result.outcome == "failed"
    assert "prints what the page does not show" in result.message


def test_a_failed_assertion_is_red_at_its_line_and_quotes_it(execute):
    (result,) = execute(block(RUN + "trace = run(Row(5, 4, 1))\nassert rows(trace)[0].mtp"))
    assert (result.outcome, result.line) == ("failed", 6)
    assert "assert rows(trace)[0].mtp" in result.message


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("x = (", "SyntaxError"),
        ("raise GeneratorExit('no')", "GeneratorExit: no"),
        ("class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E", "its text cannot be read"),
    ],
)
def test_a_block_that_raises_is_red_without_a_traceback(execute, code, said):
    (result,) = execute(block(code))
    assert result.outcome == "failed"
    assert said in result.message
    assert "Traceback" not in str(result)


def test_a_command_that_has_a_fault_of_its_own_is_red_and_the_page_goes_on(execute, session, monkeypatch):
    def faulty(*_):
        raise ZeroDivisionError("no rows")

    monkeypatch.setattr(session, "run", faulty)
    row = "phase-contract row --prompt-len 5 --computed 4 --span 1"
    command, after = execute(block(f"$ {row}\nprefill", "console") + block("assert True"))
    assert (command.outcome, command.line) == ("failed", 4)
    assert command.message == f"{row} stopped: ZeroDivisionError: no rows"
    assert after.outcome == "passed"


def test_a_hook_that_raises_is_red_and_says_where(execute):
    wrong = (
        "from spec_examples.talker import ScalarTalker\n\n\nclass Wrong(ScalarTalker):\n"
        "    def preprocess(self, input_ids, input_embeds, **info):\n        raise KeyError('thinker')"
    )
    (result,) = execute(block(wrong, title="wrong.py"))
    assert result.outcome == "failed"
    assert "KeyError: 'thinker'" in result.message


def test_a_hook_that_raises_by_itself_is_the_talkers_error_and_breaks_no_clause(execute):
    code = (
        "from spec_examples.talker import ScalarTalker\n\n\nclass Own(ScalarTalker):\n"
        "    def preprocess(self, input_ids, input_embeds, **info):\n        raise ZeroDivisionError('its own')\n"
    )
    text = block(code, title="own.py") + block(RUN + 'run(Row(5, 4, 1), talker="own.py:Own")')
    *_, result = execute(text)
    assert (result.outcome, result.clauses) == ("failed", ())
    assert "the talker's own preprocess raised ZeroDivisionError: its own (own.py:6)" in result.detail
    assert "ROUTE-1" not in result.detail


def test_a_talker_shown_on_the_page_reaches_the_runner(execute):
    shown = (
        "from spec_examples.talker import ScalarTalker\n\n\nclass Sevens(ScalarTalker):\n"
        "    def preprocess(self, input_ids, input_embeds, **info):\n"
        "        ids, embeds, update = super().preprocess(input_ids, input_embeds, **info)\n"
        "        return ids, embeds.fill_(7.0), update"
    )
    use = (
        RUN + 'trace = run(Row(5, 0, 2), talker="sevens.py:Sevens")\nassert trace.steps[0].forward == ((7.0,) * 8,) * 2'
    )
    assert {r.outcome for r in execute(block(shown, title="sevens.py") + block(use))} == {"passed"}


@pytest.mark.parametrize(
    ("language", "written"),
    [
        ("yaml", "enable_chunked_prefill: false"),
        ("toml", "enable_chunked_prefill = false"),
        ("json", '{"enable_chunked_prefill": false}'),
    ],
)
def test_settings_are_executed_in_each_of_their_languages(execute, language, written):
    use = block(RUN + f"assert not settings('stage.{language}').chunked_prefill\nassert run(Request(2)).mtp")
    assert {r.outcome for r in execute(block(written, language, f"stage.{language}") + use)} == {"passed"}
    bad = execute(block(f"\n{written}\n- {{", language, f"stage.{language}"))[0]
    assert (bad.outcome, bad.line) == ("error", 6)
    assert bad.message.startswith(f"not {language.upper()}: ")
    unknown = execute(block(written.replace("chunked", "cut"), language, f"stage.{language}"))[0]
    assert "'enable_cut_prefill' is not one of" in unknown.message


def test_settings_reach_the_real_scheduler(execute):
    chunked = (
        "long = run(Request(100), Request(29), limits={})\n"
        "spans = [r.span for r in rows(long) if r.request == 'b']\nassert spans[:2] == {}"
    )
    on = block(RUN + chunked.format("Limits(budget=128)", "[28, 1]"))
    off = block(RUN + chunked.format('settings("stage.yaml")', "[29, 1]"))
    assert {r.outcome for r in execute(on + block("enable_chunked_prefill: false", "yaml", "stage.yaml") + off)} == {
        "passed"
    }


@pytest.mark.clause("COMPAT-1")
def test_a_claim_holds_inside_its_range_and_nowhere_else(execute):
    fields = (
        "    ```python\n    from spec_examples import Request, rows, run\n\n"
        "    assert all(not row.fields for row in rows(run(Request(5))))\n    ```\n"
    )
    right = '!!! warning "vLLM-Omni 0.21.0rc1 and earlier"\n\n' + fields
    assert outcomes(execute(right)) == [(3, "passed"), (5, "passed")]
    too_narrow = right.replace("0.21.0rc1", "0.20.0")
    claim, inside = execute(too_narrow)
    assert (claim.outcome, inside.outcome) == ("failed", "failed")
    assert "holds on vLLM-Omni 0.21.0rc1 too" in claim.message
    too_wide = right.replace("0.21.0rc1", "0.22.0")
    claim, _ = execute(too_wide)
    assert "on vLLM-Omni 0.22.0: does not hold" in claim.message


def test_a_claim_is_red_where_a_release_breaks_what_it_is_not_known_to(execute, monkeypatch):
    claim = (
        '!!! warning "vLLM-Omni 0.21.0rc1 and earlier"\n\n'
        "    ```python\n    from spec_examples import Row, rows, run\n\n"
        "    step = run(Row(5, 4, 1), Row(5, 5, 1))\n    assert rows(step)[0].mtp\n    ```\n"
    )
    assert {result.outcome for result in execute(claim)} == {"passed"}
    monkeypatch.setattr("spec_examples.execution.page.known", lambda *a, **k: dict.fromkeys(["ROUTE-2"]))
    _, inside = execute(claim)
    assert inside.outcome == "failed"
    assert "ROUTE-3" in inside.clauses
    assert "ROUTE-2" not in inside.clauses


def test_a_run_that_breaks_a_promise_is_red_whatever_the_block_asserts(execute):
    (result,) = execute(block(RUN + "assert run(Row(5, 4, 1), Row(5, 5, 1)).mtp"), Target("0.20.0"))
    assert result.outcome == "failed"
    assert {"FIELD-3", "ROUTE-3"} <= set(result.clauses)


def test_an_exclusion_without_a_row_that_took_mtp_is_no_example(execute, tmp_path, session):
    page = tmp_path / "docs" / "contract" / "routing.md"
    page.parent.mkdir(parents=True)
    page.write_text(
        "# Page\n\n[ROUTE-3](#ROUTE-3){#ROUTE-3} text\n\n" + block(RUN + "assert not rows(run(Row(5, 4, 1)))[0].mtp")
    )
    execution = PageExecution(read(page), session, Target())
    (result,) = [execution.evaluate(example) for example in execution.page.examples]
    assert result.outcome == "failed"
    assert "no row of this example took MTP" in result.message


def test_an_exempt_block_is_counted_with_its_reason(execute):
    (result,) = execute("<!-- not executed: it needs an accelerator -->\n\n" + block("1 / 0"))
    assert (result.outcome, result.message) == ("exempt", "it needs an accelerator")


def test_one_block_alone_brings_back_what_it_needs(tmp_path, session):
    path = tmp_path / "page.md"
    path.write_text("# Page\n\n" + block(RUN + "trace = run(Row(5, 5, 1))") + block("assert trace.mtp"))
    execution = PageExecution(read(path), session, Target())
    assert execution.evaluate(execution.page.examples[1]).outcome == "passed"


def test_an_admonition_without_a_range_passes_with_its_blocks(execute):
    inside = (
        "    ```python\n    from spec_examples import Row, rows, run\n\n"
        "    print(rows(run(Row(5, 4, 1)))[0].phase)\n    ```\n\n"
        '    ```text title="Output"\n    {}\n    ```\n'
    )
    note = '!!! note "A tail"\n\n'
    assert outcomes(execute(note + inside.format("prefill"))) == [(3, "passed"), (5, "passed"), (11, "passed")]
    assert outcomes(execute(note + inside.format("decode"))) == [(3, "failed"), (5, "passed"), (12, "failed")]
