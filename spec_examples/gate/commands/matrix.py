"""``phase-contract matrix``: every clause on every release and runner."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from typing import TextIO

from rich.console import Console

from spec_examples.conformance import record as recorded
from spec_examples.conformance.matrix import (
    MATRIX_RUNNERS,
    SINCE,
    Wanted,
    can_run,
    contradicted,
    judge_runner,
    run_all,
    unexpected,
    wanted,
)
from spec_examples.conformance.record import Record
from spec_examples.conformance.suite import SUITE, case, in_words
from spec_examples.contract.clauses import CLAUSES
from spec_examples.execution.show import show_step
from spec_examples.gate.commands.common import (
    AGREED,
    DISAGREED,
    NOT_ASKED,
    Stop,
    add_output_options,
    add_vllm_options,
    output,
    python_for,
    session_for,
)
from spec_examples.running import Context
from spec_examples.targets import Target, resolve
from spec_examples.targets.target import AUTO

MARKS = {"passed": "✓", "failed": "✗", "not-applicable": "·", "not-runnable": "?"}
NEW_FAILURE = "!"
LEGEND = "✓ kept  ✗ broken, and known  ! broken, and not known  · does not apply  ? not run"


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n"
        "  phase-contract matrix\n"
        "  phase-contract matrix --release 0.22.0 --release 0.30.0 --runner ar\n"
        "  phase-contract matrix --live --shard 1/2 --format json --output matrix.json\n"
        '  phase-contract matrix --release 0.30.0 --runner v2 --show "split prompt"\n'
        "  phase-contract matrix --runner my_plugin.runner:MyModelRunner\n"
        "  phase-contract matrix --vllm-omni ../vllm-omni --runner ar --runner v2"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--release", action="append", default=[], metavar="V", help="a published release (default: all)")
    where.add_argument(
        "--vllm-omni",
        metavar="installed|PATH|git+FOLDER@REV",
        help="judge the environment's vLLM-Omni, a folder that contains vllm_omni/, or a commit; none is recorded",
    )
    parser.add_argument(
        "--runner",
        action="append",
        default=[],
        metavar="|".join((*MATRIX_RUNNERS, "package.module:Class")),
        help="default: all; a class of your own is judged on the installed vLLM-Omni, unless another is named",
    )
    add_vllm_options(parser)
    parser.add_argument("--bisect", action="store_true", help="end with 125 instead of 2 or 3")
    parser.add_argument("--shard", type=_shard, default=(1, 1), metavar="I/N", help="every N-th release, from the I-th")
    parser.add_argument("--live", action="store_true", help="run all, not only what is stale")
    parser.add_argument(
        "--show", metavar="CASE", help="print what a case of the suite led to, step by step, on one release and runner"
    )
    parser.add_argument("--record", action="store_true", help="write what was run to the committed results")
    add_output_options(parser)
    parser.set_defaults(run=_matrix)


def _shard(text: str) -> tuple[int, int]:
    try:
        index, count = (int(part) for part in text.split("/"))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N, such as 1/2") from error
    if not 1 <= index <= count:
        raise argparse.ArgumentTypeError(f"{text!r}: I goes from 1 to N")
    return index, count


def _matrix(options: argparse.Namespace, out: TextIO, context: Context | None) -> int:
    progress = Console(stderr=True)
    own = options.vllm_omni or any(":" in runner for runner in options.runner)
    if options.setup and not own:
        raise Stop(NOT_ASKED, "--setup is for --vllm-omni: published releases run as they were recorded")
    python_for(options)
    with output(options.output, out) as stream:
        with progress.status("reading recorded results") as status:
            judge = _judge_own if own else _judge_published
            records = judge(options, context, status.update)
        if options.show is not None:
            stream.writelines(f"{line}\n" for line in _shown(options.show, records))
            return AGREED
        lines = [line for record in records for line in unexpected(record)]
        if options.live and not own and not options.record:
            lines += [line for record in records if not _could_not_be_run(record) for line in contradicted(record)]
        missing = sorted({record.cells["ROUTE-1"].message for record in records if _could_not_be_run(record)})
        if options.format == "json":
            stream.write(_as_json(records))
        else:
            stream.writelines(f"{line}\n" for line in (*as_table(records), "", LEGEND, *lines, *missing))
    if options.format == "json":
        progress.print(*missing, sep="\n", end="\n" if missing else "", highlight=False, soft_wrap=True)
    return DISAGREED if lines else NOT_ASKED if missing else AGREED


def _judge_own(options: argparse.Namespace, context: Context | None, say: Callable[[str], None]) -> list[Record]:
    """Records of runners that are not published: a plugin's, the installed one's, a checkout's."""
    if options.record or options.shard != (1, 1):
        raise Stop(NOT_ASKED, "--record and --shard are for the published releases and their own runners")
    places = [options.vllm_omni] if options.vllm_omni else options.release or [Target().vllm_omni]
    asked = [(place, runner) for place in places for runner in options.runner or ["ar"]]
    vllm = options.vllm or AUTO
    targets = [resolve(place, runner, vllm, options.rev, options.setup) for place, runner in asked]
    records = []
    with session_for(context, True, Console(stderr=True), python=python_for(options)) as session:
        for target in targets:
            say(f"judging {target}")
            records.append(judge_runner(session, target))
    return records


