"""What the commands share: target and output options, a session, and a way to stop in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from spec_examples.running import Context
    from spec_examples.targets import Session, Target

AGREED, DISAGREED, NOT_ASKED, BROKEN = 0, 1, 2, 3
"""Exit statuses: page and runner agree, they disagree, the question could not be asked, the tree does not start."""

SKIP = 125
"""What ``git bisect run`` takes for a commit that cannot be tested."""


class Stop(Exception):
    """Ends the command with a status and one line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where help is."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raises ``Stop``."""
        raise Stop(NOT_ASKED, f"{message}; see {self.prog} --help")


def add_target_options(parser: argparse.ArgumentParser, default: Target) -> None:
    """``--vllm-omni``, ``--vllm`` and ``--runner``, the same everywhere."""
    from spec_examples.targets.target import RUNNERS

    parser.add_argument(
        "--vllm-omni",
        metavar="installed|VERSION|PATH|git+FOLDER@REV",
        default=default.vllm_omni,
        help="the environment's vLLM-Omni, a published release, a folder that contains vllm_omni/, or a commit of one",
    )
    add_vllm_options(parser)
    parser.set_defaults(in_force=default)
    parser.add_argument(
        "--bisect", action="store_true", help="end with 125 instead of 2 or 3, as git bisect run wants it"
    )
    parser.add_argument(
        "--runner",
        metavar="|".join((*RUNNERS, "package.module:Class")),
        default=default.runner,
        help="the runner under test (default: ar)",
    )


def add_vllm_options(parser: argparse.ArgumentParser) -> None:
    """``--vllm``, ``--rev`` and ``--setup``, for commands that take a folder of vLLM-Omni."""
    parser.add_argument(
        "--vllm",
        metavar="auto|VERSION|PATH|installed",
        help="the vLLM that it runs on (default: auto, which finds the one that a folder goes with)",
    )
    parser.add_argument("--rev", metavar="REV", default="", help="a commit of the repository of --vllm-omni PATH")
    add_setup_option(parser)


def add_setup_option(parser: argparse.ArgumentParser) -> None:
    """``--setup``."""
    parser.add_argument(
        "--setup",
        action="store_true",
        help="make the environment that a folder or a version needs, with torch and what a runner imports, and run it "
        "there; it is kept, and trees of every line share it",
    )


def python_for(options: argparse.Namespace) -> str:
    """Return the Python that runs the target: this one, or with ``--setup`` that of the environment, once it is made.

    Raises ``TargetUnavailable`` where it cannot be made.
    """
    from spec_examples.setting_up import environments

    return environments.python() if options.setup else sys.executable


def target_of(options: argparse.Namespace) -> Target:
    """The target that the options name: that in force, which has its vLLM already, where they name no other.

    Raises ``TargetUnavailable`` and ``TargetBroken``, as ``resolve`` does.
    """
    from spec_examples.targets.target import AUTO, INSTALLED, resolve

    in_force: Target = options.in_force
    if options.vllm_omni == in_force.vllm_omni != INSTALLED and not options.vllm and not options.rev:
        return in_force.with_runner(options.runner)
    return resolve(options.vllm_omni, options.runner, options.vllm or AUTO, options.rev, options.setup)


def add_output_options(parser: argparse.ArgumentParser, formats: Iterable[str] = ("text", "json")) -> None:
    """``--format`` and ``--output``."""
    parser.add_argument("--format", choices=tuple(formats), default="text", help="default: text")
    parser.add_argument(
        "--output", metavar="FILE", help="write the report there, whole or not at all, instead of to stdout"
    )


@contextmanager
def session_for(
    context: Context | None,
    live: bool,
    progress: Console,
    *,
    within_s: float = 0.0,
    forking: bool = False,
    python: str = sys.executable,
) -> Iterator[Session]:
    """The session that is lent, or one of our own that says what takes long."""
    if context is not None:
        yield context.session
        return

    from spec_examples.targets import Session

    def say(line: str) -> None:
        progress.print(line, highlight=False)

    with Session(live=live, within_s=within_s, say=say, forking=forking, once=True, python=python) as session:
        yield session


@contextmanager
def output(file: str | None, out: TextIO) -> Iterator[TextIO]:
    """The report's stream; a file appears only when the report is complete."""
    if file is None:
        yield out
        out.flush()
        return
    from spec_examples.whole_files import whole

    target = Path(file)
    if not file or (target.exists() and not target.is_file()):
        raise Stop(NOT_ASKED, f"--output {file!r} is no file that a report could be written to")
    target = target.resolve()  # what a link points to is written, and the link stays
    with ExitStack() as stack:
        try:
            binary = stack.enter_context(whole(target))
        except OSError as error:
            raise Stop(NOT_ASKED, f"--output {file}: {error.strerror}") from error
        yield stack.enter_context(TextIOWrapper(binary, encoding="utf-8", write_through=True))
