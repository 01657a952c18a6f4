"""The process that runs scenarios on one vLLM-Omni: questions in, answers out, a line of JSON each.

``python -m spec_examples.targets.worker`` answers on the standard output it was started with; whatever a runner and its
libraries print goes to the standard error instead. A question names a runner, so that one import serves them all:
``{"runner": "ar", "scenario": {…}}``, or without a scenario the runner's control. ``"mutant"`` names a known defect
that the runner has meanwhile. ``--control`` runs the control alone.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import json
import os
import sys
import threading
import time
from typing import Any, TextIO

from spec_examples.targets import scratch, starting
from spec_examples.targets.bounds import Bounds, limit_this_process


def main(arguments: list[str] | None = None) -> None:
    """Serve until the standard input ends. Never returns: threads of vLLM's process group outlive the interpreter."""
    parser = argparse.ArgumentParser(prog="python -m spec_examples.targets.worker", description=__doc__)
    parser.add_argument("--runner", default="ar", help="with --control: ar, generation, v2 or package.module:Class")
    parser.add_argument("--expect", help="folder that vllm_omni has to be imported from")
    parser.add_argument("--control", action="store_true", help="run the control, print ok, and end")
    parser.add_argument("--memory-mib", type=int, default=Bounds.memory_mib, help="private memory that it may take")
    parser.add_argument("--file-mib", type=int, default=Bounds.file_mib, help="how long a file that it writes may be")
    options = parser.parse_args(arguments)
    limit_this_process(options.memory_mib, options.file_mib)
    end_with_parent()
    scratch.remove_left_behind()
    questions, answers = _claim_standard_streams()
    status = 0
    asked = False
    try:
        starting.prepare(options.expect)
        if options.control:
            _control(options.runner)
            print("ok", file=answers, flush=True)
        else:
            _answer(answers, {"imported": True})
            asked = True
            _serve(questions, answers)
    except Exception as error:
        from spec_examples.targets.errors import TargetUnavailable

        status = 2
        known = isinstance(error, TargetUnavailable) or type(error).__name__ == "CannotRun"
        message = str(error) if known else f"{type(error).__name__}: {error}"
        _answer(answers, {"failed" if asked else "unavailable": " ".join(message.split())})
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        atexit._run_exitfuncs()
        scratch.remove()
        os._exit(status)


def end_with_parent() -> None:
    """End within a second of the process that started this one, however that one ended.

    A thread that looks, rather than the kernel's signal on a parent's death: that one comes when the thread ends that
    started this process, which need not be the end of its process.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        scratch.remove()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _claim_standard_streams() -> tuple[TextIO, TextIO]:
    """Keep the real standard input and output for scenarios and traces.

    Libraries, C ones included, print to the standard error instead, and read nothing.
    """
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return questions, answers


def _answer(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _control(runner: str) -> dict[str, Any]:
    """The smallest run that a runner has to finish before anything is judged; what ran it."""
    import msgspec

    from spec_examples.scenario import CONTROL
    from spec_examples.targets import drive
    from spec_examples.targets.engine import CannotRun

    try:
        trace = drive.run(CONTROL, runner)
    finally:
        gc.freeze()  # vLLM's loader collects for every model; what was imported is not looked through again
        gc.enable()
    if trace.error:
        raise CannotRun(f"the control (one two-token prefill without MTP) failed: {trace.error}")
    return msgspec.to_builtins(trace.environment)


def _serve(questions: TextIO, answers: TextIO) -> None:
    """One answer for each line: ``ready`` to a control, ``trace`` to a scenario; else ``unavailable`` or ``failed``.

    ``unavailable`` says that it could not be put to the runner. A process that ran out of memory answers so and ends:
    what fills it would fail the next scenario too.
    """
    import msgspec

    from spec_examples.mutants.in_place import with_defect
    from spec_examples.scenario import Scenario
    from spec_examples.targets import drive
    from spec_examples.targets.engine import CannotRun

    for line in questions:
        question = json.loads(line)
        try:
            if "scenario" not in question:
                _answer(answers, {"ready": _control(question["runner"])})
                continue
            with with_defect(question["runner"], question.get("mutant", "")):
                trace = drive.run(msgspec.convert(question["scenario"], Scenario), question["runner"])
            if _out_of_memory(trace.error):
                _answer(answers, {"failed": f"out of memory: {trace.error}"})
                return
            answers.write('{"trace":' + trace.to_json() + "}\n")
            answers.flush()
        except CannotRun as error:
            _answer(answers, {"unavailable": " ".join(str(error).split())})
        except MemoryError as error:
            _answer(answers, {"failed": f"out of memory: {error}"})
            return


def _out_of_memory(error: str | None) -> bool:
    """Python's error, or that of torch's allocator for a CPU."""
    return error is not None and (error.startswith("MemoryError") or "can't allocate memory" in error)


if __name__ == "__main__":
    main()
