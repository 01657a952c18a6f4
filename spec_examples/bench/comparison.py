"""Other tools that run the Python blocks of a page, on the same blocks in the same run.

They need other versions of what is used here, so they get an environment of their own, below ``build/``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from spec_examples.bench import pages
from spec_examples.bench.figure import Line
from spec_examples.bench.measuring import COMMAND, Floor, cost
from spec_examples.pages import root

SIZES = (10, 100, 1000)
TIMES = 3
PINS = "requirements/compared.txt"
ENVIRONMENT = Path("build/compared")

OURS = """
from pathlib import Path
from spec_examples.gate.pages_as_tests import collector, pytest_sessionfinish
pytest_collect_file = collector(Path(__file__).parent / "docs")
"""
MKTESTDOCS = """
from mktestdocs import check_md_file

def test_page():
    check_md_file("docs/blocks.md")
"""
PYTEST_EXAMPLES = """
import pytest
from pytest_examples import find_examples

@pytest.mark.parametrize("example", find_examples("docs/blocks.md"), ids=str)
def test_block(example, eval_example):
    eval_example.run(example)
"""


def tools(floor: Floor) -> list[Line]:
    """What each tool takes on pages of ``SIZES`` blocks that need no runner, in processor time."""
    other = str(_environment(floor))
    quiet = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    page = "docs/blocks.md"
    commands = {
        "phase-contract check, with the import of the runner": ("", (*COMMAND, "check", page)),
        "phase-contract's pages in pytest": (OURS, (sys.executable, *quiet, page)),
        "pytest-markdown-docs": ("", (other, *quiet, "--markdown-docs", page)),
        "mktestdocs, in pytest": (MKTESTDOCS, (other, *quiet, "test_blocks.py")),
        "pytest-examples": (PYTEST_EXAMPLES, (other, *quiet, "test_blocks.py")),
    }
    seconds: dict[tuple[str, int], list[float]] = {(name, size): [] for name in commands for size in SIZES}
    for number in range(TIMES):
        for size in SIZES:
            floor.say(f"{size} blocks with each tool, {number + 1} of {TIMES}")
            for name, (code, command) in commands.items():
                seconds[name, size].append(_cost(code, command, size))
    return [Line(name, SIZES, tuple(median(seconds[name, size]) for size in SIZES)) for name in commands]


def _cost(code: str, command: tuple[str, ...], blocks: int) -> float:
    """Processor seconds of a tool on a page, in a folder that has nothing else than what the tool needs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages.write(folder, "blocks.md", pages.blocks(blocks))
        if code:
            (folder / ("conftest.py" if code == OURS else "test_blocks.py")).write_text(code, encoding="utf-8")
        ours = command[0] == sys.executable
        return cost(command, folder=folder, PYTHONPATH=str(root()) if ours else "").cpu


def _environment(floor: Floor) -> Path:
    """The Python of an environment with the compared tools, at the versions of ``PINS``."""
    python = ENVIRONMENT.resolve() / "bin" / "python"
    pins = (root() / PINS).read_text(encoding="utf-8")
    done = ENVIRONMENT / "pins.txt"
    if not done.is_file() or done.read_text(encoding="utf-8") != pins:
        floor.say("an environment for the tools that are compared")
        cost((sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)))
        cost((str(python), "-m", "pip", "install", "--quiet", "-r", str(root() / PINS)))
        done.write_text(pins, encoding="utf-8")
    return python
