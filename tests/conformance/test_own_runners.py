"""A plugin's runner is judged from a folder, and a wrong one gets exactly its own clauses red.

The guide for runner authors shows these runs; here they are made, and the guide is held against them.
"""

import json
import re
from pathlib import Path

import pytest

from spec_examples.conformance.matrix import judge_runner, unexpected
from spec_examples.contract.clauses import CLAUSES, PROMISES
from spec_examples.gate.cli import main
from spec_examples.running import Context
from spec_examples.targets import Session, resolve
from spec_examples.targets.bounds import Bounds

HERE = Path(__file__).parent
GUIDE = HERE.parents[1] / "docs" / "guides" / "runner-authors.md"

WRONG = {
    "MyModelRunner": (),
    "NumpyLength": ("FIELD-1",),
    "NumpyProgress": ("FIELD-2",),
    "NumpyFlag": ("FIELD-3",),
    "OneStepLate": ("FIELD-4", "FIELD-3", "FIELD-6"),
    "NewestTokenFirst": ("FIELD-5",),
    "DecodeForEver": ("FIELD-6", "FIELD-3", "FIELD-4"),
    "BelievesTheModel": ("FIELD-7", "FIELD-2", "FIELD-4"),
    "ForgetsTheLength": ("HOOK-1", "FIELD-1", "FIELD-4", "FIELD-5", "FIELD-6", "FIELD-7", "ROUTE-6"),
    "BatchAsPrefill": ("HOOK-2", "FIELD-3", "FIELD-4", "FIELD-6"),
    "ReplacesNestedState": ("STATE-1", "ROUTE-6"),
    "RemembersTheEnded": ("STATE-2", "ROUTE-6"),
    "ScalarWhenMixed": ("ROUTE-1",),
    "MtpTwice": ("ROUTE-2",),
    "TouchesPrompt": ("ROUTE-3",),
    "MtpAtTheWrongOffset": ("ROUTE-4",),
    "TouchesLongSpans": ("ROUTE-5",),
    "ScalesTheBatch": ("ROUTE-6",),
    "KeepsTheSchedulersIds": ("ROUTE-8",),
}
"""The clause that each runner of the plugin breaks, and then those that cannot be kept with it.

A value that is stale, latched or the model's is also a wrong value, and one that does not arrive has no value at all.
"""

SOUND = (
    "runner:MyModelRunner",
    "sound:OneByOne",
    "sound:ForgetsThePreempted",
    "sound:IgnoresSeeds",
    "sound:OtherName",
)
"""Runners of the plugin that keep the contract, each in a way of its own."""

SHOWN = (
    "MyModelRunner",
    "NumpyLength",
    "NumpyFlag",
    "ScalarWhenMixed",
    "TouchesPrompt",
    "MtpAtTheWrongOffset",
    "TouchesLongSpans",
)
"""Those that the guide shows."""


@pytest.fixture(scope="module")
def plugins():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE))
        with Session(bounds=Bounds(scenario_s=60)) as session:
            yield session


@pytest.fixture(scope="module")
def judged(plugins):
    """One record a runner; as they are of one module, they share a process."""
    return {name: judge_runner(plugins, resolve(runner=f"my_plugin.runner:{name}")) for name in WRONG}


@pytest.mark.parametrize("name", WRONG)
def test_exactly_its_own_clauses_are_red(judged, name):
    cells = judged[name].cells
    assert {clause for clause, cell in cells.items() if cell.verdict == "failed"} == set(WRONG[name])
    others = set(PROMISES) - set(WRONG[name])
    assert {cells[clause].verdict for clause in others} == {"passed"}


def test_every_promise_has_a_runner_that_breaks_it():
    assert [broken[0] for broken in WRONG.values() if broken] == list(PROMISES)


