"""The clauses decide about a runner; the pages of the contract are executed on it, and drift where they say else.

Each copy of vLLM-Omni and each plugin is a process of its own.
"""

import json
from pathlib import Path

import pytest

from spec_examples.conformance.known import known
from spec_examples.contract.clauses import PROMISES
from spec_examples.gate.cli import main
from spec_examples.running import Context
from spec_examples.targets import Session, Target, resolve

SCALAR_GUARD = "if self.has_talker_mtp and span_len == 1 and not is_prefill:"
UNGUARDED = (SCALAR_GUARD, SCALAR_GUARD.replace(" and not is_prefill", ""))

PLUGIN = """
import inspect
import textwrap

import vllm_omni.worker.gpu_model_runner as shared
from vllm_omni.worker.gpu_ar_model_runner import GPUARModelRunner


def copied(method):
    scope = {}
    source = textwrap.dedent(inspect.getsource(getattr(shared.OmniGPUModelRunner, method)))
    exec(compile(source, "<a copy>", "exec"), shared.__dict__, scope)
    return scope[method]


class Inherits(GPUARModelRunner):
    pass


class HasItsOwn(GPUARModelRunner):
    _preprocess = copied("_preprocess")


class Stops(GPUARModelRunner):
    def _preprocess(self, scheduler_output, *arguments, **options):
        if len(scheduler_output.num_scheduled_tokens) > 2:
            raise LookupError("no third row")
        return super()._preprocess(scheduler_output, *arguments, **options)
"""

DRIFTING = """# Page

```python
from spec_examples import Row, run

assert run(Row(5, 5, 1)).environment.runner == "SomeOtherRunner"
```
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """``plugin(words…)`` runs ``check`` on a class of a plugin, from a folder that has nothing else."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "conforming_plugin.py").write_text(PLUGIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with Session(forking=True) as session:
            yield lambda cls, *words: main(
                ["check", *words, "--runner", f"conforming_plugin:{cls}"],
                context=Context(session, resolve(runner=f"conforming_plugin:{cls}")),
            )


def test_a_runner_without_its_guard_violates_two_clauses_and_they_come_first(runner_copy, capsys):
    folder = runner_copy(UNGUARDED)
    assert main(["check", "--clauses", "--vllm-omni", str(folder)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith("VIOLATED")] == [
        "VIOLATED ROUTE-2",
        "VIOLATED ROUTE-3",
    ]
    assert all("VIOLATED" not in line for line in lines[10:])
    assert lines[0].endswith("16 promises kept, 2 violated")
    assert any("phase-contract row --prompt-len 5 --computed 4 --span 1" in line for line in lines)
    source = (folder / "vllm_omni/worker/gpu_model_runner.py").read_text().splitlines()
    (guard,) = [number for number, line in enumerate(source, start=1) if line.strip() == UNGUARDED[1]]
    assert f"    look at    vllm_omni/worker/gpu_model_runner.py:{guard}" in lines


def test_a_plugin_that_keeps_the_contract_is_green_from_any_folder(plugin, capsys):
    status = plugin("HasItsOwn", "--format", "json")
    report = json.loads(capsys.readouterr().out)
    assert (status, report["broken"], report["stops"]) == (0, [], {})
    judged = {each["clause"]: each["verdict"] for each in report["clauses"]}
    assert {judged[clause] for clause in PROMISES} == {"passed"}
    assert report["summary"]["passed"] > 200, "the pages of the contract were executed on it"
    assert report["summary"]["failed"] == report["summary"]["error"] == report["summary"]["drifted"] == 0
    assert not [example["path"] for example in report["examples"] if not example["path"].startswith("docs/contract/")]


def test_so_is_an_empty_subclass(plugin, capsys):
    assert plugin("Inherits", "--clauses") == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("18 promises kept, 0 violated")


def test_a_runner_that_stops_by_itself_is_red(plugin, capsys):
    assert plugin("Stops", "--clauses") == 1
    out = capsys.readouterr().out
    assert "VIOLATED ROUTE-1" in out
    assert "LookupError: no third row" in out


@pytest.mark.parametrize(
    ("words", "status", "outcome"),
    [((), 1, "failed"), (("--drift=error",), 1, "failed"), (("--drift=report",), 0, "drifted")],
    ids=["a page that is named", "an error", "reported"],
)
def test_a_page_that_disagrees_with_a_runner_that_keeps_its_promises_has_drifted(
    session, site, capsys, words, status, outcome
):
    page = site("docs/page.md", DRIFTING)
    assert main(["check", str(page), *words, "--format", "json"], context=Context(session, Target())) == status
    report = json.loads(capsys.readouterr().out)
    assert [example["outcome"] for example in report["examples"]] == [outcome]
    assert report["broken"] == []


def test_drift_is_shown_with_its_place_and_counted(session, site, capsys):
    page = site("docs/page.md", DRIFTING)
    assert main(["check", str(page), "--drift=report"], context=Context(session, Target())) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("drifted ") for line in lines)
    assert any(f"{page.name}:6: drifted: does not hold on this runner" in line for line in lines)
    assert "0 passed, 0 failed, 1 drifted" in lines[-1]


