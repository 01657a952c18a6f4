"""The steps of ``action.yml``, run one after the other as the Actions runner does, in the folder of a checkout."""

import importlib.resources
import json
import re
import secrets
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
GUARD = "if self.has_talker_mtp and span_len == 1 and not is_prefill:"
RUNNER = "vllm_omni/worker/gpu_model_runner.py"
EXPRESSION = re.compile(r"\$\{\{\s*([\w.]+)\s*\}\}")


class Job:
    """Runs the steps in a workspace. ``given`` are inputs that differ from their defaults."""

    def __init__(self, installed, workspace, source, tmp_path, **given):
        self.installed, self.workspace = installed, workspace
        self.summary, self.outputs_file = tmp_path / "summary", tmp_path / "outputs"
        inputs = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | given
        self.values = {f"inputs.{name}": value for name, value in inputs.items()}
        self.values["github.action_path"] = str(source)
        self.log, self.status = "", 0

    def run(self, steps=STEPS):
        for step in steps:
            self.summary.touch()
            self.outputs_file.touch()
            given = {name: EXPRESSION.sub(lambda m: self.values[m[1]], text) for name, text in step["env"].items()}
            files = {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self.outputs_file)}
            shell = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"])
            workspace = {"GITHUB_WORKSPACE": str(self.workspace)}
            done = self.installed.run(*shell, folder=self.workspace, **given, **files, **workspace)
            self.log += done.stdout + done.stderr
            self.status = done.returncode
            if self.status:
                break
        return self

    @property
    def outputs(self):
        """As the runner reads the file: ``name=value`` lines, and values of several lines between delimiters."""
        found, lines = {}, iter(self.outputs_file.read_text().splitlines())
        for line in lines:
            name, delimiter, end = line.partition("<<")
            if delimiter:
                found[name] = "\n".join(iter(lambda: next(lines), end))
            else:
                found[line.partition("=")[0]] = line.partition("=")[2]
        return found


@pytest.fixture
def job(installed, archives, tmp_path):
    """``job(folder, …)``: the action's own source is the wheel, since nothing may be fetched to build it here."""
    return lambda folder, **given: Job(installed, folder, archives[1], tmp_path, **given)


def test_it_is_valid_by_the_schema_of_actions():
    schemas = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    jsonschema.validate(ACTION, json.loads((schemas / "github-actions.json").read_text(encoding="utf-8")))


def test_no_input_is_part_of_a_script_and_no_other_action_is_used():
    for step in STEPS:
        assert "${{" not in step["run"]
        assert "uses" not in step
        assert step["shell"] == "bash"


def test_its_steps_are_green_on_an_unedited_checkout(job, checkout, routing):
    done = job(checkout(), pages=routing).run()
    assert done.status == 0, done.log
    assert done.outputs == {"status": "0", "sarif": "phase-contract.sarif"}
    assert "## The phase contract: kept" in done.summary.read_text()
    assert "::error" not in done.log


def test_its_steps_annotate_a_checkout_without_its_guard(job, checkout, routing):
    folder = checkout((GUARD, GUARD.replace(" and not is_prefill", "")))
    done = job(folder, pages=routing).run()
    assert done.status == 1
    assert re.search(rf"^::error file={RUNNER},line=\d+,title=ROUTE-3 is broken::", done.log, re.MULTILINE)
    assert done.outputs["status"] == "1"
    summary = done.summary.read_text()
    assert "### ROUTE-3: prefill keeps its embedding" in summary
    assert "docs/contract/routing.md:" in summary
    rules = {r["ruleId"] for r in json.loads((folder / done.outputs["sarif"]).read_text())["runs"][0]["results"]}
    assert {"ROUTE-2", "ROUTE-3"} <= rules


@pytest.mark.parametrize("name", ["path", "runner", "release", "pages", "sarif"])
def test_an_input_that_looks_like_a_script_is_not_run(job, tmp_path, name):
    """Each is a wrong value, so the question cannot be asked, and that is all that happens."""
    mark = tmp_path / secrets.token_hex(4)
    folder = tmp_path / "empty"
    folder.mkdir()
    done = job(folder, **{name: f'x"; touch {mark}; $(touch {mark}) `touch {mark}` #\n--output={mark}'}).run(STEPS[1:])
    assert done.status == 2, done.log
    assert not mark.exists()
    assert done.outputs == {"status": "2"}
    assert "::error title=phase contract::could not be asked" in done.log
