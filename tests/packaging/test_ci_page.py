"""Every snippet of the page on CI: its YAML against the schema of who reads it, its commands by running them."""

import importlib.resources
import json
import re

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
GUARD = "if self.has_talker_mtp and span_len == 1 and not is_prefill:"


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


def test_the_hooks_are_those_of_this_repository():
    (repository,) = PRE_COMMIT["repos"]
    ids = [hook["id"] for hook in repository["hooks"]]
    assert ids == ["phase-contract"]
    assert re.search(HOOKS["phase-contract-pages"]["files"], "docs/contract/routing.md")


@pytest.mark.parametrize(
    "file",
    [
        "vllm_omni/worker/gpu_model_runner.py",
        "vllm_omni/worker_v2/model_states/omni_model_state.py",
        "vllm_omni/core/sched/omni_ar_scheduler.py",
        "vllm_omni/platforms/npu/worker/npu_model_runner.py",
        "vllm_omni/model_executor/models/output_templates.py",
        "packages/omni/vllm_omni/worker/gpu_ar_model_runner.py",
    ],
)
def test_the_hook_runs_where_a_runner_or_its_scheduler_changed(file):
    assert re.search(HOOKS["phase-contract"]["files"], file)


@pytest.mark.parametrize(
    "file",
    [
        "vllm_omni/entrypoints/omni.py",
        "vllm_omni/model_executor/models/qwen3_tts/qwen3_tts_talker.py",
        "vllm_omni/worker/README.md",
        "tests/my_vllm_omni/worker/test_runner.py",
    ],
)
def test_the_hook_leaves_other_changes_alone(file):
    assert not re.search(HOOKS["phase-contract"]["files"], file)


def test_the_recipe_of_the_page_gates_a_tree_of_a_line(container, tree, line):
    """As written, where there is no package, no cache and no configuration but that of pip."""
    folder = tree(line)
    done = container.run("bash", "-e", "-c", SHELL[0], folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ promises kept, 0 violated", done.stdout)
    assert " 0 failed" in done.stdout
    assert sorted(each.name for each in folder.iterdir()) == ["vllm_omni"], "the folder is as it was"


def test_the_commands_of_the_pipeline_gate_a_tree_and_report_as_junit(container, tree, line):
    """``$$`` is Buildkite's way to write ``$``."""
    folder = tree(line)
    script = "\n".join(PIPELINE["steps"][0]["commands"]).replace("$$", "$")
    done = container.run("bash", "-e", "-c", script, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "phase-contract.xml").read_text().startswith("<?xml")


def test_the_hook_refuses_a_tree_without_its_guard(container, tree, line):
    """pre-commit installs the package, as the page's first command does, and runs the hook's entry."""
    folder = tree(line, (GUARD, GUARD.replace(" and not is_prefill", "")))
    script = f"{SHELL[0].splitlines()[0]}\n{HOOKS['phase-contract']['entry']}"
    done = container.run("bash", "-e", "-c", script, folder=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    assert set(re.findall(r"^VIOLATED ([\w-]+):", done.stdout, re.MULTILINE)) == {"ROUTE-2", "ROUTE-3"}
