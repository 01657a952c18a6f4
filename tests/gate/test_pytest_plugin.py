"""``pytest --phase-contract`` in a project of its own, as its people run it."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest


@pytest.fixture
def project(tmp_path):
    """A project with a suite of its own; ``project(words…)`` runs pytest there."""
    (tmp_path / "pyproject.toml").write_text('[tool.pytest]\nstrict = true\naddopts = ["-ra"]\n')
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")

    def run(*words):
        command = [sys.executable, "-m", "pytest", "-p", "no:randomly", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500)

    return run


def test_without_the_option_a_suite_is_what_it_was(project):
    done = project()
    assert done.returncode == 0
    assert "1 passed" in done.stdout


def test_every_page_is_collected_once_and_named_by_clause(project):
    done = project("--phase-contract", "--collect-only", "-q")
    assert done.returncode == 0, done.stdout
    names = [line for line in done.stdout.splitlines() if "::" in line]
    assert len(names) == len(set(names))
    assert "test_own.py::test_own" in names
    assert "docs/contract/routing.md::ROUTE-2-row-1" in names
    assert "docs/contract/fields.md::FIELD-1-row-1" in names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--phase-contract-vllm-omni", "0.0.1"], "--phase-contract: release 0.0.1 is not in the catalogue"),
        (["--phase-contract-vllm-omni", "."], "contains no vllm_omni/"),
        (["--phase-contract-runner", "fast"], "write ar, generation, v2, v2-whole, or package.module:Class"),
    ],
)
def test_a_target_that_is_none_is_a_usage_error(project, words, said):
    done = project("--phase-contract", *words)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_k_lf_and_junit_on_a_runner_that_breaks_a_promise(project, tmp_path):
    """0.20.0 has no guard; its runs are kept, so this starts no runner."""
    old = ("--phase-contract", "--phase-contract-vllm-omni", "0.20.0")
    done = project(*old, "-k", "test_own or (routing and row and ROUTE-3)", "--junitxml", "report.xml")
    assert done.returncode == 1, done.stdout
    cases = ElementTree.parse(tmp_path / "report.xml").findall(".//testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    assert 0 < len(failed) < len(cases)
    assert {case.get("classname") for case in failed} == {"docs.contract.routing.md"}
    said = [case.find("failure").text for case in failed]
    for text in said:
        assert re.search(r"docs/contract/routing.md:\d+: [A-Z0-9 -]+: cell '.*': the page says", text)
    assert any("ROUTE-3" in text for text in said)
    assert "Traceback" not in done.stdout

    again = project(*old, "--lf", "-q")
    assert again.returncode == 1
    assert re.search(rf"{len(failed)} failed", again.stdout)
    assert "passed" not in again.stdout

    (name, *_) = re.findall(r"FAILED (docs/\S+)", done.stdout)
    alone = project(*old, "-q", name)
    assert "1 failed" in alone.stdout


def test_blocks_of_a_page_on_several_processes_bring_what_they_need(project):
    done = project("--phase-contract", "-q", "-n", "2", "docs/contract/evolution.md")
    assert done.returncode == 0, done.stdout
    assert re.search(r"\d passed", done.stdout)
