"""``phase-contract bisect``: the commit that broke, or brought, the contract or one of its clauses."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import TextIO

from rich.console import Console

from spec_examples.conformance.matrix import judge_runner
from spec_examples.contract.clauses import CLAUSES
from spec_examples.gate.commands.common import (
    AGREED,
    NOT_ASKED,
    Stop,
    add_output_options,
    add_setup_option,
    output,
    python_for,
)
from spec_examples.probing import probe
from spec_examples.running import Context, RunnerRaised, running
from spec_examples.targets import Session, Target, TargetBroken, TargetFailed, TargetUnavailable, commits, resolve
from spec_examples.targets.bisecting import Answer, Search
from spec_examples.targets.target import AUTO, RUNNERS

KEPT, VIOLATED = "keeps", "violates"


def add(parser: argparse.ArgumentParser, default: Target) -> None:
    """Add the command's options."""
    parser.epilog = (
        "examples:\n"
        "  phase-contract bisect --good v0.22.0 --bad HEAD ../vllm-omni\n"
        "  phase-contract bisect --good main --bad v0.21.0 ../vllm-omni\n"
        "  phase-contract bisect --good HEAD~200 --bad HEAD --clause ROUTE-3 ../vllm-omni"
    )
    parser.add_argument("folder", metavar="FOLDER", help="a git repository of vLLM-Omni, or a folder in one")
    parser.add_argument("--good", required=True, metavar="REV", help="a commit that keeps it, older or newer")
    parser.add_argument("--bad", required=True, metavar="REV", help="a commit that violates it")
    parser.add_argument("--clause", metavar="ID", help="ask for one clause, by the whole suite (default: the probe)")
    parser.add_argument("--runner", metavar="|".join((*RUNNERS, "package.module:Class")), default="ar")
    parser.add_argument("--vllm", metavar="auto|VERSION|PATH|installed", default=AUTO, help="default: auto, per commit")
    add_setup_option(parser)
    add_output_options(parser)
    parser.set_defaults(run=_bisect)


def _bisect(options: argparse.Namespace, out: TextIO, _: Context | None) -> int:
    if options.clause and options.clause not in CLAUSES:
        raise Stop(NOT_ASKED, f"--clause {options.clause!r}: there is {', '.join(CLAUSES)}")
    progress = Console(stderr=True)
    good, bad = (commits.find(options.folder, revision) for revision in (options.good, options.bad))
    brought = commits.is_ancestor(options.folder, bad, good)
    old, new = (bad, good) if brought else (good, bad)
    asker = _Asker(options, progress)
    with output(options.output, out) as stream:
        for revision, commit, wanted in ((options.good, good, KEPT), (options.bad, bad, VIOLATED)):
            asker.say(f"{revision}, an end")
            _require(asker.verdict(commit), wanted, revision, asker)
        search = Search(
            options.folder, old, new, asker.answer(KEPT if brought else VIOLATED), asker.next_of(options.folder)
        )
        found = search.run()
        changed = "brought" if brought else "broke"
        write = _as_json if options.format == "json" else _as_text
        stream.write(write(options, changed, found, search))
    return AGREED if len(found) == 1 else NOT_ASKED


class _Asker:
    """Puts the question to one commit after another, and says what came of it."""

    def __init__(self, options: argparse.Namespace, progress: Console) -> None:
        self.options = options
        self.progress = progress
        self.python = python_for(options)
        self.asked = options.clause or "the contract"
        self.why = ""

    def say(self, line: str) -> None:
        self.progress.print(line, highlight=False, soft_wrap=True)

    def next_of(self, folder: str) -> Callable[[int, int, str], None]:
        """Say which commit is asked next."""

        def say(number: int, about: int, commit: str) -> None:
            subject = commits.git(folder, "show", "--no-patch", "--format=%h %cs %s", commit).strip()
            self.say(f"{number} of about {about}: {subject}")

        return say

    def answer(self, new: str) -> Callable[[str], Answer]:
        """The question as a search puts it: ``new`` is the verdict of the newer end."""

        def ask(commit: str) -> Answer:
            verdict = self.verdict(commit)
            return "skip" if verdict is None else "new" if verdict == new else "old"

        return ask

    def verdict(self, commit: str) -> str | None:
        """Whether a commit keeps what is asked for; ``None`` where that cannot be tested, and ``why``."""
        started = time.monotonic()
        try:
            target = resolve(self.options.folder, self.options.runner, self.options.vllm, commit, self.options.setup)
            with Session(live=True, say=self.say, python=self.python) as session:
                kept = self._clause(session, target) if self.options.clause else _probe(session, target)
        except (TargetUnavailable, TargetBroken) as error:
            kept, self.why = None, str(error)
        verdict = None if kept is None else KEPT if kept else VIOLATED
        said = f"{verdict} {self.asked}" if verdict else f"cannot be tested: {self.why}"
        self.say(f"    {said} ({time.monotonic() - started:.0f} s)")
        return verdict

    def _clause(self, session: Session, target: Target) -> bool | None:
        session.environment(target)
        cell = judge_runner(session, target).cells[self.options.clause]
        self.why = f"{self.options.clause} is {cell.verdict}: {cell.message or cell.evidence}"
        return {"passed": True, "failed": False}.get(cell.verdict)


def _probe(session: Session, target: Target) -> bool:
    """Whether a model may rely on the contract there. A runner that stops, once it started, does not keep it."""
    session.environment(target)
    try:
        with running(Context(session, target)):
            return probe().conforms
    except (RunnerRaised, TargetFailed):
        return False


def _require(verdict: str | None, wanted: str, revision: str, asker: _Asker) -> None:
    """Raises ``Stop`` where an end is not what it was said to be."""
    if verdict is None:
        raise Stop(NOT_ASKED, f"{revision} cannot be tested: {asker.why}")
    if verdict != wanted:
        option = "--good" if wanted == KEPT else "--bad"
        raise Stop(NOT_ASKED, f"{option} {revision} {verdict} {asker.asked}: name a commit that {wanted} it")


def _shown(folder: str, commit: str) -> tuple[str, str, str, str]:
    shown = commits.git(folder, "show", "--no-patch", "--format=%H%x00%cs%x00%an%x00%s", commit).strip("\n")
    hash_, date, author, subject = shown.split("\0")
    return hash_, date, author, subject


def _as_text(options: argparse.Namespace, changed: str, found: tuple[str, ...], search: Search) -> str:
    asked = options.clause or "the contract"
    lines = []
    if len(found) != 1:
        lines = [f"one of these {len(found)} commits {changed} {asked}; those between cannot be tested"]
    for commit in found:
        hash_, date, author, subject = _shown(options.folder, commit)
        lines.append(
            f"{hash_[:12]} {changed + ' ' + asked + ': ' if len(found) == 1 else ''}{subject} ({author}, {date})"
        )
    counts = [list(search.answers.values()).count(answer) for answer in ("old", "new", "skip")]
    lines.append(f"{sum(counts)} commits tested between the ends, {counts[2]} of them could not be")
    return "".join(f"{line}\n" for line in lines)


def _as_json(options: argparse.Namespace, changed: str, found: tuple[str, ...], search: Search) -> str:
    names = ("commit", "date", "author", "subject")
    report = {
        "asked": options.clause,
        "changed": changed,
        "commits": [dict(zip(names, _shown(options.folder, commit), strict=True)) for commit in found],
        "tested": [{"commit": commit, "answer": answer} for commit, answer in search.answers.items()],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
