"""The wheel, built once a run, and environments without the clone: one sees this one's packages, one has none."""

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

from spec_examples.setting_up.packages import environment as without_python  # noqa: E402
from spec_examples.targets import catalogue, install  # noqa: E402

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


@dataclass(frozen=True)
class Container:
    """What a CI's job starts with: a Python environment without any package, an empty home and an empty cache.

    pip finds packages where this machine's pip does.
    """

    folder: Path
    wheel: Path

    @property
    def cache(self) -> Path:
        """Where the package keeps what it fetched."""
        return self.folder / "cache"

    def page(self, name: str) -> str:
        """A page below ``docs/`` that the wheel carries, once it is installed."""
        site_packages = f"venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
        return str(self.folder / site_packages / "spec_examples" / "shipped" / "docs" / name)

    def run(self, *command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a program in ``folder``, as a job would."""
        given = {**self.environment(), "PHASE_CONTRACT": str(self.wheel), **environment}
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=given)

    def environment(self) -> dict[str, str]:
        """The job's environment."""
        path = f"{self.folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        unwanted = ("PYTHON", "PYTEST", "PHASE_", "GITHUB_", "VIRTUAL_ENV")
        kept = {name: value for name, value in without_python().items() if not name.startswith(unwanted)}
        kept |= {"PATH": path, "HOME": str(self.folder / "home"), "PHASE_CONTRACT_CACHE": str(self.cache)}
        configuration = Path.home() / ".config" / "pip" / "pip.conf"
        return {"PIP_CONFIG_FILE": str(configuration), **kept} if configuration.is_file() else kept


@pytest.fixture(scope="session")
def container(tmp_path_factory: pytest.TempPathFactory, archives: tuple[Path, Path]) -> Container:
    """One for all tests that set up, which takes minutes the first time."""
    folder = tmp_path_factory.mktemp("container")
    (folder / "home").mkdir()
    venv.create(folder / "venv", with_pip=True, symlinks=True)
    return Container(folder, archives[1])


def lines() -> list[str]:
    """The newest published release of each line whose runner is run here, oldest first."""
    return list({catalogue.minor(r.vllm_omni): r.vllm_omni for r in catalogue.releases() if r.how == "run"}.values())


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``tree(version, (old, new), …)``: a folder with the source of a release, edited, without ``_version.py``."""

    def make(version: str, *edits: tuple[str, str], file: str = "worker/gpu_model_runner.py") -> Path:
        release = catalogue.release(version)
        assert release is not None
        folder = tmp_path_factory.mktemp("tree")
        leave_out = shutil.ignore_patterns("_version.py", "__pycache__")
        shutil.copytree(install.install(release) / "vllm_omni", folder / "vllm_omni", ignore=leave_out)
        source = folder / "vllm_omni" / file
        text = source.read_text(encoding="utf-8")
        for old, new in edits:
            assert text.count(old) == 1, f"{old!r} is in the runner {text.count(old)} times"
            text = text.replace(old, new)
        source.write_text(text, encoding="utf-8")
        return folder

    return make


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``line`` is the newest line, or those that ``--lines`` names."""
    if "line" in metafunc.fixturenames:
        asked = metafunc.config.getoption("--lines")
        chosen = lines() if asked == "all" else asked.split(",") if asked else lines()[-1:]
        metafunc.parametrize("line", chosen)


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
