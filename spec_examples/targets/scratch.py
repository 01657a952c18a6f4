"""The temporary folder of one worker process, and the removal of those that killed ones left behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

PREFIX = "phase-contract-"
LOCK = "lock"
"""Each folder's owner holds a lock on this file in it, which ends with the process however that ends."""


@cache
def folder() -> Path:
    """This process's own, made on the first call."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=PREFIX))
        fcntl.flock(os.open(made / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC), fcntl.LOCK_EX)
        if (made / LOCK).exists():  # not removed by another process between the two calls
            return made


def remove() -> None:
    """Remove this process's own, if it was made."""
    if folder.cache_info().currsize:
        shutil.rmtree(folder(), ignore_errors=True)


def remove_left_behind() -> None:
    """Remove every folder whose owner is gone: nobody holds its lock. What cannot be opened is another user's."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)
        except OSError:
            pass
        finally:
            os.close(handle)
