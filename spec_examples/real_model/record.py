"""Write down what the tiny Qwen3-TTS comes to: ``python -m spec_examples.real_model.record [--check]``.

Runs in the environment of ``make e2e`` and writes ``tests/e2e/observed.json``, which pages read. ``--check`` writes
nothing and exits 1 where what is observed is not what is written down. How far apart two rows are, in ``largest``, and
which codes a frame has, in ``frame``, come from the machine's own arithmetic and are not compared.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from spec_examples.real_model import divergences
from spec_examples.real_model.comparison import differences, findings, largest_difference
from spec_examples.real_model.experiments import (
    WHOLE_V2,
    WITHOUT_BATCHED_GUARD,
    WITHOUT_SCALAR_GUARD,
    Laboratory,
    TinyExperiment,
    Utterance,
)
from spec_examples.real_model.run import Run, codes, one_token_tails, passes, requests, tokens

FILE = Path(__file__).resolve().parents[2] / "tests" / "e2e" / "observed.json"
UTTERANCES = (Utterance("a", "hi you", 8), Utterance("b", "hello", 10))
UNCUT = 64
BUDGETS = (15, 5, 3)
LARGEST = "largest"
FROM_THE_MACHINE = (LARGEST, "frame", "environment")


def observe(laboratory: Laboratory) -> dict[str, Any]:
    """Every observation, by the name under which pages find it; as JSON has it, without tuples."""
    observed = _observed(laboratory)
    return dict(json.loads(msgspec.json.encode(observed)))


def _observed(laboratory: Laboratory) -> dict[str, Any]:
    whole = laboratory.run(TinyExperiment(UTTERANCES, UNCUT))
    return {
        "environment": {name: version(name).partition("+")[0] for name in ("vllm-omni", "torch")},
        "unchunked": _summary(whole),
        "chunked": [_pair(whole, laboratory.run(TinyExperiment(UTTERANCES, budget)), budget) for budget in BUDGETS],
        "model_runner_v2": _on_v2(laboratory, whole),
        "without_a_guard": {
            runner.rpartition(":")[2]: _pair(
                whole, laboratory.run(TinyExperiment(UTTERANCES, BUDGETS[0], runner=runner)), BUDGETS[0]
            )
            for runner in (WITHOUT_BATCHED_GUARD, WITHOUT_SCALAR_GUARD)
        },
        "lost_prompts": divergences.lost_prompts(
            laboratory.run(divergences.NOT_PREEMPTED), laboratory.run(divergences.PREEMPTED)
        ),
        "leaked_frames": divergences.leaked_frames(laboratory.run(divergences.RESUMED_IN_CHUNKS)),
    }


def _on_v2(laboratory: Laboratory, shared: Run) -> dict[str, Any]:
    """The same utterances on the whole Model Runner V2: uncut against the shared runner, and cut against uncut."""
    whole = laboratory.run(TinyExperiment(UTTERANCES, UNCUT, runner=WHOLE_V2))
    chunked = [_pair(whole, laboratory.run(TinyExperiment(UTTERANCES, b, runner=WHOLE_V2)), b) for b in BUDGETS]
    return {"as_the_shared_runner": not differences(shared, whole) and shared.audio == whole.audio, "chunked": chunked}


def _summary(run: Run) -> dict[str, Any]:
    return {
        request: {
            "rows": [(at.row.prompt_len, at.row.computed, at.row.span) for at in passes(run, request)],
            "tokens": len(tokens(run, request)),
            "frames": len(codes(run, request)),
            "samples": len(run.audio[request].samples) if run.audio else 0,
        }
        for request in requests(run)
    }


def _pair(whole: Run, chunked: Run, budget: int) -> dict[str, Any]:
    apart = {request: largest_difference(whole, chunked, request) for request in requests(chunked)}
    return {
        "budget": budget,
        "steps": len(chunked.trace.steps),
        "one_token_tails": [(at.row.request, at.row.prompt_len, at.row.computed) for at in one_token_tails(chunked)],
        "same": not findings(whole, chunked) and chunked.audio == whole.audio,
        "error": chunked.trace.error,
        "wrong_positions": {request: sorted(wrong) for request, wrong in apart.items() if wrong},
        LARGEST: {request: round(max(wrong.values()), 2) for request, wrong in apart.items() if wrong},
    }


def comparable(value: Any) -> Any:
    """The observation without what the machine's arithmetic decides."""
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in value.items() if key not in FROM_THE_MACHINE}
    return [comparable(part) for part in value] if isinstance(value, list) else value


def main(arguments: list[str] | None = None) -> int:
    """0: written, or as written down. 1: it is not."""
    parser = argparse.ArgumentParser(prog="python -m spec_examples.real_model.record", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with what is written down, and write nothing")
    options = parser.parse_args(arguments)
    with Laboratory(_say) as laboratory:
        observed = observe(laboratory)
    if options.check:
        return int(comparable(observed) != comparable(json.loads(FILE.read_text(encoding="utf-8"))))
    FILE.write_text(_text(observed), encoding="utf-8")
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _text(observed: dict[str, Any]) -> str:
    """JSON with a list of numbers on one line, so that a change is a short diff."""
    text = json.dumps(observed, indent=1)
    return re.sub(r"\[[^\[\]{}]*\]", lambda found: " ".join(found[0].split()), text) + "\n"


if __name__ == "__main__":
    sys.exit(main())