def test_a_page_whose_run_violates_a_clause_has_not_drifted(runner_copy, site, capsys):
    page = site(
        "docs/page.md",
        "# Page\n\n```python\nfrom spec_examples import Row, run\n\nrun(Row(5, 4, 1), Row(5, 5, 1))\n```\n",
    )
    words = ["--vllm-omni", str(runner_copy(UNGUARDED)), "--drift=report"]
    assert main(["check", str(page), *words]) == 1
    assert "the runner breaks ROUTE-2, ROUTE-3" in capsys.readouterr().out


@pytest.mark.parametrize("version", ["0.16.0", "0.20.0"], ids=["read", "run"])
def test_what_is_older_than_the_contract_is_one_sentence_and_its_clauses(capsys, version):
    assert main(["check", "--vllm-omni", version]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("no phase fields, no guard: this tree predates vLLM-Omni 0.22.0 (pull request 3662)")
    assert len(lines) < 10
    (violated,) = [line.split()[1:] for line in lines if line.startswith("VIOLATED")]
    assert {"FIELD-1", "ROUTE-2", "ROUTE-3"} <= set(violated)


def test_a_release_that_can_only_be_read_is_read_again_where_others_run_again(capsys):
    words = ["check", "--clauses", "--vllm-omni", "0.16.0"]
    assert main(words) == 1
    recorded = capsys.readouterr().out
    assert main([*words, "--live"]) == 1
    assert capsys.readouterr().out == recorded


def test_what_a_runner_did_not_show_ends_the_report_with_the_reason(capsys):
    assert main(["check", "--clauses", "--vllm-omni", "0.20.0"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        "not exercised: HOOK-2 ROUTE-6: there is no batched hook: no row reached one"
    )


def test_a_known_divergence_goes_by_the_code_that_makes_the_phase():
    by_code = known("dev", "my_plugin:OnV2", "OmniModelState", gate=True)
    assert by_code == known("0.30.0", "v2", gate=True) != {}
    assert known("0.22.1", "v2", "OmniModelState", gate=True) == by_code, (
        "a version that a tree gives itself says nothing"
    )
    assert known("dev", "my_plugin:OnV2", "ItsOwnState", gate=True) == {}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check", "--clauses", "docs/index.md"], "--clauses executes no page: leave the PATH out"),
        (["check", "TREE"], "is a folder of vLLM-Omni: write check --vllm-omni"),
        (["check", "--drift", "maybe"], "invalid choice: 'maybe'"),
    ],
)
def test_a_question_that_cannot_be_asked(tmp_path, capsys, words, says):
    package = tmp_path / "vllm_omni" / "__init__.py"
    package.parent.mkdir()
    package.touch()
    assert main([str(tmp_path) if word == "TREE" else word for word in words]) == 2
    assert says in capsys.readouterr().err


def test_every_format_says_which_clauses_are_violated(runner_copy, tmp_path, monkeypatch):
    monkeypatch.chdir(runner_copy(UNGUARDED))
    formats = ("json", "junit", "github", "sarif", "markdown", "text")
    also = [word for name in formats for word in ("--also", f"{name}={tmp_path / name}")]
    assert main(["check", "--clauses", "--vllm-omni", ".", "--output", str(tmp_path / "out"), *also]) == 1
    reports = {name: Path(tmp_path, name).read_text() for name in formats}
    assert [each["clause"] for each in json.loads(reports["json"])["broken"]] == ["ROUTE-2", "ROUTE-3"]
    assert '<testcase classname="clauses" name="ROUTE-3 prefill keeps its embedding"' in reports["junit"]
    assert reports["junit"].count("<failure") == 2
    assert "::error file=vllm_omni/worker/gpu_model_runner.py,line=" in reports["github"]
    assert "title=ROUTE-3 is broken::" in reports["github"]
    assert [each["ruleId"] for each in json.loads(reports["sarif"])["runs"][0]["results"]] == ["ROUTE-2", "ROUTE-3"]
    assert "### ROUTE-3: prefill keeps its embedding" in reports["markdown"]
    assert "VIOLATED ROUTE-3" in reports["text"]
