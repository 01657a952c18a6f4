"""``python -m spec_examples.gate.keep``: keep what published releases answer to the pages, for the package to carry.

Whoever has the package then checks its pages without a download. ``--check`` says whether all of it is there.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from spec_examples import pages
from spec_examples.execution.claims import is_claim
from spec_examples.execution.page import PageExecution
from spec_examples.markdown import read
from spec_examples.scenario import CONTROL, Scenario
from spec_examples.targets import Session, Target, TargetUnavailable, catalogue, kept
from spec_examples.targets.session import may_be_shipped, shipped_key, shipped_trace
from spec_examples.targets.target import RUNNERS
from spec_examples.trace import Trace


class Asked(Session):
    """A session that remembers what it was asked of published releases."""

    def __init__(self) -> None:
        super().__init__(say=lambda line: print(line, file=sys.stderr))
        self.answers: dict[tuple[Scenario, Target], Trace] = {}

    def run(self, scenario: Scenario, target: Target | None = None, mutant: str = "") -> Trace:
        """As any session does."""
        trace = super().run(scenario, target, mutant)
        if target is not None and not mutant and _may_be_kept(scenario, target):
            self.answers[scenario, target] = trace
        return trace


def asked_of_releases(session: Asked) -> dict[tuple[Scenario, Target], Trace]:
    """What the pages ask of releases, with the answers; the control of each is asked as well.

    The environment's package answers for the release that it is where a page names that release.
    """
    for path in sorted(pages.folder().rglob("*.md")):
        page = read(path)
        with PageExecution(page, session, Target()) as execution:
            for example in page.examples:
                before = len(execution.context.made)
                execution.evaluate(example)
                in_claim = is_claim(page, example.parent or example.line)
                for made in execution.context.made[before:]:
                    release = _release_of(made.target, made.trace) if made.named or in_claim else None
                    if release is not None and may_be_shipped(made.scenario.talker):
                        session.answers[made.scenario, release] = made.trace
    for target in {target for _, target in session.answers}:
        if (CONTROL, target) not in session.answers:
            session.run(CONTROL, target)
    return session.answers


def _may_be_kept(scenario: Scenario, target: Target) -> bool:
    return target.is_release and not target.vllm and _is_fixed(target.runner) and may_be_shipped(scenario.talker)


def _is_fixed(runner: str) -> bool:
    return runner in RUNNERS or runner.startswith("spec_examples.")


def _release_of(target: Target, trace: Trace) -> Target | None:
    """The release that the environment's own package is, with the vLLM that it was published for."""
    release = catalogue.release(trace.environment.vllm_omni)
    if not target.is_installed or release is None or trace.environment.vllm != release.vllm:
        return None
    return Target(release.vllm_omni, target.runner) if _is_fixed(target.runner) else None


def missing(answers: dict[tuple[Scenario, Target], Trace]) -> Iterator[str]:
    """A line for each release of which something is asked that is not kept."""
    lacking: dict[Target, int] = defaultdict(int)
    for scenario, target in answers:
        lacking[target] += shipped_trace(scenario, target) is None
    for target, count in lacking.items():
        if count:
            yield f"{target}: {count} traces that the pages ask for are not kept: run python -m spec_examples.gate.keep"


def main(arguments: list[str]) -> int:
    """Write what is kept, or with ``--check`` say what is missing: 1 where something is."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m spec_examples.gate.keep [--check]", file=sys.stderr)
        return 2
    with Asked() as session:
        try:
            answers = asked_of_releases(session)
        except TargetUnavailable as error:
            print(error, file=sys.stderr)
            return 2
    if arguments:
        lines = list(missing(answers))
        print(*lines, sep="\n", end="\n" if lines else "")
        return 1 if lines else 0
    by_release: dict[str, dict[str, Trace]] = defaultdict(dict)
    for (scenario, target), trace in answers.items():
        release = catalogue.release(target.vllm_omni)
        assert release is not None
        by_release[target.vllm_omni][shipped_key(scenario, release, target.runner)] = trace
    kept.write(by_release)
    for file in sorted(kept.FOLDER.glob("*.gz")):
        print(f"{file.relative_to(Path.cwd())}: {len(by_release[file.stem])} traces, {file.stat().st_size >> 10} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
