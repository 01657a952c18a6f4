"""The explorer's table is what the runners do: asked again where one is installed, complete, and of these packages."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from spec_examples.explorer import recorded, recording, table
from spec_examples.explorer.grid import questions
from spec_examples.running import Context
from spec_examples.targets import Session, Target, catalogue
from spec_examples.targets.target import installed_version

INSTALLED = [each for each in table.read() if each.vllm_omni == installed_version()]


@pytest.mark.parametrize("kept", INSTALLED, ids=lambda kept: kept.runner)
def test_the_installed_runner_answers_as_recorded(session: Session, kept: table.Answers):
    asked = list(questions())
    now = list(recording.ask(session, Target(runner=kept.runner), asked))
    different = [(q, then, a) for q, then, a in zip(asked, kept.answers, now, strict=True) if then != a]
    assert not different, different[:3]


def test_every_release_that_runs_here_is_in_the_table():
    assert {each.vllm_omni for each in table.read()} == {r.vllm_omni for r in catalogue.releases() if r.how == "run"}


@pytest.mark.parametrize("kept", table.read(), ids=lambda kept: f"{kept.vllm_omni}-{kept.runner}")
def test_no_answer_is_stale(kept: table.Answers):
    assert kept.packages == recording.packages(kept.vllm_omni), "run python -m spec_examples.explorer.recording"


def test_the_contract_can_be_seen_in_it():
    before, since = (recorded(5, 4, 1, on=release) for release in ("0.21.0rc1", "0.22.0"))
    assert (before.phase, before.embedding, before.fields) == (None, "mtp", "none")
    assert (since.phase, since.embedding, since.fields) == ("prefill", "preprocess", "true")
    assert recorded(5, 4, 1, on="0.30.0", runner="v2").embedding == "mtp"


def test_what_is_written_is_read(tmp_path: Path):
    file = tmp_path / "table.json"
    table.write(table.read(), file)
    assert table.read(file) == table.read()


def test_a_runner_without_the_guard_is_seen(installed: Context):
    """The comparison over the grid fails where MTP's guard is gone."""
    asked = [q for q in questions() if (q.talker, q.company, q.prompt_len) == ("scalar", "after decode", 5)]

    class Broken:
        def run(self, scenario, target):
            return installed.session.run(scenario, target, mutant="mtp-on-tail")

    now = recording.ask(Broken(), Target(), asked)
    then = dict(zip(questions(), INSTALLED[0].answers, strict=True))
    assert [q for q, a in zip(asked, now, strict=True) if a != then[q]]


@pytest.mark.parametrize("damage", ["", "{}", '{"grid": "other"}'])
def test_a_damaged_table_says_how_to_make_it(tmp_path: Path, damage: str):
    file = tmp_path / "table.json"
    file.write_text(damage)
    with pytest.raises(ValueError, match=r"table\.json: .*run python -m spec_examples\.explorer\.recording"):
        table.read(file)


def test_a_table_of_other_questions_is_stale(tmp_path: Path):
    file = tmp_path / "table.json"
    file.write_text(json.dumps({**json.loads(table.FILE.read_text()), "grid": "0"}))
    with pytest.raises(ValueError, match="other questions"):
        table.read(file)


def test_releases_that_answer_differently_do_not_share_a_row():
    from spec_examples.explorer.page import lines_at

    one = INSTALLED[0]
    other = replace(one, vllm_omni="0.0.1", answers=(replace(one.answers[0], mtp=True), *one.answers[1:]))
    assert len(list(lines_at(0, (one, other)))) == 2
    assert [line[0] for line in lines_at(1, (one, other))] == [f"0.0.1 to {one.vllm_omni}"]
