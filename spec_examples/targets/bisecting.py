"""Find the commit between two at which an answer changes, as ``git bisect`` does, without a work tree.

git chooses each next commit (``rev-list --bisect-all``), so that merges are treated as it treats them. What is kept
here are the answers: ``git bisect`` itself would check each commit out, and keep its state in the repository.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, log2
from typing import Literal

from spec_examples.targets import commits
from spec_examples.targets.commits import git

Answer = Literal["old", "new", "skip"]
"""Whether a commit answers as the older end does, as the newer one does, or cannot be asked."""

NEAR = tuple(
    f"vllm_omni/{part}"
    for part in (
        *("worker", "worker_v2", "core", "platforms", "config", "engine", "inputs", "utils"),
        *("__init__.py", "patch.py", "request.py", "outputs.py"),
    )
)
"""What a change of a runner usually touches. Other commits are asked where the change is in none of these."""

ALL = ("vllm_omni",)


@dataclass
class Search:
    """The commits between ``old`` and ``new`` in the repository of ``folder``, and what is known of them.

    ``ask`` answers for one commit; ``say`` gets the number of the question, about how many there are, and the commit.
    """

    folder: str
    old: str
    new: str
    ask: Callable[[str], Answer]
    say: Callable[[int, int, str], None] = lambda *_: None
    answers: dict[str, Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.old, self.new = (commits.find(self.folder, end) for end in (self.old, self.new))
        self._contents: dict[str, Answer] = {
            commits.content(self.folder, self.old): "old",
            commits.content(self.folder, self.new): "new",
        }

    def run(self) -> tuple[str, ...]:
        """The commit at which the answer changes; several where those that cannot be asked hide it."""
        found = self._within(NEAR, self.new)
        if len(found) != 1:
            return found or self._within(ALL, self.new)
        (commit,) = found
        if commit != self.new and self._answer(commit, 1) == "old":
            return self._within(ALL, self.new)
        before = self._parent(commit)
        if before == self.old or self._answer(before, 1) != "new":
            return found
        return self._within(ALL, before)  # it was there already: what was left out brought it

    def _within(self, paths: tuple[str, ...], new: str) -> tuple[str, ...]:
        olds = [self.old, *(commit for commit, answer in self.answers.items() if answer == "old")]
        while True:
            between = self._between(olds, new, paths)
            left = [commit for commit in between if commit != new and self.answers.get(commit) != "skip"]
            if not left or len(between) == 1:
                return tuple(between)
            answer = self._answer(left[0], len(left))
            if answer == "old":
                olds.append(left[0])
            elif answer == "new":
                new = left[0]

    def _parent(self, commit: str) -> str:
        return git(self.folder, "rev-parse", f"{commit}~1").strip()

    def _between(self, olds: list[str], new: str, paths: tuple[str, ...]) -> list[str]:
        """Commits that touch ``paths``, the one that halves them best first."""
        bounds = [f"^{commit}" for commit in olds]
        listed = git(self.folder, "rev-list", "--bisect-all", new, *bounds, "--", *paths)
        return [line.split()[0] for line in listed.splitlines()]

    def _answer(self, commit: str, left: int) -> Answer:
        if commit not in self.answers:
            content = commits.content(self.folder, commit)
            if same := self._contents.get(content):
                self.answers[commit] = same
                return same
            number = len(self.answers) + 1
            self.say(number, number + ceil(log2(left + 1)) - 1, commit)
            self.answers[commit] = self._contents[content] = self.ask(commit)
        return self.answers[commit]