def _judge_published(options: argparse.Namespace, _: Context | None, say: Callable[[str], None]) -> list[Record]:
    """Records of published releases: those that are valid, and the others run or read anew."""
    for runner in options.runner:
        if runner not in MATRIX_RUNNERS:
            raise Stop(NOT_ASKED, f"runner {runner!r}: write {', '.join(MATRIX_RUNNERS)}, or package.module:Class")
    _refuse_empty(options)
    targets = wanted(options.release, options.runner, options.shard)
    if options.live and not options.runner:
        targets = _without_what_cannot_run(targets)
    renewed: list[Record] = []
    seen = 0

    def done(_: Record) -> None:
        nonlocal seen
        seen += 1
        say(f"{seen} of {len(targets)} targets judged")

    records = run_all(targets, live=options.live, say=say, done=done, made=renewed.append)
    if options.record:
        for record in renewed:
            if record.traces or record.source:
                recorded.write(record)
    return records


def _without_what_cannot_run(targets: list[Wanted]) -> list[Wanted]:
    """Those that some Python here can run; one line says which are left as they are recorded."""
    left_out = [target for target in targets if not can_run(target)]
    if left_out:
        names = ", ".join(dict.fromkeys(target.runner for target in left_out))
        line = f"{names}: left as recorded, since it needs Triton; `make e2e` sets up an environment that has it"
        Console(stderr=True).print(line, highlight=False, soft_wrap=True)
    return [target for target in targets if target not in left_out]


def _refuse_empty(options: argparse.Namespace) -> None:
    """A question that would judge nothing, on this machine or on another one of the shards. Raises ``Stop``."""
    count = options.shard[1]
    releases = len({target.vllm_omni for target in wanted(options.release, options.runner)})
    if not releases:
        since = ", ".join(f"{runner} since {SINCE[runner]}" for runner in dict.fromkeys(options.runner))
        raise Stop(NOT_ASKED, f"no release that was named has such a runner: there is {since}")
    if count > releases:
        raise Stop(NOT_ASKED, f"--shard: {count} shards for {releases} releases leave some empty; N goes to {releases}")


def _shown(name: str, records: list[Record]) -> Iterator[str]:
    """A case's scenarios, and what crossed the boundary in each."""
    chosen = case(name)
    if chosen is None:
        raise Stop(NOT_ASKED, f"no case {name!r}; the suite has: {', '.join(each.name for each in SUITE)}")
    if len(records) != 1 or records[0].how != "run":
        raise Stop(NOT_ASKED, "--show takes one release and one runner that is run")
    (record,) = records
    traces = record.traces or recorded.traces_of(record)
    for scenario in chosen.scenarios:
        trace = traces[scenario.digest]
        yield in_words(scenario)
        yield from (show_step(trace, number) for number in range(1, len(trace.steps) + 1))
        if trace.error:
            yield f"    the runner stopped: {trace.error}"


def _could_not_be_run(record: Record) -> bool:
    return record.how == "run" and record.cells["ROUTE-1"].verdict == "not-runnable"


def judged_clauses(records: list[Record]) -> list[str]:
    """The clauses that some target keeps or breaks: the columns of a table."""
    return [c for c in CLAUSES if any(r.cells[c].verdict in ("passed", "failed") for r in records)]


def as_table(records: list[Record]) -> list[str]:
    """Lines of text: targets as rows; clauses as columns, by their numbers under the name of their group."""
    clauses = judged_clauses(records)
    groups: dict[str, list[str]] = {}
    for clause in clauses:
        groups.setdefault(clause.partition("-")[0], []).append(clause)
    widths = {group: max(len(group), 2 * len(found) - 1) for group, found in groups.items()}
    names = [(r.vllm_omni, r.runner, r.how) for r in records]
    first, second, third = (max([len(title), *(len(name[i]) for name in names)]) for i, title in enumerate(TITLES))
    margin = " " * (first + second + third + 6)
    lines = [
        margin + "  ".join(f"{group:{widths[group]}}" for group in groups),
        f"{TITLES[0]:{first}}  {TITLES[1]:{second}}  {TITLES[2]:{third}}  "
        + "  ".join(f"{' '.join(c.partition('-')[2] for c in found):{widths[g]}}" for g, found in groups.items())
        + "  form of ROUTE-1",
    ]
    for record in records:
        marks = "  ".join(
            f"{' '.join(_mark(record, clause) for clause in found):{widths[group]}}" for group, found in groups.items()
        )
        name = f"{record.vllm_omni:{first}}  {record.runner:{second}}  {record.how:{third}}"
        lines.append(f"{name}  {marks}  {record.route_form}".rstrip())
    return [line.rstrip() for line in lines]


TITLES = ("vLLM-Omni", "runner", "how")


def _mark(record: Record, clause: str) -> str:
    cell = record.cells[clause]
    if cell.verdict == "failed" and clause not in record.known():
        return NEW_FAILURE
    return MARKS[cell.verdict]


def _as_json(records: list[Record]) -> str:
    results = [
        {
            "vllm_omni": record.vllm_omni,
            "vllm": record.vllm,
            "runner": record.runner,
            "clause": cell.clause,
            "verdict": cell.verdict,
            "how": record.how,
            "known": cell.clause in record.diverging(gate=False),
            "follows": cell.follows,
            "evidence": cell.evidence,
            "message": cell.message,
            "route_form": record.route_form,
            "recorded": record.recorded,
        }
        for record in records
        for cell in record.cells.values()
    ]
    return json.dumps({"results": results}, indent=2, ensure_ascii=False) + "\n"
