"""What a person types, and the folders that they may mean."""

import importlib.util
import shutil
from pathlib import Path

import pytest
from trees import tree, write

from spec_examples import rows
from spec_examples.scenario import Limits, Request, Scenario
from spec_examples.targets import Session, Target, TargetUnavailable, resolve, starting

INSTALLED = Path(importlib.util.find_spec("vllm_omni").origin).parent
SPLIT = Scenario(requests=(Request(5, id="split"), Request(1, id="single")), limits=Limits(budget=4))


def test_an_unknown_release_lists_the_known_ones():
    with pytest.raises(TargetUnavailable) as caught:
        resolve("0.19.0")
    assert str(caught.value).startswith("release 0.19.0 is not in the catalogue, which has 0.11.0rc1, ")
    assert "0.32.0rc1" in str(caught.value)


def test_a_release_that_is_known():
    assert resolve("0.22.0") == Target("0.22.0", "ar")
    assert resolve("0.22.0").is_release


def test_a_folder_without_vllm_omni(tmp_path):
    with pytest.raises(TargetUnavailable, match="contains no vllm_omni/: give the folder that the package lies in"):
        resolve(str(tmp_path))


def test_neither_a_version_nor_a_folder():
    with pytest.raises(TargetUnavailable, match="is neither installed, nor a version, nor a folder"):
        resolve("no/such/folder")


def test_versions_that_do_not_pair_are_said_of_the_installed_pair_alone():
    with pytest.raises(TargetUnavailable) as caught:
        starting._check_pairing("0.29.1", "0.30.0")
    assert str(caught.value) == "vLLM 0.30.0 does not pair with vLLM-Omni 0.29.1: install vLLM 0.29.x beside it"
    starting._check_pairing("0.30.1.dev7", "0.30.0")
    starting._check_pairing("dev", "0.30.0")


def test_the_vllm_that_a_person_names(tmp_path):
    folder = str(tree(tmp_path / "omni", {}))
    with_vllm = str(write(tmp_path / "vllm-checkout", {"vllm/__init__.py": ""}))
    assert resolve(folder, vllm="0.21.0").vllm == "0.21.0"
    assert resolve(folder, vllm=with_vllm).vllm == with_vllm
    assert resolve(folder, vllm="installed").vllm == ""
    assert resolve("0.22.0").vllm == resolve("0.22.0", vllm="auto").vllm == resolve().vllm == ""
    assert not resolve("0.22.0", vllm="0.23.0").never_changes
    with pytest.raises(TargetUnavailable, match=r"has one vLLM per minor version: write 0\.20\.2"):
        resolve(folder, vllm="0.20.0")
    with pytest.raises(TargetUnavailable, match="contains no vllm/"):
        resolve(folder, vllm=folder)
    with pytest.raises(
        TargetUnavailable, match="--vllm 'x' is neither auto, nor installed, nor a version, nor a folder"
    ):
        resolve(folder, vllm="x")


def test_a_vllm_beside_the_tree_is_taken_without_a_word(tmp_path):
    folder = tree(tmp_path, {"worker/gpu_ar_model_runner.py": "from vllm.no_published_vllm import has\n"})
    write(folder, {"vllm/__init__.py": ""})
    assert resolve(str(folder)).vllm == ""


def test_a_tree_that_is_too_old_to_run(tmp_path):
    old = "from vllm.v1.worker.gpu_model_runner import GPUModelRunner\n"
    folder = tree(tmp_path, {"worker/gpu_ar_model_runner.py": old}, requirements_txt="vllm==0.14.0\n")
    with pytest.raises(
        TargetUnavailable, match=r"goes with vLLM 0\.14\.1, and is not run here: runners before 0.17 can"
    ):
        resolve(str(folder))


@pytest.mark.runner
def test_an_unbuilt_checkout_reports_no_version_and_is_run(tmp_path, session):
    """The installed package without the file that its build writes; folders are links, so that nothing is compiled."""
    package = tmp_path / "vllm_omni"
    package.mkdir()
    for entry in INSTALLED.iterdir():
        if entry.is_dir():
            (package / entry.name).symlink_to(entry)
        elif entry.name != "_version.py":
            shutil.copy(entry, package)
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    target = resolve(str(tmp_path))
    with Session() as one:
        trace = one.run(SPLIT, target)
        assert not one.is_recorded(SPLIT, target)
    assert trace.environment.vllm_omni == "dev"
    assert trace.steps == session.run(SPLIT).steps


@pytest.mark.runner
def test_the_installed_runner_is_not_the_checkout_that_one_stands_in(runner_copy, monkeypatch):
    guard = "if self.has_talker_mtp and span_len == 1 and not is_prefill:"
    folder = runner_copy((guard, guard.replace(" and not is_prefill", "")))
    monkeypatch.chdir(folder)
    with Session() as session:
        tails = [
            next(row.embedding for row in rows(session.run(SPLIT, target)) if row.computed == 4)
            for target in (Target(), Target(str(folder)))
        ]
    assert tails == ["preprocess", "mtp"]
