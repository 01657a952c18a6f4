"""``make repeat``: the fast suite many times, each time in another order and every second time in parallel.

The fast suite are the tests that import no vLLM and start no runner. A repetition that fails is a flake or a fault: its
seed is printed, and ``pytest --shuffle SEED --hypothesis-seed SEED`` brings its order and its examples back.
"""

import argparse
import subprocess
import sys
import time

FAST = (
    "tests/contract/test_any_trace.py",
    "tests/contract/test_broken_runners.py",
    "tests/contract/test_scalar_and_batched.py",
    "tests/contract/test_verdicts.py",
    "tests/markdown",
    "tests/mutants/test_shapes.py",
    "tests/targets/test_plain_data.py",
    "tests/targets/test_resolve.py",
    "tests/targets/test_sessions.py",
)
FEWER_EXAMPLES = ["--hypothesis-profile", "again"]
"""Of each property: a repetition draws others than the one before it."""


def main() -> int:
    """0 where every repetition passed, else 1."""
    parser = argparse.ArgumentParser(prog="make repeat", description=__doc__)
    parser.add_argument("-n", type=int, default=200, help="repetitions (200)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first (0)")
    options = parser.parse_args()
    started = time.monotonic()
    flakes = []
    for seed in range(options.first, options.first + options.n):
        words = [sys.executable, "-m", "pytest", "-q", "-m", "not runner", *FEWER_EXAMPLES, *FAST]
        words += ["--shuffle", str(seed), "--hypothesis-seed", str(seed)]
        words += ["-n", "2"] if seed % 2 else []
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            flakes.append(seed)
            print(done.stdout[-3000:], flush=True)
        ended = done.stdout.strip().splitlines()[-1:] or ["nothing"]
        print(f"repetition {seed}: {ended[0].strip('= ')}", flush=True)
    took = time.monotonic() - started
    print(f"{options.n} repetitions, {len(flakes)} failed{f': seeds {flakes}' if flakes else ''}, {took:.0f} s")
    return 1 if flakes else 0


if __name__ == "__main__":
    sys.exit(main())
