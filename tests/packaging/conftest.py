"""The wheel, built once a run, in a light environment that sees this one's packages and has nothing of the clone."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "setup"))

import dist  # noqa: E402

OURS = ("__editable__", "omni_phase_contract", "spec_examples")
NO_NETWORK = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it. Calls stand in ``folder``, download nothing, and find an empty cache."""

    python: Path
    cache: Path

    def __call__(self, *words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``phase-contract`` as a person would."""
        return self.run(str(self.python.with_name("phase-contract")), *words, folder=folder, **environment)

    def run(self, *command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Any other program of the environment."""
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env={**self.environment(), **environment}
        )

    def environment(self) -> dict[str, str]:
        """What a CI's job would have."""
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "PHASE_", "GITHUB_"))}
        return {**kept, **NO_NETWORK, "PATH": path, "PHASE_CONTRACT_CACHE": str(self.cache)}


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution and the wheel of the work tree."""
    return dist.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def environment_with(tmp_path_factory: pytest.TempPathFactory, archives: tuple[Path, Path]) -> Callable[..., Installed]:
    """``environment_with(without=(…), wheel=True)``: this environment's packages but those that start so."""

    def make(without: tuple[str, ...] = (), wheel: bool = True) -> Installed:
        folder = tmp_path_factory.mktemp("environment")
        here = next(Path(path) for path in sys.path if path.endswith("site-packages"))
        view = folder / "view"
        view.mkdir()
        for entry in here.iterdir():
            if not entry.name.startswith((*OURS, *without)) and entry.suffix != ".pth":
                (view / entry.name).symlink_to(entry)
        venv.create(folder / "venv", symlinks=True)
        (site_packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        (site_packages / "view.pth").write_text(f"{view}\n")
        installed = Installed(folder / "venv" / "bin" / "python", folder / "cache")
        if wheel:
            install = [str(installed.python), "-m", "pip", "install", "--quiet", "--no-deps", str(archives[1])]
            done = installed.run(*install, folder=folder)
            assert done.returncode == 0, done.stderr
        return installed

    return make


@pytest.fixture(scope="session")
def installed(environment_with: Callable[..., Installed]) -> Installed:
    """Beside vLLM, and no vLLM-Omni: the runner comes from a checkout alone."""
    return environment_with(without=("vllm_omni",))


@pytest.fixture(scope="session")
def checkout(runner_copy: Callable[..., Path]) -> Callable[..., Path]:
    """``checkout((old, new), …)``: a folder with ``vllm_omni`` that was never built, edited."""

    def make(*edits: tuple[str, str]) -> Path:
        folder = runner_copy(*edits)
        (folder / "vllm_omni" / "_version.py").unlink(missing_ok=True)
        shutil.rmtree(folder / "vllm_omni" / "__pycache__", ignore_errors=True)
        return folder

    return make


@pytest.fixture(scope="session")
def routing(installed: Installed) -> str:
    """The page on routing that the wheel carries: where one page is enough to show something."""
    page = "site-packages/spec_examples/shipped/docs/contract/routing.md"
    (found,) = (installed.python.parents[1] / "lib").glob(f"python*/{page}")
    return str(found)
