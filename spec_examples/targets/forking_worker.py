"""A worker that imports its vLLM-Omni once, and answers from a copy of itself that may be thrown away.

``python -m spec_examples.targets.forking_worker`` takes the questions of ``worker`` and gives the same answers. A
question with ``"fresh": true`` is put to a new copy, which takes a tenth of a second; so is the one after a copy died
or hung. Whatever a talker did to its process is gone with it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import TextIO

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


class Copy:
    """One copy of this process, which serves questions on a pair of pipes."""

    def __init__(self, close_first: tuple[TextIO, TextIO]) -> None:
        theirs, self._questions = os.pipe()
        self._answers, ours = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.process = os.fork()
        if not self.process:
            try:
                scratch.folder.cache_clear()  # what its original wrote is left to that, and read
                worker.end_with_parent()
                os.setpgid(0, 0)
                for file in close_first:
                    os.close(file.fileno())
                os.close(self._questions)
                os.close(self._answers)
                answers = os.fdopen(ours, "w", encoding="utf-8")
                _serve(os.fdopen(theirs, encoding="utf-8"), answers)
            finally:
                scratch.remove()
                os._exit(0)
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(self.process, self.process)
        os.close(theirs)
        os.close(ours)

    def ask(self, line: str, timeout_s: float) -> bytes | None:
        """The answer's line; ``None`` where the copy is gone, or was ended because it gave none in time."""
        deadline = time.monotonic() + timeout_s
        try:
            os.write(self._questions, line.encode())
        except OSError:
            return None
        answer = bytearray()
        while not answer.endswith(b"\n"):
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._answers], [], [], left)[0]:
                return None
            chunk = os.read(self._answers, 1 << 20)
            if not chunk:
                return None
            answer += chunk
        return bytes(answer)

    def end(self) -> int:
        """End it and what it started. Returns its status, negative for a signal."""
        os.close(self._questions)
        os.close(self._answers)
        done, status = 0, 0
        for _ in range(100):  # one that ended by itself says how, and one that is told to end removes what it wrote
            done, status = os.waitpid(self.process, os.WNOHANG)
            if done:
                break
            time.sleep(0.002)
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        if not done:
            _, status = os.waitpid(self.process, 0)
        return os.waitstatus_to_exitcode(status)


def main(arguments: list[str] | None = None) -> None:
    """Serve until the standard input ends. Never returns, as ``worker.main`` does not."""
    parser = argparse.ArgumentParser(prog="python -m spec_examples.targets.forking_worker", description=__doc__)
    parser.add_argument("--expect", help="folder that vllm_omni has to be imported from")
    parser.add_argument("--memory-mib", type=int, default=Bounds.memory_mib, help="private memory that it may take")
    parser.add_argument("--file-mib", type=int, default=Bounds.file_mib, help="how long a file that it writes may be")
    parser.add_argument("--scenario-s", type=float, default=Bounds.scenario_s, help="bounds one scenario, in seconds")
    options = parser.parse_args(arguments)
    limit_this_process(options.memory_mib, options.file_mib)
    worker.end_with_parent()
    scratch.remove_left_behind()
    questions, answers = worker._claim_standard_streams()
    copy: list[Copy] = []
    status = 0
    try:
        starting.prepare(options.expect)
        with contextlib.suppress(Exception):  # whoever asks for that runner is told
            worker._control(USUAL_RUNNER)
        worker._answer(answers, {"imported": True})
        for line in questions:
            _pass_on(line, questions, answers, copy, options.scenario_s)
    except Exception as error:
        from spec_examples.targets.errors import TargetUnavailable

        status = 2
        message = str(error) if isinstance(error, TargetUnavailable) else f"{type(error).__name__}: {error}"
        worker._answer(answers, {"unavailable": " ".join(message.split())})
    finally:
        if copy:
            copy.pop().end()
        scratch.remove()
        os._exit(status)


def _pass_on(line: str, questions: TextIO, answers: TextIO, copy: list[Copy], scenario_s: float) -> None:
    """Put one question to the copy, or to a new one."""
    if json.loads(line).get("fresh") and copy:
        copy.pop().end()
    if not copy:
        copy.append(Copy((questions, answers)))
    started = time.monotonic()
    answer = copy[0].ask(line, scenario_s)
    if answer is None:
        hung = time.monotonic() - started >= scenario_s
        status = copy.pop().end()
        how = f"status {status}" if status >= 0 else signal.Signals(-status).name
        said = f"no answer within {scenario_s:g} s" if hung else f"the process ended with {how}"
        worker._answer(answers, {"failed": said})
        return
    answers.write(answer.decode())
    answers.flush()
    if answer.startswith(b'{"failed"'):  # it ran out of memory, and ends
        copy.pop().end()


if __name__ == "__main__":
    main()
