"""``python -m spec_examples.site.verified``: execute every page and keep what came of each example, for the site.

Where pages, harness and runner are as they were when that was last done, nothing is run, unless options of
``phase-contract check`` follow: these are passed on. Ends as that command does; what it wrote before stays where the
check is red, and the site then shows no marks.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import spec_examples
from spec_examples.targets.target import installed_version
from spec_examples.whole_files import write_whole

FILE = Path("build/verified.json")
DOCS = Path("docs")


@dataclass(frozen=True)
class Verified:
    """The last check: the day it was run on, the release, and the outcome of each example by its id."""

    date: str
    vllm_omni: str
    runner: str
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)


def digest() -> str:
    """SHA-256 over what a check depends on."""
    found = hashlib.sha256(f"{installed_version()}".encode())
    for file in sorted(_depended_on()):
        found.update(f"{file}\0".encode() + file.read_bytes() + b"\0")
    return found.hexdigest()


def _depended_on() -> Iterator[Path]:
    package = Path(spec_examples.__file__).parent
    yield from DOCS.rglob("*.md")
    yield from (file for end in ("py", "toml", "gz", "json") for file in package.rglob(f"*.{end}"))


def read() -> Verified | None:
    """The last check, if it was of what is here now."""
    try:
        kept = json.loads(FILE.read_text(encoding="utf-8"))
        if kept["digest"] != digest():
            return None
        report = kept["report"]
        outcomes = {example["id"]: example for example in report["examples"]}
        return Verified(kept["date"], report["target"]["vllm_omni"], report["target"]["runner"], outcomes)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def verify(*options: str) -> int:
    """Run the check, with ``options`` in any case, else unless the last one holds. Gives its exit code."""
    if not options and read():
        return 0
    before = digest()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "spec_examples.gate.cli", "check"]
        command += [*(options or ("--drift=error",)), "--also", f"json={report}"]
        done = subprocess.run(command)
        if done.returncode:
            sys.stderr.write("the site shows no marks: phase-contract check says what is wrong\n")
            return done.returncode
        kept = {"digest": before, "date": date.today().isoformat(), "report": json.loads(report.read_text())}
    FILE.parent.mkdir(parents=True, exist_ok=True)
    write_whole(FILE, json.dumps(kept))
    return 0


if __name__ == "__main__":
    sys.exit(verify(*sys.argv[1:]))
