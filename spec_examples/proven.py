"""What was proven once of files that have not changed since, kept in the user's cache.

Two things are proven by every check although no runner takes part: that a page shows what is executed, and that
recorded verdicts are those that today's judges give to the recorded traces. Both depend on nothing but files of this
package, the page or record, and the packages that render. Only a success is kept, under a digest of all of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path


def key(what: str, code: Iterable[str], packages: Iterable[str], parts: Iterable[bytes]) -> Path:
    """The file that says so. ``code`` are patterns of this package's files, ``parts`` the bytes it is proven of."""
    from spec_examples.targets.cache import cache_folder

    digest = hashlib.sha256()
    said = [_code(tuple(code)), platform.python_version(), *(f"{name} {_version(name)}" for name in packages)]
    for part in (*(text.encode() for text in said), *parts):
        digest.update(len(part).to_bytes(8, "big") + part)
    return cache_folder() / "proven" / what / digest.hexdigest()


def keep(file: Path) -> None:
    """Note that it was proven; a cache that cannot be written costs time, not the run."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


@cache
def _code(patterns: tuple[str, ...]) -> str:
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for file in sorted({file for pattern in patterns for file in root.glob(pattern)}):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
