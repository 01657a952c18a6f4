"""``--setup`` on a small closure, with a folder of wheels as the package index: what it makes, and what stops it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from small_wheel import write_wheel

PINS = {"torch": "torch==2.0", "runner": "# what a runner imports\nalpha==1.0\nvllm-cpu==0.30.0\nvllm-omni==0.30.0"}

# The command line, with requirement files of a folder of its own: those of the package take minutes.
COMMAND = """
import pathlib, sys
from spec_examples import pages
pages.root = lambda: pathlib.Path(sys.argv[1])
from spec_examples.gate.cli import main
sys.exit(main(sys.argv[2:]))
"""


class Place:
    """A cache, a folder of wheels, and a tree that a runner could not be started from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheels = folder.parent / "wheels"  # pip splits the option at a space
        self.cache, self.tree = folder / "cache", folder / "tree"
        (folder / "requirements").mkdir(parents=True)
        for name, pins in PINS.items():
            (folder / "requirements" / f"{name}.txt").write_text(f"{pins}\n")
        (self.tree / "vllm_omni").mkdir(parents=True)
        (self.tree / "vllm_omni" / "__init__.py").touch()
        (self.tree / "vllm").mkdir()
        (self.tree / "vllm" / "__init__.py").touch()
        for name, version in [("torch", "2.0+cpu"), ("torch", "2.0"), ("alpha", "1.0")]:
            write_wheel(self.wheels, name, version)

    @property
    def command(self) -> list[str]:
        """The probe: whatever it says, the environment was made before."""
        words = ["probe", "--vllm-omni", str(self.tree), "--setup"]
        return [sys.executable, "-c", COMMAND, str(self.folder), *words]

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), "PIP_CONFIG_FILE": os.devnull}
        return {**kept, **pip, "PHASE_CONTRACT_CACHE": str(self.cache)}

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command, env=self.environment, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command, env=self.environment, capture_output=True, text=True, timeout=300)

    def made(self) -> list[Path]:
        """The finished environments."""
        found = self.cache.glob("environments/*/runner-environment.json")
        return [stamp.parent for stamp in found if not stamp.parent.name.endswith(".partial")]

    def ask(self, code: str) -> str:
        """What the environment's Python prints."""
        (folder,) = self.made()
        command = [str(folder / "bin" / "python"), "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "a place")


def test_it_makes_one_environment_without_vllm_and_a_second_run_fetches_nothing(place: Place) -> None:
    first = place.run()
    assert "set-up: torch 2.0, CPU build: done" in first.stderr
    assert "is ready" in first.stderr
    assert place.ask("import torch, alpha; print(torch.VERSION, alpha.VERSION)") == "2.0+cpu 1.0"
    assert place.ask("import importlib.util as u; print(u.find_spec('vllm'), u.find_spec('vllm_omni'))") == "None None"
    for wheel in place.wheels.iterdir():
        wheel.unlink()
    second = place.run()
    assert "set-up:" not in second.stderr
    assert second.stderr.splitlines()[-1] == first.stderr.splitlines()[-1], "what the worker says, started in it"
    assert re.search("No module named '(msgspec|platformdirs)'", second.stderr), (
        "the worker has the environment's packages, and none of those beside this package"
    )


def test_without_a_cpu_build_the_ordinary_torch_comes_with_what_it_needs(place: Place) -> None:
    (place.wheels / "torch-2.0+cpu-py3-none-any.whl").unlink()
    write_wheel(place.wheels, "torch", "2.0", requires="driver")
    write_wheel(place.wheels, "driver", "9.0")
    assert "CPU build: not offered here" in place.run().stderr
    assert place.ask("import torch, driver; print(torch.VERSION, driver.VERSION)") == "2.0 9.0"


def test_a_killed_set_up_is_picked_up_and_two_at_once_make_one(place: Place) -> None:
    killed = place.start()
    assert killed.stderr is not None
    while "torch 2.0, CPU build: done" not in killed.stderr.readline():
        assert killed.poll() is None
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert place.made() == []
    both = [place.start(), place.start()]
    said = [each.communicate(timeout=300)[1] for each in both]
    assert ["waiting for it" in each for each in said].count(True) <= 1
    assert ["is ready" in each for each in said].count(True) == 1
    assert not any("torch 2.0, CPU build" in each for each in said), "torch was there already"
    assert place.ask("import torch, alpha; print(torch.VERSION, alpha.VERSION)") == "2.0+cpu 1.0"


def test_what_stops_pip_is_one_line_with_status_2(place: Place) -> None:
    (place.wheels / "alpha-1.0-py3-none-any.whl").unlink()
    write_wheel(place.wheels, "alpha", "2.0")
    failed = place.run()
    assert failed.returncode == 2
    (line,) = [line for line in failed.stderr.splitlines() if not line.startswith("set-up: ")]
    assert line.startswith("phase-contract: --setup: pip is not offered alpha==1.0 for this Python and machine")
    assert place.made() == []


def test_a_mistake_is_told_before_anything_is_fetched(place: Place) -> None:
    (place.tree / "vllm_omni" / "__init__.py").unlink()
    failed = place.run()
    assert failed.returncode == 2
    assert "contains no vllm_omni/" in failed.stderr
    assert not place.cache.exists()
