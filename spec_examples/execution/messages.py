"""What the check and the process of a page say to each other.

The check executes a block (``Execute``) and gets back what came of it (``Done``). Meanwhile the block may ask for runs
(``Ask``): the check, which has the runners, makes them and answers (``Answer``), so that it judges what it ran itself.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from spec_examples.running import Naming
from spec_examples.scenario import Scenario, Source
from spec_examples.targets import Target
from spec_examples.trace import Environment


class Execute(msgspec.Struct):
    """Execute ``source``, whose first line is ``line`` of the file ``name``, with what the page has shown so far."""

    source: str
    name: str
    line: int
    target: Target
    files: dict[str, Source]
    settings: dict[str, dict[str, bool | int]]


class Ask(msgspec.Struct, tag=True):
    """A question to the check's session, under the name of the method that answers it.

    ``put`` is a run of the block's own, which is judged; ``named`` what the block named of its target.
    """

    what: Literal["put", "run", "run_plain", "environment", "is_recorded", "start"]
    targets: tuple[Target, ...]
    scenario: Scenario | None = None
    named: Naming | None = None
    mutant: str = ""


class Answer(msgspec.Struct):
    """``number`` is that of the run; ``error`` the name of the exception to raise in the page, with its ``message``."""

    number: int = 0
    trace: msgspec.Raw = msgspec.Raw(b"null")
    environment: Environment | None = None
    recorded: bool = False
    error: str = ""
    message: str = ""


class Done(msgspec.Struct, tag=True):
    """What came of a block.

    ``kind`` is ``ended``, ``assertion`` (``message`` is its text), ``name`` (``message`` is the name that is missing),
    ``raised``, ``syntax``, or the name of an exception of this package. ``line`` is the page's. ``made`` are runs
    by number that a command of ours made for the block, and whether their targets were named.
    """

    kind: str
    message: str = ""
    line: int | None = None
    printed: str = ""
    made: tuple[tuple[int, bool], ...] = ()
