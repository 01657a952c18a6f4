"""Check what is recorded of the models: that it is of today's lint, and that every finding was read."""

from __future__ import annotations

from pathlib import Path

from spec_examples.execution.result import Result
from spec_examples.lint import by_eye, measured

AGAIN = "run python -m spec_examples.lint.measured"


def recorded_models() -> list[Result]:
    """One result a release, and one for the verdicts of who read the newest stable one. Nothing is linted."""
    folder = f"spec_examples/lint/{measured.RESULTS.name}"
    try:
        known = {each.vllm_omni: each for each in measured.recorded()}
    except ValueError as error:
        return [_result(folder, 1, "error", str(error))]
    missing = [version for version in measured.stale() if version not in known]
    results = [_result(folder, 1, "failed", f"no record of {', '.join(missing)}; {AGAIN}")] if missing else []
    stale = [version for version, each in known.items() if each.is_stale]
    if stale:
        message = f"stale: lint, or the release, changed since {', '.join(stale)} was recorded; {AGAIN}"
        results.append(_result(f"{folder}/{stale[0]}.toml", 4, "failed", message))
    results += [_result(f"{folder}/{version}.toml", 1, "passed", "") for version in known if version not in stale]
    return [*results, *_read(known)]


def _read(known: dict[str, measured.Measured]) -> list[Result]:
    path = f"spec_examples/lint/{by_eye.FILE.name}"
    try:
        seen = by_eye.by_eye()
    except (ValueError, KeyError) as error:
        return [_result(path, 1, "error", f"not verdicts of a reader: {error}")]
    newest = measured.newest(known.values())
    wrong = seen.differences(newest.hits)
    if seen.vllm_omni != newest.vllm_omni:
        wrong.insert(0, f"{seen.vllm_omni} was read, and the newest stable release is {newest.vllm_omni}")
    return [_result(path, 1, "failed", line) for line in wrong] or [_result(path, 1, "passed", "")]


def _result(path: str, line: int, outcome: str, message: str) -> Result:
    shown = Path(path).as_posix()
    return Result(f"{shown}:{line}", "recorded", shown, line, (), outcome, message)  # type: ignore[arg-type]
