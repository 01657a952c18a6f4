"""What a person types, and the folders that they may mean."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from spec_examples import rows
from spec_examples.scenario import Limits, Request, Scenario
from spec_examples.targets import Session, Target, TargetUnavailable, resolve

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


@pytest.mark.runner
def test_a_vllm_that_does_not_pair(tmp_path):
    package = tmp_path / "vllm_omni"
    package.mkdir()
    (package / "__init__.py").write_text('__version__ = "0.29.1"\n')
    with Session() as one, pytest.raises(TargetUnavailable) as caught:
        one.run(SPLIT, resolve(str(tmp_path)))
    line = str(caught.value)
    assert "does not pair with vLLM-Omni 0.29.1: install vLLM 0.29.x beside it" in line
    assert "\n" not in line


@pytest.mark.runner
def test_a_vllm_omni_that_does_not_import(tmp_path):
    package = tmp_path / "vllm_omni"
    package.mkdir()
    (package / "__init__.py").write_text("import no_such_package\n")
    with Session() as one, pytest.raises(TargetUnavailable, match="does not import: No module named 'no_such_package'"):
        one.run(SPLIT, resolve(str(tmp_path)))


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
