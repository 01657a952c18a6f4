"""What lint says of the models of every published release: recorded, one small text file a release.

``python -m spec_examples.lint.measured`` lints what is stale and writes it; of a release that is not at hand the
wheel of vLLM-Omni alone is downloaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import Version

from spec_examples.lint.definitions import definitions
from spec_examples.lint.linting import lint_source
from spec_examples.lint.source import BadSource, files, read
from spec_examples.targets import catalogue, install
from spec_examples.targets.catalogue import Release
from spec_examples.targets.errors import TargetUnavailable
from spec_examples.trace import PHASE_KEYS

MODELS = "vllm_omni/model_executor/models"
"""Where the models are, in every release that was read."""

RESULTS = Path(__file__).with_name("results")
"""``VERSION.toml`` for each release."""

SEPARATOR = " | "

NOT_LINT = ("__init__.py", "measured.py", "by_eye.py", "checked.py")
"""Modules beside the rules that change no finding."""


@dataclass(frozen=True)
class Hit:
    """One finding. ``path`` is below the folder of all models, ``text`` what stands there."""

    path: str
    line: int
    rule: str
    text: str

    @property
    def model(self) -> str:
        """The folder, or the file, that the model is in."""
        return self.path.partition("/")[0].removesuffix(".py")


@dataclass(frozen=True)
class Model:
    """One model with hooks, written ``file:line name``. ``fields`` are those whose names stand in its files."""

    name: str
    hooks: tuple[str, ...]
    fields: tuple[str, ...]
    hits: tuple[Hit, ...] = ()

    @property
    def use(self) -> str:
        """How the phase is found, by the worst that was found: see ``USES``."""
        rules = {hit.rule for hit in self.hits}
        if "PHASE001" in rules:
            return "span"
        if rules & {"PHASE002", "PHASE003"}:
            return "fallback"
        if "_omni_is_prefill" in self.fields:
            return "stored" if "PHASE008" in rules else "flag"
        return "position" if self.fields else "unasked"


USES = {
    "flag": "branches on the flag",
    "stored": "asks the flag, and what it has stored of the request",
    "fallback": "reads the flag, and guesses in silence where it is absent",
    "span": "takes the phase from the span length",
    "position": "goes by the position alone",
    "unasked": "does not ask for the phase",
}
"""How a model finds the phase: the mark in a table, and in words."""


@dataclass(frozen=True)
class Measured:
    """One release: its models that have hooks, or hits. ``made_with`` says of which wheel and with which lint."""

    vllm_omni: str
    made_with: dict[str, str]
    models: tuple[Model, ...]

    @property
    def hits(self) -> tuple[Hit, ...]:
        """Every finding, in the order of files and lines."""
        return tuple(hit for model in self.models for hit in model.hits)

    @property
    def counts(self) -> Counter[str]:
        """Findings by rule."""
        return Counter(hit.rule for hit in self.hits)

    @property
    def is_stale(self) -> bool:
        """Whether the wheel or lint is another than when it was made."""
        release = catalogue.release(self.vllm_omni)
        return release is None or self.made_with != ingredients(release)


def ingredients(release: Release) -> dict[str, str]:
    """What a record has to have been made with to be valid now."""
    package = hashlib.sha256("".join(release.vllm_omni_sha256).encode()).hexdigest()
    return {"package": package, "lint": lint_digest()}


def lint_digest() -> str:
    """SHA-256 of every module that findings depend on."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name not in NOT_LINT:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def measure(folder: Path) -> tuple[Model, ...]:
    """The models below a folder that holds ``vllm_omni``, by name. Raises ``BadSource`` where there are none."""
    root = folder / MODELS
    hooks: dict[str, list[str]] = {}
    fields: dict[str, set[str]] = {}
    hits: dict[str, list[Hit]] = {}
    for path, _ in files([str(root)]):
        source = read(path, named=False)
        if source is None:
            continue
        short = Path(path).relative_to(root).as_posix()
        name = short.partition("/")[0].removesuffix(".py")
        inside = short.partition("/")[2] or short
        found = definitions(source.tree, source.text).hooks()
        hooks.setdefault(name, []).extend(f"{inside}:{hook.node.lineno} {hook.node.name}" for hook in found)
        fields.setdefault(name, set()).update(key for key in PHASE_KEYS if key in source.text)
        lines = source.text.splitlines()
        for finding in lint_source(source).findings:
            text = " ".join(lines[finding.place.line - 1].split())
            hits.setdefault(name, []).append(Hit(short, finding.place.line, finding.rule, text))
    names = sorted(name for name in hooks if hooks[name] or hits.get(name))
    return tuple(
        Model(name, tuple(hooks[name]), tuple(k for k in PHASE_KEYS if k in fields[name]), tuple(hits.get(name, ())))
        for name in names
    )


