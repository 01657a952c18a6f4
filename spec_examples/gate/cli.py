"""``phase-contract``: the command line. It imports no vLLM; every target is a process of its own."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TextIO

from spec_examples.gate.check import NoPages
from spec_examples.gate.commands import (
    bisect,
    check,
    doctor,
    lint,
    matrix,
    model,
    mutants,
    probe,
    row,
    targets,
    trace,
    update,
)
from spec_examples.gate.commands.common import AGREED, BROKEN, DISAGREED, NOT_ASKED, SKIP, Parser, Stop
from spec_examples.running import Context, RunnerRaised
from spec_examples.scenario import InvalidScenario
from spec_examples.targets import Target, TargetBroken, TargetFailed, TargetUnavailable
from spec_examples.targets.errors import DamagedFile

COMMANDS = (check, update, row, trace, probe, model, matrix, mutants, lint, bisect, targets, doctor)


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
        _parser(context.target if context else Target()).parse_args(arguments, options)
        return options.run(options, out, context), options
    except Stop as stop:
        _say(stop, errors)
        return stop.status, options
    except (TargetUnavailable, DamagedFile, InvalidScenario, NoPages) as error:
        _say(error, errors)
        return NOT_ASKED, options
    except TargetBroken as error:
        _say(error, errors)
        return BROKEN, options
    except (TargetFailed, RunnerRaised) as error:
        _say(error, errors)
        return DISAGREED, options
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return AGREED, options
    except KeyboardInterrupt:
        _say("interrupted", errors)
        return 130, options
    except SystemExit as exit_:  # argparse: --help ends with 0, bad usage with 2
        return (exit_.code if isinstance(exit_.code, int) else NOT_ASKED), options


def _say(message: object, errors: TextIO) -> None:
    """One line, whatever was typed: what cannot be printed in it is shown escaped."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(message))
    print(f"phase-contract: {shown}", file=errors)


def _parser(default: Target) -> argparse.ArgumentParser:
    parser = Parser(
        prog="phase-contract",
        description="Check that vLLM-Omni's runners keep the prefill/decode phase contract.",
        epilog="Exit status: 0 the contract is kept, or page and runner agree; 1 it is violated, or they disagree; "
        "2 the question could not be asked; 3 the tree does not start; 130 interrupted.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands, default)
    return parser


if __name__ == "__main__":
    sys.exit(main())
