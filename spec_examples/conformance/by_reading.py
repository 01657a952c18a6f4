"""Verdicts on runners that cannot be run here, as far as their source says: NPU, XPU, and releases that do not import.

What was read says what the source says. Hardware still has to show that it behaves so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from spec_examples.conformance.verdicts import SHARED_PRODUCER, Cell, State
from spec_examples.contract.clauses import CLAUSES
from spec_examples.targets import reading
from spec_examples.targets.reading import ReadRunner
from spec_examples.trace import IS_PREFILL, NUM_COMPUTED, PROMPT_LEN

CLASSES = {
    "ar": ("shared", ("GPUARModelRunner",)),
    "generation": ("shared", ("GPUGenerationModelRunner",)),
    "npu": ("npu", ("NPUARModelRunner", "NPUGenerationModelRunner")),
    "xpu": ("xpu", ("XPUARModelRunner", "XPUGenerationModelRunner")),
}
"""The platform and the classes that a runner's name stands for where it is read. They are judged together."""

PLATFORMS = ("npu", "xpu")
"""Runners that are read on every release."""

KEYS = {"FIELD-1": PROMPT_LEN, "FIELD-2": NUM_COMPUTED, "FIELD-3": IS_PREFILL}
NOT_RUN = "read, not run; hardware has to validate it"
OUTSIDE = "its preprocessing comes from another package"


def digest() -> str:
    """SHA-256 over what such a verdict depends on, besides the release's packages."""
    files = (Path(reading.__file__), Path(__file__))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def of(runner: str, found: Sequence[ReadRunner]) -> tuple[ReadRunner, ...]:
    """Those of a release's runners that ``runner`` stands for."""
    platform, names = CLASSES[runner]
    return tuple(each for each in found if each.platform == platform and each.name in names)


def judge(runners: Sequence[ReadRunner]) -> dict[str, Cell]:
    """A cell for every clause, from what was read of one or more classes: what one of them breaks is broken."""
    cells = {
        clause: Cell(clause, "not-runnable", message=NOT_RUN)
        if each.kind == "promise"
        else Cell(clause, "not-applicable", message=f"a {each.kind}: it is run on its page")
        for clause, each in CLAUSES.items()
    }
    if not runners:
        return cells
    for clause, key in KEYS.items():
        cells[clause] = _together(clause, [_key(runner, key) for runner in runners])
    for clause in ("ROUTE-2", "ROUTE-3"):
        cells[clause] = _together(clause, [_guard(runner) for runner in runners])
    cells["OWN-1"] = _together("OWN-1", [_owner(runner) for runner in runners])
    return cells


Said = tuple[State, str]


def _together(clause: str, said: Sequence[Said]) -> Cell:
    states: tuple[State, ...] = ("failed", "not-runnable", "not-applicable", "passed")
    for state in states:
        for each, message in said:
            if each == state:
                return Cell(clause, state, "source", message)
    raise ValueError(f"{clause}: nothing was read")


def _key(runner: ReadRunner, key: str) -> Said:
    if runner.preprocess is None:
        return "failed", f"{runner.name}: {OUTSIDE}; nothing in vLLM-Omni sets {key}"
    where = f"{runner.preprocess.path}:{runner.preprocess.line}"
    if key in runner.keys:
        return "passed", f"{runner.preprocess.cls}._preprocess sets {key} ({where})"
    return "failed", f"{runner.preprocess.cls}._preprocess does not set {key} ({where})"


def _guard(runner: ReadRunner) -> Said:
    if runner.preprocess is None:
        return "not-runnable", f"{runner.name}: {OUTSIDE}"
    if runner.mtp is None:
        return "not-applicable", f"{runner.name} has no MTP"
    bare = next((guard for guard in runner.guards if not guard.asks_for_prefill), None)
    if bare is not None:
        return "failed", f"a row is taken for a decode step by its span alone: {bare.text} (line {bare.line})"
    if not runner.guards:
        return "not-runnable", f"{runner.preprocess.cls}._preprocess has no condition that could be read"
    return "passed", f"each condition on one token asks for the phase too: {runner.guards[-1].text}"


def _owner(runner: ReadRunner) -> Said:
    producers = {name: found.cls if found else "no class of vLLM-Omni" for name, found in _methods(runner).items()}
    if set(producers.values()) == {SHARED_PRODUCER} and not runner.outside:
        return "passed", f"{runner.name} has both from {SHARED_PRODUCER}"
    own = ", ".join(f"{name} from {cls}" for name, cls in producers.items() if cls != SHARED_PRODUCER)
    before = f"{', '.join(runner.outside)} comes before {SHARED_PRODUCER}" if runner.outside else ""
    return "not-applicable", f"{runner.name} has {own or before}, so it answers for itself (OWN-2)"


def _methods(runner: ReadRunner) -> dict[str, reading.Definition | None]:
    return dict(zip(reading.RUNNER_METHODS, (runner.preprocess, runner.mtp), strict=True))
