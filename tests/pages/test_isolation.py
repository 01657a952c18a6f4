"""Nothing that a block does to its process reaches the check, the pages after it, or the verdict."""

import pytest

from spec_examples.execution import interpreter
from spec_examples.execution.page import PageExecution
from spec_examples.gate.check import check
from spec_examples.markdown import read
from spec_examples.targets import Target

RUN = "from spec_examples import Row, rows, run\n"


def block(code, language="python", title=None):
    heading = f' title="{title}"' if title else ""
    return f"```{language}{heading}\n{code}\n```\n\n"


@pytest.fixture
def pages(tmp_path, session):
    """``pages(text, …)``: the report of a check of that many pages."""

    def checked(*texts):
        paths = []
        for number, text in enumerate(texts):
            paths.append(tmp_path / "docs" / f"page{number}.md")
            paths[-1].parent.mkdir(exist_ok=True)
            paths[-1].write_text(f"# Page\n\n{text}", encoding="utf-8")
        return check(paths, session, Target())

    return checked


ENDS = {
    "exits": ("import os\nos._exit(0)", "ends the process of its page, with status 0", 3),
    "exits with a status": ("import os\nos._exit(7)", "with status 7", 3),
    "is killed": ("import os\nos.kill(os.getpid(), 9)", "by SIGKILL", 3),
    "reads what is not there": ("import ctypes\n\nctypes.string_at(0)", "by SIGSEGV", 6),
    "closes everything": ("import os\nos.closerange(0, 100)", "the process of its page", 3),
    "kills what it was forked from": ("import os\nos.kill(os.getppid(), 9)\nimport time\ntime.sleep(60)", "ends", 3),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_page_that_dies_is_named_and_the_others_are_run(case, pages):
    code, said, line = ENDS[case]
    report = pages(block(code), block("print(1)") + block("1", "text", "Output"))
    (died, printed, shown) = report.results
    assert (died.outcome, died.line) == ("failed", line)
    assert said in died.message
    assert (printed.outcome, shown.outcome) == ("passed", "passed")
    assert report.exit_code == 1


def test_the_rest_of_a_page_that_died_is_run_too(pages):
    report = pages(block("x = 1") + block("import os\nos._exit(0)") + block("assert True") + block("assert x"))
    assert [result.outcome for result in report.results] == ["passed", "failed", "passed", "failed"]
    assert "needs 'x' of the block at line 7, which did not run to its end" in report.results[-1].message


def test_a_block_without_an_end_is_ended_and_says_where_it_was(pages, monkeypatch):
    monkeypatch.setattr(interpreter, "BLOCK_TIMEOUT_S", 2)
    report = pages(block("import time\n\ntime.sleep(60)"), block("assert True"))
    assert [(result.outcome, result.line) for result in report.results] == [("failed", 6), ("passed", 3)]
    assert "did not end within" in report.results[0].message


PATCHES = {
    "the judge": "import spec_examples.execution.page as page\npage.judge = lambda trace: ()",
    "the runs": "from spec_examples.running import current\nimport spec_examples.running as running\n"
    "running.Made = lambda *a, **k: None\ncurrent().made.clear()",
    "the session": "from spec_examples.targets import Session\nSession.run = None",
}


@pytest.mark.parametrize("case", PATCHES)
def test_a_patch_does_not_reach_the_verdict(case, pages, session, tmp_path):
    path = tmp_path / "page.md"
    path.write_text("# Page\n\n" + block(PATCHES[case] + "\n" + RUN + "assert run(Row(5, 4, 1), Row(5, 5, 1)).mtp"))
    with PageExecution(read(path), session, Target("0.20.0")) as execution:
        (result,) = [execution.evaluate(example) for example in execution.page.examples]
    assert result.outcome == "failed"
    assert "ROUTE-3" in result.clauses


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.stdout.close()",
        "import os\nos.close(1)\nos.close(0)",
        "import builtins\nbuiltins.print = None",
        "import os, sys\nos.chdir('/')\nos.environ.clear()\nsys.path.clear()\nsys.modules.pop('spec_examples')",
        "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nsignal.alarm(1)",
        "import os\nif os.fork() == 0:\n    os.setsid()",
        "import random\nrandom.seed(1)",
    ],
)
def test_what_a_block_leaves_does_not_reach_the_next_page(code, pages):
    after = (
        RUN + "import os\n\nassert os.environ['PATH'] and os.getcwd() != '/'\nprint(rows(run(Row(5, 4, 1)))[0].phase)"
    )
    report = pages(block(code), block(after) + block("prefill", "text", "Output"))
    assert [result.outcome for result in report.results] == ["passed"] * 3, [str(r) for r in report.results]


def test_a_thread_that_is_left_running_is_red(pages):
    (result,) = pages(
        block("import threading, time\nthreading.Thread(target=time.sleep, args=(9,), name='t').start()")
    ).results
    assert result.outcome == "failed"
    assert "leaves a thread running (t)" in result.message


def test_a_copy_that_a_block_forks_does_not_speak_for_it(pages):
    copy = "import os\n\nif os.fork() == 0:\n    raise SystemExit('the copy')\nos.wait()"
    report = pages(block(copy) + block("print(2)") + block("2", "text", "Output"))
    assert [result.outcome for result in report.results] == ["passed"] * 3


def test_what_a_child_of_a_block_prints_belongs_to_the_block(pages):
    report = pages(block("import subprocess\n\nsubprocess.run(['echo', 'hello'])") + block("hello", "text", "Output"))
    assert [result.outcome for result in report.results] == ["passed"] * 2
