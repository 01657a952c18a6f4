"""What a person says of lint's findings on the newest stable release: ``by_eye.toml``, and what follows from it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spec_examples.lint.measured import SEPARATOR, Hit

FILE = Path(__file__).with_name("by_eye.toml")


@dataclass(frozen=True)
class Seen:
    """One place as a person sees it. ``rule`` is empty where no rule is about it."""

    path: str
    line: int
    rule: str
    is_true: bool
    why: str


@dataclass(frozen=True)
class ByEye:
    """Every finding on a release with its verdict; what was missed, what is no longer said, what no rule is about."""

    vllm_omni: str
    read: tuple[Seen, ...]
    missed: tuple[Seen, ...]
    withdrawn: tuple[Seen, ...]
    beyond: tuple[Seen, ...]

    @property
    def true(self) -> int:
        """How many findings are true."""
        return sum(each.is_true for each in self.read)

    @property
    def precision(self) -> float:
        """The part of the findings that is true."""
        return self.true / len(self.read)

    @property
    def recall(self) -> float:
        """The part that was found of what a person sees."""
        return self.true / (self.true + len(self.missed))

    def differences(self, hits: tuple[Hit, ...]) -> list[str]:
        """A line for each finding that was not read, each that was and is not found, and each that should not be."""
        found = {(hit.path, hit.line, hit.rule) for hit in hits}
        read = {(each.path, each.line, each.rule) for each in self.read}
        lines = [f"{path}:{line}: {rule} was not read" for path, line, rule in sorted(found - read)]
        lines += [f"{path}:{line}: {rule} was read, and is not found" for path, line, rule in sorted(read - found)]
        wrong = {(each.path, each.line, each.rule) for each in (*self.withdrawn, *self.missed)}
        return lines + [f"{path}:{line}: {rule} was not to be found" for path, line, rule in sorted(wrong & found)]


@cache
def by_eye() -> ByEye:
    """What stands in the file. Raises ``ValueError`` as ``read`` does."""
    return read(FILE)


def read(file: Path) -> ByEye:
    """What stands in a file of that form. Raises ``ValueError`` with its name, and the line where one is amiss."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        return ByEye(
            data["vllm_omni"],
            tuple(_seen(line, 4) for line in data["read"]),
            tuple(_seen(line, 3) for line in data["missed"]),
            tuple(_seen(line, 3) for line in data["withdrawn"]),
            tuple(_seen(line, 2) for line in data["beyond"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{file.name}: not what was read by eye: {' '.join(str(error).split())}") from error


def _seen(line: str, parts: int) -> Seen:
    """``path:line | rule | true or false | why``, with as many parts as there are."""
    words = line.split(SEPARATOR, parts - 1)
    if len(words) != parts or (parts == 4 and words[2] not in ("true", "false")):
        raise ValueError(f"{line!r} has not {parts} parts between {SEPARATOR.strip()!r}")
    path, _, number = words[0].rpartition(":")
    rule = words[1] if parts > 2 else ""
    return Seen(path, int(number), rule, parts == 4 and words[2] == "true", words[-1])
