"""A command imports what it needs: help at once, and a runner's process before what puts its answer into words."""

import subprocess
import sys

import pytest

import spec_examples
from spec_examples.gate.cli import COMMANDS

HEAVY = ("rich", "yaml", "sybil", "watchdog", "markdown", "pymdownx", "hypothesis", "msgspec", "pytest")


def imported(*words):
    """The names of the modules that a command line imports, in a process of its own."""
    program = "import sys\nfrom spec_examples.gate.cli import main\nmain(sys.argv[1:])\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_help_of_all_commands_imports_none_of_them():
    modules = imported("--help")
    assert not modules.intersection(HEAVY)
    assert not modules.intersection(f"spec_examples.gate.commands.{name}" for name in COMMANDS)


def test_a_mistyped_command_is_refused_without_importing_what_runs_any():
    modules = imported("cheque")
    assert "spec_examples.targets.session" not in modules


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_imports_no_other_command(name):
    ours = {module for module in imported(name, "--help") if module.startswith("spec_examples.gate.commands.")}
    assert ours == {f"spec_examples.gate.commands.{name}", "spec_examples.gate.commands.common"}


def test_row_imports_no_reader_of_pages():
    modules = imported("row", "--help")
    assert not modules.intersection(("yaml", "sybil", "watchdog", "markdown_it", "spec_examples.gate.check"))


def test_every_public_name_is_there_and_no_other():
    assert all(getattr(spec_examples, name) for name in spec_examples.__all__)
    with pytest.raises(AttributeError, match="module 'spec_examples' has no attribute 'Rows'"):
        _ = spec_examples.Rows
