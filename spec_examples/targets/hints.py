"""What a tree's own files say of the vLLM that it goes with. They lag: names in the source outrank them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spec_examples.targets.catalogue import minor

REQUIREMENTS = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements*.txt",
    "requirements/*.txt",
    "requirements/*.in",
)
RECIPES = ("docker/Dockerfile*", "Dockerfile*", "docker/*/Dockerfile*")
"""Files that may name a vLLM, by how closely they follow it; patterns are relative to the tree."""

OTHER_DEVICES = ("npu", "xpu", "rocm", "musa", "hpu", "tpu", "ascend")
"""Recipes for devices whose vLLM is another package; they are asked last."""

NAMED = re.compile(
    r"""(?:
        (?<![\w-])vllm(?:-cpu)?\s*(?:\[[\w,]+\])?\s*(?:==|~=|>=)\s*          # a requirement
      | (?<![\w-])vllm(?:-openai)?:v?(?=\d)                                  # an image
      | VLLM_(?:VERSION|TAG|BASE_TAG|REF|BRANCH|COMMIT_TAG)\s*[:=]\s*["']?v? # an argument of a recipe
      | /vllm(?:\.git)?@v?(?=\d)                                             # a repository
    )v?(\d+\.\d+(?:\.\d+)?\w*)""",
    re.VERBOSE,
)

VERSION = re.compile(
    r"""(?m:^Version:\s*|version(?:__)?\s*(?::\s*\w+\s*)?=\s*(?:version\s*=\s*)?["'])(\d+\.\d+[\w.+]*)"""
)


@dataclass(frozen=True)
class Hint:
    """A version of vLLM, or of the vLLM-Omni of that minor version, and which file says so."""

    version: str
    source: str

    @property
    def minor(self) -> tuple[int, int]:
        """Its first two numbers."""
        return minor(self.version)


def hints(folder: Path, tag: str = "") -> Iterator[Hint]:
    """What the files of a tree say, the closest first; ``tag`` is the nearest one of its repository."""
    yield from _named(folder, REQUIREMENTS)
    yield from sorted(_named(folder, RECIPES), key=lambda hint: any(d in hint.source.lower() for d in OTHER_DEVICES))
    for file in (*(folder / "vllm_omni" / name for name in ("_version.py", "version.py")), *_metadata(folder)):
        if file.is_file() and (found := VERSION.search(_text(file))):
            yield Hint(found[1], str(file.relative_to(folder)))
            break
    if found := re.fullmatch(r"v?(\d+\.\d+[\w.]*)", tag):
        yield Hint(found[1], f"the tag {tag}")


def _metadata(folder: Path) -> Iterator[Path]:
    """What a built package says of itself, beside it."""
    yield from (*sorted(folder.glob("vllm_omni-*.dist-info/METADATA")), folder / "PKG-INFO")


def _named(folder: Path, patterns: tuple[str, ...]) -> Iterator[Hint]:
    for pattern in patterns:
        for file in sorted(folder.glob(pattern)):
            if file.is_file() and (found := NAMED.search(_text(file))):
                yield Hint(found[1], str(file.relative_to(folder)))


def _text(file: Path) -> str:
    try:
        return file.read_bytes()[: 1 << 20].decode(errors="replace")
    except OSError:
        return ""
