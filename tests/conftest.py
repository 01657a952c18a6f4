import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from workers.forked import Preloaded, Subprocess

from spec_examples.gate.pages_as_tests import end_session, shared_session
from spec_examples.running import Context, running
from spec_examples.targets import Session, Target, client

ROOT = Path(__file__).resolve().parents[1]

# How fast examples are drawn goes by the machine, and by what else runs there.
settings.register_profile("usual", max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("again", settings.get_profile("usual"), max_examples=20)  # for the test run that is repeated
settings.load_profile("usual")


@pytest.fixture(scope="session", autouse=True)
def forked_workers() -> Iterator[None]:
    """Workers are forked from a process that has imported torch and the like; each imports its vLLM-Omni itself."""
    source = Preloaded()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "subprocess", Subprocess(source))
        yield
        end_session()
    source.end()


@pytest.fixture(scope="session")
def session() -> Session:
    """The session that pages and tests share: the installed runner is imported once."""
    return shared_session()


@pytest.fixture
def installed(session: Session) -> Iterator[Context]:
    """``run`` puts scenarios to the installed AR runner."""
    with running(Context(session, Target())) as context:
        yield context


@pytest.fixture
def site(tmp_path: Path) -> Callable[[str, str], Path]:
    """A site of its own with the project's ``mkdocs.yml``: ``site(name, text)`` writes a page and gives its path."""
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)

    def write(name: str, text: str) -> Path:
        page = tmp_path / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
        return page

    return write


@pytest.fixture(scope="session")
def runner_copy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``runner_copy((old, new), …)``: a folder with the installed ``vllm_omni``, of which ``file`` was edited."""
    import importlib.util

    installed = Path(importlib.util.find_spec("vllm_omni").origin).parent

    def copy(*edits: tuple[str, str], file: str = "worker/gpu_model_runner.py") -> Path:
        folder = tmp_path_factory.mktemp("checkout")
        shutil.copytree(installed, folder / "vllm_omni", copy_function=os.link)
        source = folder / "vllm_omni" / file
        text = source.read_text(encoding="utf-8")
        for old, new in edits:
            assert text.count(old) == 1, f"{old!r} is in the runner {text.count(old)} times"
            text = text.replace(old, new)
        source.unlink()
        source.write_text(text, encoding="utf-8")
        return folder

    return copy


def pytest_configure() -> None:
    """Have interrupts heard: a shell ignores them in its background, and commands that tests start inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of this project's own tests."""
    parser.addoption("--kills", type=int, default=1, help="at how many moments each command is killed (1)")
    parser.addoption(
        "--defects", choices=("telling", "all"), default="telling", help="known defects to put to the pages (telling)"
    )
    parser.addoption("--lines", default="", metavar="V,V|all", help="lines that the CI recipe is run for (the newest)")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in another order, by files")


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    """At how many moments to kill."""
    return int(request.config.getoption("--kills"))


TOGETHER = {
    "tests/browser/": "a built site",
    "tests/packaging/": "archives, and environments that they are installed in",
    "tests/gate/test_update.py": "executed pages",
    "tests/gate/test_changed_cells.py": "executed pages",
    "tests/pages/test_mutated_pages.py": "executed pages",
}
"""Tests that share what takes long to make: one process runs them."""

LONGEST = (
    "tests/packaging/",
    "tests/browser/",
    "tests/conformance/test_own_runners.py",
    "tests/gate/test_update.py",
    "tests/pages/test_mutated_pages.py",
)
"""They begin first, so that no process is left alone with one of them at the end."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give each file, and the files of ``TOGETHER`` that share something, to one process."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            shared = (made for path, made in TOGETHER.items() if nodeid.startswith(path))
            return next(shared, nodeid.partition("::")[0])

    config.option.loadscopereorder = False  # the order is that of the items
    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--shuffle SEED``: the files in another order, and the tests of each too, pages excepted.

    What a page's blocks share goes by their order, and a test of a page asks for what it needs. Else the files of
    ``LONGEST`` come first.
    """
    seed = config.getoption("--shuffle")
    if seed is None:
        items.sort(key=lambda item: next((n for n, path in enumerate(LONGEST) if item.nodeid.startswith(path)), 99))
        return
    by_file: dict[Path, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    files = list(by_file)
    draw = random.Random(seed)
    draw.shuffle(files)
    for file in files:
        draw.shuffle(by_file[file])
    items[:] = [item for file in files for item in by_file[file]]
