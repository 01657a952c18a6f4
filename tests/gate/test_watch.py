"""``check --watch``: a page again as it changes, in processes that nothing on it can poison."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from spec_examples.gate.check import check
from spec_examples.gate.watching import recheck
from spec_examples.targets import Session, Target

RUN = "from spec_examples import Row, rows, run\n"


def block(code, language="python", title=None):
    heading = f' title="{title}"' if title else ""
    return f"```{language}{heading}\n{code}\n```\n\n"


ASKED = "# Page\n\n" + block(RUN + "print(rows(run(Row(5, 4, 1)))[0].phase)") + block("prefill", "text", "Output")
TALKER = """\
import os

from spec_examples.talker import ScalarTalker


class Ends(ScalarTalker):
    def preprocess(self, input_ids, input_embeds, **info):
        {}
        return super().preprocess(input_ids, input_embeds, **info)
"""


@pytest.fixture(scope="module")
def warm():
    with Session(forking=True, once=True) as session:
        session.bounds = replace(session.bounds, scenario_s=15)
        yield session


@pytest.fixture
def edited(site, warm):
    """``edited(text)``: the page checked again with that text."""
    page = site("docs/page.md", ASKED)
    (before,) = check([page], warm, Target()).pages
    state = [before]

    def again(text):
        page.write_text(text)
        found = recheck(page, state[0], warm, Target())
        state[0] = found.page
        return found

    return again


def test_what_an_edit_touches_is_said(edited):
    found = edited("# Page\n\nMore words.\n\n" + ASKED.removeprefix("# Page\n\n"))
    assert (found.page.worst, found.touched) == ("passed", ())
    found = edited(ASKED.replace("prefill", "decode"))
    assert found.page.worst == "failed"
    assert [result.message for result in found.touched] == ["the block before prints something else"]
    assert [result.outcome for result in edited(ASKED).touched] == ["passed"]


def test_the_runner_is_imported_once(edited, warm):
    (worker,) = warm._workers.values()
    edited(ASKED + block(RUN + "assert run(Row(5, 4, 1), Row(5, 5, 1)).mtp"))
    assert list(warm._workers.values()) == [worker]


@pytest.mark.parametrize("poison", ["os._exit(0)", "os.kill(os.getpid(), 11)", "ScalarTalker.preprocess = None"])
def test_a_talker_that_kills_or_patches_its_process_is_red_and_gone_with_the_edit(edited, warm, poison):
    (worker,) = warm._workers.values()
    assert edited(ASKED + block(TALKER.format(poison), title="ends.py")).page.worst == "failed"
    asked = block(RUN + "print(run(Row(9, 4, 1), Row(5, 5, 1)).mtp)") + block("True", "text", "Output")
    assert edited(ASKED + asked + block(TALKER.format("pass"), title="ends.py")).page.worst == "passed"
    assert list(warm._workers.values()) == [worker]


def test_a_talker_that_hangs_is_red_and_gone_with_the_edit(edited):
    found = edited(ASKED + block(TALKER.format("os.kill(os.getpid(), 19)"), title="ends.py"))
    assert found.page.worst == "failed"
    assert edited(ASKED).page.worst == "passed"


def test_a_block_that_ends_its_process_is_red_and_gone_with_the_edit(edited):
    assert edited(ASKED + block("import os\nos._exit(0)")).page.worst == "failed"
    assert edited(ASKED).page.worst == "passed"


@pytest.fixture
def watching(site):
    """A command that watches a page, its lines, and the page."""
    page = site("docs/page.md", ASKED)
    process = subprocess.Popen(
        [sys.executable, "-m", "spec_examples.gate.cli", "check", "--watch", str(page)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    lines = queue.Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in process.stdout], daemon=True).start()

    def until(word):
        seen = []
        while not seen or word not in seen[-1]:
            seen.append(lines.get(timeout=400))
        return "".join(seen)

    yield process, until, page
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_the_command_checks_what_is_saved_until_it_is_interrupted(watching):
    process, until, page = watching
    assert "2 blocks" in until("watching 1 page;")
    page.write_text(ASKED.replace("prefill", "decode"))
    said = until("touched")
    assert "FAILED" in said
    assert "+prefill" in said
    part = page.with_suffix(".md.part")  # as editors save: a new file in the old one's place
    part.write_text(ASKED)
    part.replace(page)
    assert "ok" in until("touched")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == ""
