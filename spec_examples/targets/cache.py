"""Where what was fetched is kept, and a lock for each folder of it, so that two processes do not make it at once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from spec_examples.targets.errors import TargetUnavailable


def cache_folder() -> Path:
    """Return ``PHASE_CONTRACT_CACHE``, else the user's cache folder for this package."""
    chosen = os.environ.get("PHASE_CONTRACT_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("omni-phase-contract")


@contextmanager
def locked(folder: Path, waits: Callable[[], None] = lambda: None) -> Iterator[int]:
    """Hold the lock of a folder of the cache, which need not exist; yield the lock's open file.

    ``waits`` is called if another process holds it. A process that inherits the file holds the lock too.

    Raises ``TargetUnavailable`` if the cache cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(folder.with_name(f"{folder.name}.lock"), "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waits()
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield lock.fileno()
    except OSError as error:
        raise TargetUnavailable(f"cannot write to the cache {folder.parent}: {error.strerror or error}") from error
