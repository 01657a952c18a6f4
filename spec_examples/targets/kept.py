"""Traces of published releases that come with this package, so that a check of its pages downloads nothing.

They are those that the pages ask for; ``python -m spec_examples.gate.keep`` writes them. A trace whose release, talker
or harness is another one by now has another key, and so is not found.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from spec_examples.targets.catalogue import Release
from spec_examples.trace import Trace

FOLDER = Path(__file__).with_name("kept_traces")
"""``VERSION.gz`` for each release: a key and the trace as JSON a line."""


class _Decoded(Mapping[str, Trace]):
    """Decodes a trace when it is asked for."""

    def __init__(self, lines: Mapping[str, bytes]) -> None:
        self.lines = lines

    def __getitem__(self, key: str) -> Trace:
        return Trace.from_json(self.lines[key])

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)


@cache
def traces(release: Release) -> Mapping[str, Trace]:
    """Those of a release by their keys; none where the file is missing or damaged, which costs time alone."""
    try:
        lines = gzip.decompress((FOLDER / f"{release.vllm_omni}.gz").read_bytes()).splitlines()
    except (OSError, EOFError, zlib.error):
        return {}
    return _Decoded({key.decode(): text for key, _, text in (line.partition(b" ") for line in lines)})


def write(found: Mapping[str, Mapping[str, Trace]]) -> None:
    """Replace all that is kept, by release and key. Equal traces give equal bytes."""
    FOLDER.mkdir(exist_ok=True)
    for file in FOLDER.glob("*.gz"):
        if file.stem not in found:
            file.unlink()
    for version, by_key in found.items():
        lines = "".join(f"{key} {trace.to_json()}\n" for key, trace in sorted(by_key.items()))
        (FOLDER / f"{version}.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
    traces.cache_clear()
