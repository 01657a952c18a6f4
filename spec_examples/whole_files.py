"""Files that are written whole or not at all, whoever reads or kills the writer meanwhile."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """A stream beside ``path`` that takes its place, with the permissions ``mode``, once the block has ended well.

    Raises ``OSError`` where the folder is missing or takes no file.
    """
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(part, mode)
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Write ``content``, text as UTF-8 with its line ends as they are."""
    with whole(path, mode) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
