"""``pytest --phase-contract``: the pages of the contract as tests, beside a runner's or a plugin's own.

pytest loads this wherever the package is installed, so it imports nothing until it is asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

MARK = "phase_contract"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    group = parser.getgroup("phase-contract", "the prefill/decode phase contract of vLLM-Omni's runners")
    group.addoption(
        "--phase-contract", action="store_true", help="run the contract's pages too, each example as a test"
    )
    group.addoption(
        "--phase-contract-vllm-omni",
        default="installed",
        metavar="installed|VERSION|PATH",
        help="the environment's vLLM-Omni (default), a published release, or a folder that contains vllm_omni/",
    )
    group.addoption(
        "--phase-contract-runner",
        default="ar",
        metavar="ar|generation|v2|package.module:Class",
        help="the runner under test (default: ar)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the pages to what is collected, unless some of them are named already. Raises ``UsageError``."""
    config.addinivalue_line("markers", f"{MARK}: an example on a page of the prefill/decode phase contract")
    if not config.getoption("phase_contract"):
        return
    from spec_examples import pages
    from spec_examples.targets import TargetBroken, TargetUnavailable, resolve

    try:
        target = resolve(config.option.phase_contract_vllm_omni, config.option.phase_contract_runner)
    except (TargetUnavailable, TargetBroken) as error:
        raise pytest.UsageError(f"--phase-contract: {error}") from error
    config.option.phase_contract_vllm_omni = target.vllm_omni  # absolute, for processes with another folder
    here = config.invocation_params.dir
    config.args[:] = [_found(argument, here, pages.root()) for argument in config.args]
    named = ((here / argument.partition("::")[0]).resolve() for argument in config.args)
    if not any(path.is_relative_to(pages.folder()) for path in named):
        config.args.append(str(pages.folder()))


def _found(argument: str, here: Path, root: Path) -> str:
    """A page as its items are named, ``docs/contract/fields.md::FIELD-1-row-1``, from wherever pytest is called."""
    name = argument.partition("::")[0]
    return argument if (here / name).exists() or not (root / name).is_file() else str(root / argument)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Each page of the contract, where it is asked for."""
    if not parent.config.getoption("phase_contract") or file_path.suffix != ".md":
        return None
    from spec_examples import pages
    from spec_examples.gate.check import left_out
    from spec_examples.gate.pages_as_tests import PageFile

    if not file_path.is_relative_to(pages.folder()) or left_out([file_path]):
        return None
    name = file_path.relative_to(pages.root()).as_posix()
    page: Any = PageFile.from_parent(parent, path=file_path, nodeid=name)
    return page


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the runner's process."""
    if session.config.getoption("phase_contract"):
        from spec_examples.gate.pages_as_tests import end_session

        end_session()