def measure_release(release: Release) -> Measured:
    """One published release. Raises ``TargetUnavailable`` where it cannot be had."""
    folder = install.installed_folder(release) or install.install(replace(release, how="read", also=()))
    return Measured(release.vllm_omni, ingredients(release), measure(folder))


def measure_installed() -> tuple[str, tuple[Model, ...]] | None:
    """The vLLM-Omni of the environment, found without importing it: its version and models; ``None`` without one."""
    from importlib import metadata

    spec = importlib.util.find_spec("vllm_omni")
    if spec is None or spec.origin is None:
        return None
    return metadata.version("vllm-omni"), measure(Path(spec.origin).parents[1])


def recorded() -> tuple[Measured, ...]:
    """Every committed record, oldest release first. Raises ``ValueError`` with the file's name where one is damaged."""
    found = [read_measured(path) for path in RESULTS.glob("*.toml")]
    return tuple(sorted(found, key=lambda each: Version(each.vllm_omni)))


def newest(found: Iterable[Measured]) -> Measured:
    """The newest stable release among them."""
    stable = [each for each in found if not Version(each.vllm_omni).is_prerelease]
    return max(stable, key=lambda each: Version(each.vllm_omni))


def read_measured(path: Path) -> Measured:
    """The record in a file. Raises ``ValueError`` with its name where it is damaged."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        models = tuple(_model(entry) for entry in data.get("model", ()))
        return Measured(data["vllm_omni"], data["made_with"], models)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path.name}: not a record of lint: {error}") from error


def _model(entry: dict[str, object]) -> Model:
    def texts(key: str) -> tuple[str, ...]:
        return tuple(map(str, entry[key]))  # type: ignore[call-overload]

    hits = []
    for line in texts("hits"):
        place, rule, text = line.split(SEPARATOR, 2)
        path, _, number = place.rpartition(":")
        hits.append(Hit(path, int(number), rule, text))
    return Model(str(entry["name"]), texts("hooks"), texts("fields"), tuple(hits))


def as_text(found: Measured) -> str:
    """The text file: TOML, a line a finding, so that a change in a model or in lint is a line in a diff."""
    lines = [
        "# Written by python -m spec_examples.lint.measured. A line that changes is a model, or a rule, that changed.",
        f"vllm_omni = {_quoted(found.vllm_omni)}",
        "",
        "[made_with]",
        *(f"{name} = {_quoted(value)}" for name, value in found.made_with.items()),
    ]
    for model in found.models:
        lines += ["", "[[model]]", f"name = {_quoted(model.name)}"]
        lines += _list("hooks", model.hooks) + _list("fields", model.fields)
        lines += _list("hits", (f"{h.path}:{h.line}{SEPARATOR}{h.rule}{SEPARATOR}{h.text}" for h in model.hits))
    return "\n".join(lines) + "\n"


def _list(name: str, items: Iterable[str]) -> list[str]:
    shown = [f"    {_quoted(item)}," for item in items]
    return [f"{name} = [", *shown, "]"] if shown else [f"{name} = []"]


def _quoted(text: str) -> str:
    """A basic TOML string; JSON's escapes are a subset of TOML's."""
    return json.dumps(text, ensure_ascii=False)


def stale() -> Iterator[str]:
    """The releases of the catalogue whose record is missing or stale."""
    known = {each.vllm_omni: each for each in recorded()}
    for release in catalogue.releases():
        found = known.get(release.vllm_omni)
        if found is None or found.is_stale:
            yield release.vllm_omni


def main() -> int:
    """Measure what is stale. Returns the exit status: 2 where a release cannot be had."""
    RESULTS.mkdir(exist_ok=True)
    try:
        for version in list(stale()):
            release = catalogue.release(version)
            if release is not None:
                found = measure_release(release)
                (RESULTS / f"{version}.toml").write_text(as_text(found), encoding="utf-8")
                sys.stdout.write(f"{version}: {len(found.models)} models, {len(found.hits)} findings\n")
    except (TargetUnavailable, BadSource) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
