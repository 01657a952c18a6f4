"""Every snippet of the page on CI: its YAML against the schema of who reads it, its commands by running them."""

import importlib.resources
import json
import re
import shutil

import jsonschema
import pytest
import yaml

from spec_examples import pages
from spec_examples.markdown import read

PAGE = pages.folder() / "guides" / "ci.md"
ACTION = yaml.safe_load((pages.root() / "action.yml").read_text(encoding="utf-8"))
HOOKS = {h["id"]: h for h in yaml.safe_load((pages.root() / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
BLOCKS = [example for example in read(PAGE).examples if example.kind == "block"]
SHELL = [b.source for b in BLOCKS if b.language == "bash"]
YAML = [yaml.safe_load(b.source) for b in BLOCKS if b.language == "yaml"]
WORKFLOW, PIPELINE, PRE_COMMIT = YAML


def schema(name):
    folder = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def test_no_snippet_but_the_python_ones_is_left_to_this_test_in_silence():
    assert {b.language for b in BLOCKS if b.exempt} == {"bash", "yaml"}
    assert {b.language for b in BLOCKS if not b.exempt} == {"python", "text"}


def test_the_workflow_is_valid_and_may_only_read():
    text = next(b.source for b in BLOCKS if "jobs:" in b.source)
    workflow = {"on" if key is True else key: value for key, value in WORKFLOW.items()}  # YAML 1.1 reads on as true
    jsonschema.validate(workflow, schema("github-workflows"))
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "secrets" not in text


def test_each_action_that_the_workflow_uses_is_named_by_its_full_hash():
    used = [step["uses"] for step in WORKFLOW["jobs"]["runner"]["steps"] if "uses" in step]
    assert [use for use in used if not re.fullmatch(r"[\w-]+/[\w-]+@(?:[0-9a-f]{40}|COMMIT)", use)] == []


def test_the_inputs_are_those_of_the_action_with_their_defaults():
    (step,) = (s for s in WORKFLOW["jobs"]["runner"]["steps"] if "omni-phase-contract" in s.get("uses", ""))
    assert set(step["with"]) <= set(ACTION["inputs"])
    listed = re.findall(r"^- `(\w+)` \((.*?)\): ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    defaults = {name: "" if said == "none" else said.strip("`") for name, said in listed}
    assert defaults == {name: each.get("default", "") for name, each in ACTION["inputs"].items()}


def test_the_pipeline_is_valid():
    jsonschema.validate(PIPELINE, schema("buildkite"))


def test_the_hook_of_the_page_is_one_of_this_repository_and_runs_where_a_runner_changed():
    (repository,) = PRE_COMMIT["repos"]
    ids = [hook["id"] for hook in repository["hooks"]]
    assert ids == ["phase-contract"]
    assert re.search(HOOKS["phase-contract"]["files"], "vllm_omni/worker/gpu_model_runner.py")
    assert not re.search(HOOKS["phase-contract"]["files"], "vllm_omni/entrypoints/omni.py")
    assert re.search(HOOKS["phase-contract-pages"]["files"], "docs/contract/routing.md")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(SHELL[0], id="shell"),
        pytest.param("\n".join(PIPELINE["steps"][0]["commands"]).replace("$$", "$"), id="Buildkite"),
        pytest.param(HOOKS["phase-contract"]["entry"], id="pre-commit"),
    ],
)
def test_its_commands_gate_a_checkout(installed, archives, checkout, script):
    """``$$`` is Buildkite's way to write ``$``. The folder has pages of the contract, so these are checked."""
    shell = ("bash", "-e", "-c", script)
    folder = checkout()
    shutil.copytree(pages.folder() / "contract", folder / "docs" / "contract")
    shutil.copy(pages.root() / "mkdocs.yml", folder)
    done = installed.run(*shell, folder=folder, PHASE_CONTRACT=str(archives[1]))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout
    if "junit=" in script:
        assert (folder / "phase-contract.xml").read_text().startswith("<?xml")