@pytest.mark.parametrize("name", [name for name, broken in WRONG.items() if broken])
def test_a_check_of_the_clause_s_page_is_red_on_it_and_on_nothing_else(plugins, name, capsys):
    page = HERE.parents[1] / CLAUSES[WRONG[name][0]].page
    target = resolve(runner=f"my_plugin.runner:{name}")
    status = main(["check", str(page), "--format", "json", "--runner", target.runner], context=Context(plugins, target))
    out, err = capsys.readouterr()
    assert status == 1, err
    report = json.loads(out)
    assert WRONG[name][0] in {clause for example in report["examples"] for clause in violated(example)}
    assert {each["clause"] for each in report["broken"]} <= set(WRONG[name])


@pytest.mark.clause("OWN-2")
@pytest.mark.parametrize("name", SOUND)
def test_the_pages_hold_on_a_runner_that_keeps_the_contract(plugins, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    contract = HERE.parents[1] / "docs" / "contract"
    pages = [str(page) for page in sorted(contract.glob("*.md")) if page.name != "compatibility.md"]
    target = resolve(runner=f"my_plugin.{name}")
    status = main(["check", *pages, "--format", "json", "--runner", target.runner], context=Context(plugins, target))
    out, err = capsys.readouterr()
    red = [f"{each['id']} {each['message']}" for each in json.loads(out)["examples"] if each["outcome"] != "passed"]
    assert (status, red) == (0, []), err


def violated(example):
    return example["clauses"] if example["outcome"] == "failed" else ()


@pytest.mark.parametrize("name", WRONG)
def test_the_first_line_of_a_wrong_runner_says_what_is_wrong(judged, name):
    """The fault comes first, and each other clause says from which it follows."""
    lines = unexpected(judged[name])
    violated = judged[name].violated(gate=False)
    assert set(violated) == set(WRONG[name])
    for line, clause in zip(lines, violated, strict=True):
        assert f"runner my_plugin.runner:{name}: {clause} fails" in line
        assert "\n" not in line
    assert not any("(follows from" in line for line in lines[:1])


@pytest.mark.clause("OWN-1", "OWN-2")
def test_a_runner_that_overrides_the_producer_is_told_that_it_answers_for_itself(judged):
    assert judged["MyModelRunner"].cells["OWN-1"].verdict == "passed"
    own = judged["TouchesPrompt"].cells["OWN-1"]
    assert (own.verdict, "TouchesPrompt produces here, see OWN-2" in own.message) == ("not-applicable", True)


def test_a_runner_that_is_not_there_is_not_runnable(plugins):
    record = judge_runner(plugins, resolve(runner="my_plugin.runner:NoSuchRunner"))
    promises = {record.cells[clause].verdict for clause, each in CLAUSES.items() if each.kind == "promise"}
    assert promises == {"not-runnable"}
    assert "NoSuchRunner" in record.cells["ROUTE-1"].message


def test_the_guide_shows_the_files_as_they_are():
    text = GUIDE.read_text(encoding="utf-8")
    code = (HERE / "my_plugin" / "runner.py").read_text(encoding="utf-8")
    shown = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    own = [part for block in shown if "class" in block for part in block.split("\n\n\n")]
    assert len(own) == len(SHOWN)
    for part in own:
        assert part.strip() in code, part


def test_the_guide_shows_the_verdicts_as_they_are(judged):
    from spec_examples.gate.commands.matrix import as_table

    text = GUIDE.read_text(encoding="utf-8")
    shown = [judged[name] for name in SHOWN]
    for line in as_table(shown):
        assert line in text
    for record in shown:
        for line in unexpected(record):
            assert line in text


def test_json_has_the_stable_names(judged):
    from spec_examples.gate.commands.matrix import _as_json

    results = json.loads(_as_json([judged["NumpyFlag"]]))["results"]
    assert len(results) == len(CLAUSES)
    for result in results:
        assert {"vllm_omni", "runner", "clause", "verdict", "how", "known", "evidence", "recorded"} <= result.keys()
        assert result["verdict"] in ("passed", "failed", "not-applicable", "not-runnable")
        assert result["how"] in ("run", "read")
        assert result["known"] is False
