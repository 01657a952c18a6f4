"""A worker that imports its vLLM-Omni once, and answers from copies of itself that may be thrown away.

``python -m spec_examples.targets.forking_worker --control FD`` says that it has imported, as ``worker`` does, and then
forks a copy for whoever asks at the socket ``FD``. A copy takes the questions of ``worker`` at a channel of its own,
and gives the same answers. Whatever a talker did to its process is gone with it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
from typing import TextIO

from spec_examples import forks
from spec_examples.targets import scratch, starting, worker
from spec_examples.targets.bounds import Bounds, limit_this_process

USUAL_RUNNER = "ar"
"""Its control is run before anything is copied: the first runner that a process builds is the one that takes time."""


def _serve(questions: TextIO, answers: TextIO) -> None:
    """As the worker does, and say what stops it."""
    try:
        worker._serve(questions, answers)
    except Exception as error:
        worker._answer(answers, {"failed": " ".join(f"{type(error).__name__}: {error}".split())})


def _copy(_: forks.Fork, files: list[int]) -> None:
    """Serve at the channel that came with the request, until the asker closes it."""
    scratch.folder.cache_clear()  # what its original wrote is left to that, and read
    worker.end_with_parent()
    channel = socket.socket(fileno=files[0])
    try:
        _serve(channel.makefile("r", encoding="utf-8"), channel.makefile("w", encoding="utf-8"))
    finally:
        scratch.remove()


def main(arguments: list[str] | None = None) -> None:
    """Serve until nobody asks any more. Never returns, as ``worker.main`` does not."""
    parser = argparse.ArgumentParser(prog="python -m spec_examples.targets.forking_worker", description=__doc__)
    parser.add_argument("--control", type=int, required=True, help="descriptor of the socket at which copies are asked")
    parser.add_argument("--expect", help="folder that vllm_omni has to be imported from")
    parser.add_argument("--memory-mib", type=int, default=Bounds.memory_mib, help="private memory that it may take")
    parser.add_argument("--file-mib", type=int, default=Bounds.file_mib, help="how long a file that it writes may be")
    options = parser.parse_args(arguments)
    limit_this_process(options.memory_mib, options.file_mib)
    worker.end_with_parent()
    scratch.remove_left_behind()
    _, answers = worker._claim_standard_streams()
    status = 0
    try:
        starting.prepare(options.expect)
        with contextlib.suppress(Exception):  # whoever asks for that runner is told
            worker._control(USUAL_RUNNER)
        worker._answer(answers, {"imported": True})
        forks.serve(socket.socket(fileno=options.control), _copy)
    except Exception as error:
        from spec_examples.targets.errors import TargetUnavailable

        status = 2
        message = str(error) if isinstance(error, TargetUnavailable) else f"{type(error).__name__}: {error}"
        worker._answer(answers, {"unavailable": " ".join(message.split())})
    finally:
        scratch.remove()
        os._exit(status)


if __name__ == "__main__":
    main()
