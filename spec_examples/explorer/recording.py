"""``python -m spec_examples.explorer.recording [VERSION…]``: put the grid to every release's runner, keep the answers.

Without a version, all that are run here are asked: the AR and the generation runner, and the preprocess step of Model
Runner V2 on the releases that have it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from datetime import date
from itertools import groupby

from packaging.version import Version

from spec_examples.explorer import table
from spec_examples.explorer.grid import ASKED, Question, questions
from spec_examples.explorer.table import Answer, Answers
from spec_examples.outcome import Outcome, outcomes
from spec_examples.running import forced
from spec_examples.targets import Session, Target, TargetUnavailable, catalogue
from spec_examples.trace import IS_PREFILL, NUM_COMPUTED, PHASE_KEYS, PROMPT_LEN

RUNNERS = ("ar", "generation", "v2")


def ask(session: Session, target: Target, asked: list[Question]) -> Iterator[Answer]:
    """The answer to each question, in order. Questions that share talker and company are steps of one run."""
    for _, alike in groupby(asked, key=lambda each: (each.talker, each.company)):
        left = list(alike)
        most = len(left)
        while left:
            asking = left[:most]
            trace = session.run(forced([each.rows(n) for n, each in enumerate(asking)], left[0].talker), target)
            answered = len(trace.steps) - bool(trace.error)
            for number, step in enumerate(trace.steps[:answered]):
                yield answer(next(one for one in outcomes(step) if one.request == f"{ASKED}{number}"))
            if trace.error:  # the step that raised ends the run: its row is answered, and the rest asked again
                yield Answer(error=trace.error.partition(" (")[0])
                answered += 1
            most = 1 if trace.error else most * 4  # where one row raises, its neighbours in the grid often do
            left = left[answered:]


def answer(one: Outcome) -> Answer:
    """What became of a row, less the numbers that the question has."""
    right = {PROMPT_LEN: one.prompt_len, NUM_COMPUTED: one.computed, IS_PREFILL: one.computed < one.prompt_len}
    fields = "none" if not one.fields else "true" if dict(one.fields) == right else "wrong"
    assert set(one.fields) <= set(PHASE_KEYS)
    return Answer(one.phase, one.hook, one.mtp, one.embedding, fields)


def packages(version: str) -> str:
    """SHA-256 of what a release is made of: a table that was made with other packages is stale."""
    release = catalogue.release(version)
    return hashlib.sha256(release.requirements.encode()).hexdigest() if release else ""


def record(version: str) -> Iterator[Answers]:
    """The answers of a release's runners; a runner that the release does not have gives none."""
    with Session(say=_say) as session:
        for runner in RUNNERS:
            target = Target(version, runner)
            try:
                session.environment(target)
            except TargetUnavailable as error:
                _say(f"{target}: {error}")
                continue
            found = tuple(ask(session, target, list(questions())))
            yield Answers(version, runner, date.today().isoformat(), packages(version), found)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main(versions: list[str]) -> None:
    """Renew the named releases, all without a name; the table is written after each."""
    try:
        kept = {(each.vllm_omni, each.runner): each for each in table.read()} if versions else {}
    except ValueError:
        kept = {}
    for version in versions or [each.vllm_omni for each in reversed(catalogue.releases()) if each.how == "run"]:
        for found in record(version):
            kept[version, found.runner] = found
            _say(f"{version} {found.runner}: {len(found.answers)} answers, {len(set(found.answers))} different")
        newest = sorted(kept.values(), key=lambda each: (-RUNNERS.index(each.runner), Version(each.vllm_omni)))
        table.write(reversed(newest))
        table.read.cache_clear()


if __name__ == "__main__":
    main(sys.argv[1:])
