"""The ways in which a target cannot be asked, or fails while it is asked. One sentence each, for whoever meets it."""

from __future__ import annotations


class TargetError(Exception):
    """Something about a target; the message is one line that says what to do."""


class TargetUnavailable(TargetError):
    """The question cannot be put: no such release, no runner, no network, a constructor or the control that fails."""


class TargetBroken(TargetError):
    """The target's own code stops its import: a syntax error, a name that its modules lack. Says ``path:line``."""


class TargetOnlyRead(TargetUnavailable):
    """A folder goes with a vLLM on which nothing is run here; its source, in ``folder``, can be read."""

    def __init__(self, message: str, folder: str) -> None:
        super().__init__(message)
        self.folder = folder


class TargetFailed(TargetError):
    """The target had finished its control, and then died, hung or answered with something that is no trace."""


class DamagedFile(ValueError):
    """A file that comes with this package cannot be read: ``path`` is below the repository."""

    def __init__(self, path: str, error: Exception) -> None:
        reason = (
            f"lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split()) or type(error).__name__
        )
        super().__init__(f"{path}: {reason}; restore it, as it came with this package")
