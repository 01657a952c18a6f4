"""What is recorded of the models of published releases, and what a person says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spec_examples.lint import by_eye, checked, measured
from spec_examples.lint.measured import Hit, Measured, Model, as_text, newest, recorded
from spec_examples.targets.catalogue import releases

SPAN = {"audio8_tts", "fish_speech", "mimo_audio", "qwen2_5_omni"}
FALLBACK = {"qwen3_omni", "qwen3_tts", "voxcpm2"}


def test_every_release_is_recorded_with_todays_lint() -> None:
    assert [each.vllm_omni for each in recorded()] == [release.vllm_omni for release in releases()]
    assert list(measured.stale()) == []
    assert {result.outcome for result in checked.recorded_models()} == {"passed"}


def test_what_is_known_of_the_newest_stable_release() -> None:
    uses = {model.name: model.use for model in newest(recorded()).models}
    assert {uses[name] for name in SPAN} == {"span"}
    assert {uses[name] for name in FALLBACK} == {"fallback"}
    assert uses["breeze_tts_2"] == "flag"
    moss = next(model for model in newest(recorded()).models if model.name == "moss_tts")
    assert {"PHASE001", "PHASE002"} <= {hit.rule for hit in moss.hits}, "three talkers, each its own way"


def test_no_model_reads_fields_before_there_are_any() -> None:
    for each in recorded()[:10]:
        assert not any(model.fields for model in each.models)


def test_a_record_survives_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hit = Hit("a/b.py", 3, "PHASE001", 'if n > 1 | "é":')
    made = Measured(
        "9.9.9", {"package": "1", "lint": "2"}, (Model("a", ("b.py:1 preprocess",), (), (hit,)), Model("c", (), ()))
    )
    (tmp_path / "9.9.9.toml").write_text(as_text(made))
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    assert recorded() == (made,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "9.9.9.toml: not a record of lint"),
        ("vllm_omni = 1\n[made_with]\n[[model]]\nname = 'x'\n", "9.9.9.toml: not a record of lint"),
        (
            "vllm_omni = '9.9.9'\n[made_with]\n[[model]]\nname = 'x'\nhooks = []\nfields = []\nhits = ['a']\n",
            "not a record",
        ),
    ],
)
def test_a_damaged_record_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    (tmp_path / "9.9.9.toml").write_text(text)
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    (result,) = checked.recorded_models()
    assert (result.outcome, said in result.message, "\n" in result.message) == ("error", True, False)


def test_a_change_of_lint_makes_records_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "lint_digest", lambda: "another")
    (failed,) = (result for result in checked.recorded_models() if result.outcome != "passed")
    assert failed.outcome == "failed"
    assert failed.message.startswith("stale: ")
    assert "python -m spec_examples.lint.measured" in failed.message


def test_a_missing_release_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in recorded()[1:]:
        (tmp_path / f"{each.vllm_omni}.toml").write_text(as_text(each))
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    first, *_ = checked.recorded_models()
    assert (first.outcome, first.message.partition(";")[0]) == ("failed", "no record of 0.11.0rc1")


def test_every_finding_was_read_and_every_verdict_is_on_a_finding() -> None:
    seen, hits = by_eye.by_eye(), newest(recorded()).hits
    assert seen.vllm_omni == newest(recorded()).vllm_omni
    assert seen.differences(hits) == []
    unread = Hit("new/model.py", 7, "PHASE001", "")
    assert seen.differences((*hits, unread)) == ["new/model.py:7: PHASE001 was not read"]
    gone = hits[0]
    assert seen.differences(hits[1:]) == [f"{gone.path}:{gone.line}: {gone.rule} was read, and is not found"]
    withdrawn = seen.withdrawn[0]
    again = Hit(withdrawn.path, withdrawn.line, withdrawn.rule, "")
    assert f"{again.path}:{again.line}: {again.rule} was not to be found" in seen.differences((*hits, again))


def test_precision_and_recall_are_counted() -> None:
    seen = by_eye.by_eye()
    wrong = replace(seen, read=tuple(replace(each, is_true=False) for each in seen.read), missed=seen.read[:1])
    assert (wrong.precision, wrong.recall) == (0, 0)
    assert replace(seen, missed=()).recall == 1
    assert replace(seen, missed=seen.read[:1]).recall < 1


def test_a_verdict_that_is_no_verdict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = by_eye.FILE.read_text(encoding="utf-8").replace("| true |", "| perhaps |", 1)
    (tmp_path / "by_eye.toml").write_text(text)
    monkeypatch.setattr(by_eye, "FILE", tmp_path / "by_eye.toml")
    by_eye.by_eye.cache_clear()
    try:
        *_, result = checked.recorded_models()
    finally:
        by_eye.by_eye.cache_clear()
    assert result.outcome == "error"
    assert "has not 4 parts" in result.message
