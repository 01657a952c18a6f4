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

    def __init__(self, container, workspace, tmp_path, **given):
        self.container, self.workspace = container, workspace
        self.summary, self.outputs_file = tmp_path / "summary", tmp_path / "outputs"
        inputs = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | given
        self.values = {f"inputs.{name}": value for name, value in inputs.items()}
        self.values["github.action_path"] = str(container.wheel)  # the wheel was built from the action's own source
        self.log, self.status = "", 0

    def run(self, steps=STEPS):
        for step in steps:
            self.summary.touch()
            self.outputs_file.touch()
            given = {name: EXPRESSION.sub(lambda m: self.values[m[1]], text) for name, text in step["env"].items()}
            files = {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self.outputs_file)}
            shell = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"])
            workspace = {"GITHUB_WORKSPACE": str(self.workspace)}
            done = self.container.run(*shell, folder=self.workspace, **given, **files, **workspace)
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
def job(container, tmp_path):
    """``job(folder, …)``: in an environment without any package."""
    return lambda folder, **given: Job(container, folder, tmp_path, **given)


def test_it_is_valid_by_the_schema_of_actions():
    schemas = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    jsonschema.validate(ACTION, json.loads((schemas / "github-actions.json").read_text(encoding="utf-8")))


def test_no_input_is_part_of_a_script_and_no_other_action_is_used():
    for step in STEPS:
        assert "${{" not in step["run"]
        assert "uses" not in step
        assert step["shell"] == "bash"


def test_its_steps_are_green_on_a_page_and_a_tree_that_agree(job, container, tree, line):
    done = job(tree(line), pages=container.page("contract/routing.md")).run()
    assert done.status == 0, done.log
    assert done.outputs == {"status": "0", "sarif": "phase-contract.sarif"}
    assert "## The phase contract: kept" in done.summary.read_text()
    assert "::error" not in done.log


def test_its_steps_annotate_a_tree_without_its_guard(job, tree, line):
    folder = tree(line, (GUARD, GUARD.replace(" and not is_prefill", "")))
    done = job(folder).run()
    assert done.status == 1, done.log
    assert re.search(rf"^::error file={RUNNER},line=\d+,title=ROUTE-3 is broken::", done.log, re.MULTILINE)
    assert done.outputs["status"] == "1"
    assert "### ROUTE-3: prefill keeps its embedding" in done.summary.read_text()
    rules = {r["ruleId"] for r in json.loads((folder / done.outputs["sarif"]).read_text())["runs"][0]["results"]}
    assert {"ROUTE-2", "ROUTE-3"} <= rules


def test_a_tree_that_does_not_start_is_told_from_a_question_that_could_not_be_asked(job, tree, line):
    done = job(tree(line, (GUARD, f"<<<<<<< ours\n{GUARD}"))).run()
    assert done.status == 3, done.log
    assert done.outputs == {"status": "3"}
    (annotation,) = re.findall(r"^::error title=phase contract::(.*)$", done.log, re.MULTILINE)
    assert "the tree does not start" in annotation
    assert f"{RUNNER}:" in annotation


@pytest.mark.parametrize("name", ["path", "runner", "release", "pages", "sarif"])
def test_an_input_that_looks_like_a_script_is_not_run(job, tmp_path, name):
    """Each is a wrong value, so the question cannot be asked, and that is all that happens."""
    mark = tmp_path / secrets.token_hex(4)
    folder = tmp_path / "empty"
    folder.mkdir()
    done = job(folder, **{name: f'x"; touch {mark}; $(touch {mark}) `touch {mark}` #\n--output={mark}'}).run()
    assert done.status == 2, done.log
    assert not mark.exists()
    assert done.outputs == {"status": "2"}
    assert "::error title=phase contract::could not be asked, so the runner was not judged" in done.log
