"""``python -m spec_examples.search``: the longer search, for as many minutes as it is given.

Prints what it reached, what it never reached, and the command for what it found. Status 1 where a clause is broken.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import date
from pathlib import Path

from spec_examples.conformance.known import known
from spec_examples.search.hunt import Found, Profile, hunt
from spec_examples.targets import Session, TargetBroken, TargetUnavailable, resolve
from spec_examples.trace import Environment

RECORDED = Path(__file__).with_name("reached.json")
"""What a longer search came to, for the page about it."""

EXAMPLES = 250
"""Scenarios for each seed."""


def main(arguments: list[str] | None = None) -> int:
    """Search seed after seed until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m spec_examples.search", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default: 1)")
    parser.add_argument("--vllm-omni", default="installed", metavar="installed|VERSION|PATH")
    parser.add_argument("--runner", default="ar", metavar="ar|v2|package.module:Class")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name}, which the page reads")
    options = parser.parse_args(arguments)
    found, seed = Found(), options.seed
    try:
        target = resolve(options.vllm_omni, options.runner)
        with Session(say=lambda line: _say(f"{line}\n")) as session:
            environment = session.environment(target)
            expected = known(environment.vllm_omni, target.runner, gate=True)
            until = time.monotonic() + 60 * options.minutes
            while seed == options.seed or (found.broken is None and time.monotonic() < until):
                whole = target.runner == "ar"
                # V2's store of prompt embeddings is in pinned memory, which needs an accelerator.
                embeds = target.runner != "v2"
                profile = Profile(EXAMPLES, seed, asynchronous=whole, drafts=whole, embeds=embeds)
                hunt(session, target, profile, tuple(expected), found)
                _say(f"seed {seed}: {found.reached.steps} steps, {found.steps_a_second:.0f} a second\n")
                seed += 1
    except (TargetUnavailable, TargetBroken) as error:
        _say(f"{error}\n")
        return 2
    report = _report(found, environment, range(options.seed, seed))
    sys.stdout.write(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    if found.broken is not None:
        sys.stdout.write(f"{found.broken}\n")
        return 1
    if options.record:
        RECORDED.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def _report(found: Found, environment: Environment, seeds: range) -> dict[str, object]:
    return {
        "vllm_omni": environment.vllm_omni,
        "runner": environment.runner,
        "on": date.today().isoformat(),
        "seeds": [seeds.start, seeds.stop - 1],
        "seconds": round(found.seconds),
        "stopped": found.stopped,
        "steps_a_second": round(found.steps_a_second),
        **found.reached.as_json(),
    }


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
