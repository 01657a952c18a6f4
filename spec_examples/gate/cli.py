"""``phase-contract``: the command line. It imports no vLLM; every target is a process of its own."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

from spec_examples.gate.commands.common import AGREED, BROKEN, DISAGREED, NOT_ASKED, SKIP, Parser, Stop

if TYPE_CHECKING:
    from spec_examples.running import Context

COMMANDS = {
    "check": "judge a runner by the clauses, and execute pages against it",
    "update": "show what would change in expected cells and outputs, and write it",
    "row": "show how one row is routed, as the real runner does it",
    "trace": "show what the real scheduler makes of requests, step by step",
    "probe": "judge a runtime by what it does: whether it passes the phase fields, and has the guard",
    "model": "judge a model's own hooks on the real runner: which of its promises to the runner it keeps",
    "matrix": "judge every clause on every release and runner",
    "mutants": "break the runner in known ways, and show which examples of the contract catch each",
    "lint": "read a model's source and say where it does not use the contract rightly; nothing is imported or run",
    "bisect": "find the commit that broke, or brought, the contract; each runs on the vLLM that it goes with",
    "targets": "list what can be tested here",
    "doctor": "say what can be run here, and what is missing",
}
"""What each does. Its module in ``commands`` has the options, and is imported where the command is named."""


def main(
    arguments: list[str] | None = None,
    *,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    context: Context | None = None,
) -> int:
    """Run one command and return its exit status.

    What it prints goes to ``stdout``, the line that says why it has no answer to ``stderr``. ``context`` lends a
    session whose runners are already there, as a console block on a page uses it; its target is the default of
    ``--vllm-omni`` and ``--runner``.
    """
    status, options = _run(arguments, stdout or sys.stdout, stderr or sys.stderr, context)
    return SKIP if status in (NOT_ASKED, BROKEN) and getattr(options, "bisect", False) else status


def _run(
    arguments: list[str] | None, out: TextIO, errors: TextIO, context: Context | None
) -> tuple[int, argparse.Namespace]:
    """The status of a command, and its options as far as they could be read."""
    options = argparse.Namespace(errors=errors)
    try:
        words = sys.argv[1:] if arguments is None else arguments
        _parser(words, context).parse_args(words, options)
        return options.run(options, out, context), options
    except Stop as stop:
        _say(stop, errors)
        return stop.status, options
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return AGREED, options
    except KeyboardInterrupt:
        _say("interrupted", errors)
        return 130, options
    except SystemExit as exit_:  # argparse: --help ends with 0, bad usage with 2
        return (exit_.code if isinstance(exit_.code, int) else NOT_ASKED), options
    except Exception as error:
        status = _status_of(error)
        if status is None:
            raise
        _say(error, errors)
        return status, options


def _status_of(error: Exception) -> int | None:
    """The status that an error ends the command with; ``None`` for one that is a fault of this program."""
    from spec_examples.pages import NoPages
    from spec_examples.running import RunnerRaised
    from spec_examples.scenario import InvalidScenario
    from spec_examples.targets.errors import DamagedFile, TargetBroken, TargetFailed, TargetUnavailable

    if isinstance(error, TargetUnavailable | DamagedFile | InvalidScenario | NoPages):
        return NOT_ASKED
    if isinstance(error, TargetBroken):
        return BROKEN
    return DISAGREED if isinstance(error, TargetFailed | RunnerRaised) else None


def _say(message: object, errors: TextIO) -> None:
    """One line, whatever was typed: what cannot be printed in it is shown escaped."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(message))
    print(f"phase-contract: {shown}", file=errors)


def _parser(words: list[str], context: Context | None) -> argparse.ArgumentParser:
    parser = Parser(
        prog="phase-contract",
        description="Check that vLLM-Omni's runners keep the prefill/decode phase contract.",
        epilog="Exit status: 0 the contract is kept, or page and runner agree; 1 it is violated, or they disagree; "
        "2 the question could not be asked; 3 the tree does not start; 130 interrupted.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in words:
            from spec_examples.targets import Target

            default = context.target if context else Target()
            import_module(f"spec_examples.gate.commands.{name}").add(command, default)
    return parser


if __name__ == "__main__":
    sys.exit(main())
