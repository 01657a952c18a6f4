"""Recorded catches: one small text file a runner, which says what caught each of its known defects.

An example is named by its page and by what it says, so it may move to another line and stays the same; one that is
edited or removed counts no longer. A record is valid as long as the packages, the harness, the judges and the suite
are what it was made with. A defect that is new or was changed since has no valid catch.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from spec_examples.conformance import record as recorded
from spec_examples.markdown import Example, Page
from spec_examples.mutants.catalogue import mutants_of
from spec_examples.mutants.mutant import Mutant
from spec_examples.whole_files import write_whole

CATCHES = Path(__file__).with_name("recorded")
"""``VERSION-RUNNER.toml``."""


WORDS = ("__init__.py", "clauses.py", "consequences.py")
"""Modules beside the judges that say things and judge nothing."""


@dataclass(frozen=True)
class Caught:
    """What came of one defect. ``digest`` is that of its edits, ``by`` are keys of examples, the rest is a catch's."""

    name: str
    digest: str
    state: str
    by: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True)
class CatchRecord:
    """What caught the defects of one release's runner.

    ``recorded`` is the date. ``every`` says whether each defect was put to every example and case, or only to the first
    that catches it. ``examples`` has every example that was executed: its key, and the page, line and kind
    that it had then. ``made_with`` are digests of what the catches depend on.
    """

    vllm_omni: str
    vllm: str
    runner: str
    torch: str
    python: str
    recorded: str
    made_with: dict[str, str]
    every: bool = False
    examples: dict[str, str] = field(default_factory=dict)
    caught: dict[str, Caught] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Its file."""
        return CATCHES / f"{self.vllm_omni}-{self.runner}.toml"

    @property
    def shown(self) -> str:
        """Its file, from the repository's root."""
        return f"spec_examples/mutants/recorded/{self.path.name}"

    @property
    def again(self) -> str:
        """What to do where it is stale."""
        return f"run phase-contract mutants --record{' --all' if self.every else ''} --runner {self.runner}"

    def line(self, defect: str) -> int:
        """The line of its file at which a defect begins, else 1."""
        lines = as_text(self).splitlines()
        return next((at for at, line in enumerate(lines, start=1) if line == f"[defect.{defect}]"), 1)

    @property
    def changed(self) -> str:
        """What its catches depend on and that changed since, in words; empty where it is valid."""
        now = ingredients(self.vllm_omni)
        return ", ".join(name for name in now if self.made_with.get(name) != now[name])

    @property
    def valid(self) -> dict[str, Caught]:
        """The catches of defects that are what they were."""
        now = {mutant.name: digest_of(mutant) for mutant in mutants_of(self.runner)}
        return {name: caught for name, caught in self.caught.items() if now.get(name) == caught.digest}


def ingredients(version: str) -> dict[str, str]:
    """Digests of what the catches on ``version`` depend on, defects and examples apart."""
    return {**recorded.ingredients(version, "run"), "judges": judges_digest()}


@cache
def judges_digest() -> str:
    """SHA-256 over the modules that judge a trace."""
    folder = Path(__file__).resolve().parents[1] / "contract"
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.glob("*.py") if path.name not in WORDS):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def digest_of(mutant: Mutant) -> str:
    """What the catch of a defect depends on: its method and its edits, not its words."""
    parts = [mutant.method, *(f"{edit.find}\0{edit.put}\0{edit.times}" for edit in mutant.edits)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def key(example: Example, page: Page) -> str:
    """Eight digits that stand for an example: its page, and all that it says. An output says what was before it too."""
    parts = [example.page, example.kind, example.language, example.title, example.source, *example.header]
    parts += example.cells
    if example.language == "text":
        parts += [each.source for each in page.examples if each.line < example.line and each.kind == "block"][-1:]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


def keys(pages: Iterable[Page]) -> dict[str, Example]:
    """Every example of ``pages`` by its key."""
    return {key(example, page): example for page in pages for example in page.examples}


def read(path: Path) -> CatchRecord:
    """The record in a file. Raises ``ValueError`` with the file's name where it is damaged."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        caught = {name: _caught(name, entry) for name, entry in data.get("defect", {}).items()}
        return CatchRecord(
            **{name: _text(data[name]) for name in ("vllm_omni", "vllm", "runner", "torch", "python", "recorded")},
            made_with=_texts(data["made_with"]),
            every=data["every"] is True,
            examples=_texts(data["examples"]),
            caught=caught,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path.name}: no record of catches: {' '.join(str(error).split())}") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _texts(table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        raise TypeError(f"{table!r} is no table")
    return {name: _text(value) for name, value in table.items()}


def _caught(name: str, entry: Mapping[str, object]) -> Caught:
    words = {each: tuple(_text(entry.get(each, "")).split()) for each in ("by", "judged")}
    cases = entry.get("cases", [])
    if not isinstance(cases, list):
        raise TypeError(f"{cases!r} is no list")
    return Caught(
        name,
        digest=_text(entry["digest"]),
        state=_text(entry["state"]),
        cases=tuple(map(_text, cases)),
        message=_text(entry.get("message", "")),
        **words,
    )


def caught_on(version: str, runner: str) -> dict[str, Caught]:
    """What the committed record of a release's runner says of each defect; nothing where it has none that is whole."""
    try:
        return read(CATCHES / f"{version}-{runner}.toml").caught
    except ValueError:
        return {}


def read_all() -> list[CatchRecord]:
    """Every committed record, the shared runner's first. Raises ``ValueError`` where one is damaged."""
    return [read(path) for path in sorted(CATCHES.glob("*.toml"))]


def write(record: CatchRecord) -> bool:
    """Whole or not at all. Whether anything but the date is new; if nothing is, the file stays."""
    if record.path.is_file():
        try:
            before = read(record.path)
        except ValueError:
            before = None
        if before and as_text(replace(before, recorded=record.recorded)) == as_text(record):
            return False
    CATCHES.mkdir(exist_ok=True)
    write_whole(record.path, as_text(record))
    return True


def as_text(record: CatchRecord) -> str:
    """TOML, a few lines a defect, so that a defect which is caught by less is a line in a diff."""
    lines = [
        "# Written by phase-contract mutants --record. A line that changes is a defect that is caught otherwise.",
        *(
            f"{name} = {_quoted(getattr(record, name))}"
            for name in ("vllm_omni", "vllm", "runner", "torch", "python", "recorded")
        ),
        f"every = {json.dumps(record.every)}",
        "",
        "[made_with]",
        *(f"{name} = {_quoted(value)}" for name, value in record.made_with.items()),
        "",
        "# Every example that was executed, where it stood then.",
        "[examples]",
        *(f"{_quoted(each)} = {_quoted(place)}" for each, place in record.examples.items()),
    ]
    for caught in record.caught.values():
        lines += [
            "",
            f"[defect.{caught.name}]",
            f"digest = {_quoted(caught.digest)}",
            f"state = {_quoted(caught.state)}",
        ]
        lines += [f"judged = {_quoted(' '.join(caught.judged))}"] if caught.judged else []
        lines += [f"by = {_quoted(' '.join(caught.by))}"] if caught.by else []
        lines += [f"cases = {json.dumps(list(caught.cases), ensure_ascii=False)}"] if caught.cases else []
        lines += [f"message = {_quoted(caught.message)}"] if caught.message else []
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
