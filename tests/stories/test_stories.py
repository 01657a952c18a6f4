"""Each story, run again, is the one that its figure shows; and the figure says so in words."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from spec_examples.gate.cli import main
from spec_examples.running import Context
from spec_examples.stories import STORIES, kept, recorded, story
from spec_examples.stories.draw import cells, draw, write_all
from spec_examples.targets import Target

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def here(session):
    return Context(session, Target())


def traced(capsys, here, *options):
    assert main(["trace", *options, "--format", "json"], context=here) == 0
    return json.loads(capsys.readouterr().out)


def rows(report, *keys):
    return [tuple(row[key] for key in keys) for step in report["steps"] for row in step["rows"]]


@pytest.mark.clause("ROUTE-2", "ROUTE-3")
def test_the_tail_is_prefill_without_mtp_and_the_decode_after_it_takes_mtp(capsys, here):
    report = traced(capsys, here, "--request", "5", "--request", "1", "--budget", "4")
    seen = rows(report, "prompt_len", "computed", "span", "phase", "mtp", "embedding")
    assert set(seen) >= {
        (5, 0, 4, "prefill", False, "preprocess"),
        (5, 4, 1, "prefill", False, "preprocess"),
        (5, 5, 1, "decode", True, "mtp"),
        (5, 6, 1, "decode", True, "mtp"),
        (1, 0, 1, "prefill", False, "preprocess"),
    }


@pytest.mark.clause("FIELD-6")
def test_the_second_request_is_preempted_and_comes_back_as_one_prefill_row(capsys, here):
    options = ["--request", "5:8", "--request", "5:8", "--budget", "8", "--block-size", "4", "--blocks", "6"]
    report = traced(capsys, here, *options)
    gone = [number for number, step in enumerate(report["steps"]) if step["preempted"] == ["b"]]
    assert len(gone) == 1
    after = [row for step in report["steps"][gone[0] :] for row in step["rows"] if row["request"] == "b"]
    back = after[0]
    assert (back["prompt_len"], back["computed"], back["span"], back["phase"]) == (5, 0, 8, "prefill")
    assert not back["mtp"]
    assert [row["computed"] for row in after[1:]] == [8, 9, 10, 11]


@pytest.mark.parametrize("one", STORIES, ids=[one.name for one in STORIES])
def test_a_story_run_again_is_the_one_that_was_recorded(session, one):
    again = kept(session.run(one.scenario))
    assert again == recorded(one), "run: python -m spec_examples.stories.record"


@pytest.mark.parametrize("one", [one for one in STORIES if one.command], ids=lambda one: one.name)
def test_the_command_of_a_story_shows_the_same(capsys, here, one):
    report = traced(capsys, here, *one.command.split())
    told = [(row.request, row.computed, row.span) for step in recorded(one).steps for row in step.rows]
    assert rows(report, "request", "computed", "span") == told


@pytest.mark.parametrize("one", STORIES, ids=[one.name for one in STORIES])
def test_a_figure_shows_every_row_and_says_it_in_words(one):
    trace = recorded(one)
    figure = ElementTree.fromstring(draw(trace, f"trace-{one.name}", one.title))
    assert figure.get("role") == "img"
    named = figure.get("aria-labelledby").split()
    texts = {element.get("id"): element.text for element in figure}
    assert texts[named[0]] == one.title
    shown = [text.text for text in figure.iter(f"{SVG}text") if text.get("class") == "span"]
    spans = sorted(f"{row.computed}+{row.span}" for step in trace.steps for row in step.rows)
    assert sorted(shown) == spans
    assert texts[named[1]].count("Step ") == len(trace.steps)
    for step in trace.steps:
        for row in step.rows:
            assert f"{row.request} {row.computed} plus {row.span} of a prompt of {row.prompt_len}" in texts[named[1]]


def test_a_figure_marks_mtp_preemption_replay_drafts_and_wrong_progress():
    preempted = draw(recorded(story("replayed-singly")), "x", "x")
    assert preempted.count(">preempted<") == 1
    assert preempted.count('class="decode mtp again"') == 2
    assert draw(recorded(story("drafts")), "x", "x").count(">3 drafts<") > 0
    assert draw(recorded(story("asynchronous-drafts")), "x", "x").count(">really ") == 2
    assert "the runner raises TypeError" in draw(recorded(story("embeddings")), "x", "x")
    wrong = [cell.at for step in cells(recorded(story("asynchronous-drafts"))) for cell in step.values() if cell.at]
    assert wrong == [8, 13]


def test_every_figure_is_written_and_stands_on_a_page(tmp_path):
    write_all(tmp_path)
    names = {file.stem for file in tmp_path.glob("*.svg")}
    assert names == {one.name for one in STORIES}
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/traces").glob("*.md"))
    assert set(re.findall(r"build/generated/traces/([\w-]+)\.svg", pages)) == names


def test_a_name_that_is_no_story_is_told_what_there_is():
    with pytest.raises(KeyError, match="there are split-prompt"):
        story("nothing")
