"""What is checked: an author's model, and the views in which the runner meets it. Plain data, without torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spec_examples.scenario import InvalidScenario, Source

ADAPTER = "spec_examples.model_check.adapter"
"""The module that stands between the runner and the model, in the target's process."""


@dataclass(frozen=True)
class View:
    """How the model is shown to the runner, and the runner's values to the model, in one run.

    ``batched`` offers the model's batched decode hook. ``both_names`` gives a row's request as ``request_id`` and as
    ``req_id``, whichever of them the runner passes. ``fields`` lets the three phase keys through. ``strict`` raises
    where a hook's result is not of the form that the runner consumes.
    """

    batched: bool = True
    both_names: bool = True
    fields: bool = True
    strict: bool = False


@dataclass(frozen=True)
class Subject:
    """A model by its name: ``package.module:Class``, or the ``Source`` of a file that defines it.

    ``factory`` builds it, as ``package.module:function``, or for a ``Source`` as the name of a function in that file.
    Empty, the class is called as vLLM's loader calls it.
    """

    model: str | Source
    factory: str = ""

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.model if isinstance(self.model, str) else f"{self.model.label}:{self.model.cls}"

    def talker(self, view: View, prompts: Mapping[str, Sequence[int]] | None = None) -> str | Source:
        """The talker of a scenario that puts this model to a runner under ``view``.

        ``prompts`` are the lengths of the prompts that come under each name, in their order. A model with a hook that
        is called before any row is known needs them: an engine has sent its information by then.
        """
        asked: dict[str, Any] = {"view": asdict(view), "adapter": _adapter_digest()}
        if prompts:
            asked["prompts"] = {request: list(lengths) for request, lengths in prompts.items()}
        if isinstance(self.model, str):
            return f"{ADAPTER}:{json.dumps({'model': self.model, 'factory': self.factory, **asked})}"
        built = [self.model.cls, self.factory or "None", repr(json.dumps(asked))]
        lines = [self.model.text, f"from {ADAPTER} import adapted", f"CheckedModel = adapted({', '.join(built)})"]
        return Source("\n".join(lines) + "\n", "CheckedModel", self.model.label)


def named(model: str, factory: str = "", files: dict[str, Source] | None = None) -> Subject:
    """The subject that a person means. ``files`` are the files that a page has shown.

    Raises ``InvalidScenario`` with what would be right.
    """
    where, colon, cls = model.rpartition(":")
    if not colon or not cls.isidentifier() or not where:
        raise InvalidScenario(f"model {model!r}: write package.module:Class, or file.py:Class")
    if not where.endswith(".py"):
        _require_dotted(model, where)
        if factory:
            _require_dotted(factory, factory.partition(":")[0], "factory {!r}: write package.module:function")
        return Subject(model, factory)
    if factory and not factory.isidentifier():
        raise InvalidScenario(f"factory {factory!r}: for a model in a file, write the name of a function in that file")
    if files and where in files:
        return Subject(Source(files[where].text, cls, where), factory)
    try:
        return Subject(Source(Path(where).read_text(encoding="utf-8"), cls, where), factory)
    except (OSError, UnicodeError) as error:
        raise InvalidScenario(f"model file {where}: {getattr(error, 'strerror', None) or error}") from error


def _require_dotted(given: str, module: str, wrong: str = "model {!r}: write package.module:Class") -> None:
    rest = given.partition(":")[2]
    if not rest.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise InvalidScenario(wrong.format(given))


@cache
def _adapter_digest() -> str:
    """Traces that are kept for published releases are void when the adapter changes."""
    return hashlib.sha256(Path(__file__).with_name("adapter.py").read_bytes()).hexdigest()[:12]
