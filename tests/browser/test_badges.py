"""The badges of the newest release are files of the site and say what was recorded."""

import json
from dataclasses import replace
from xml.etree import ElementTree as Xml

import pytest
from built import Site
from packaging.version import Version

from spec_examples.conformance import record
from spec_examples.gate.site import RUNNER_NAMES, newest_first
from spec_examples.site import badges
from spec_examples.site.newest import newest

RECORDS = newest_first(record.read_all())
STABLE = [standing for standing in newest(RECORDS) if standing.is_stable]
NEWEST = STABLE[0].record.vllm_omni
SVG = "{http://www.w3.org/2000/svg}"


def shown(folder, runner):
    """What picture and endpoint say; they say the same."""
    answer = json.loads((folder / f"{runner}.json").read_text())
    picture = Xml.parse(folder / f"{runner}.svg").getroot()
    said = [text.text for text in picture.iter(f"{SVG}text")]
    assert said == [answer["label"], answer["message"]]
    assert picture.get("aria-label") == picture.find(f"{SVG}title").text == ": ".join(said)
    assert f"#{answer['color']}" in {box.get("fill") for box in picture.iter(f"{SVG}rect")}
    assert answer["schemaVersion"] == 1
    return answer


@pytest.mark.parametrize("standing", STABLE, ids=lambda standing: standing.record.runner)
def test_each_runner_of_the_newest_release_has_one(site: Site, standing):
    answer = shown(site.folder / "badges", standing.record.runner)
    assert answer["message"].startswith(f"{standing.record.vllm_omni}: ")
    assert answer["isError"] == bool(standing.broken)


def test_they_are_of_the_newest_stable_release_and_of_no_older_one(site: Site):
    stable = {each.vllm_omni for each in RECORDS if not Version(each.vllm_omni).is_prerelease}
    assert {standing.record.vllm_omni for standing in STABLE} == {max(stable, key=Version)}
    files = {file.stem for file in (site.folder / "badges").iterdir()}
    assert files == {standing.record.runner for standing in STABLE} == {"ar", "generation", "v2", "v2-whole"}


def test_a_record_that_changes_changes_the_badge(tmp_path):
    """The clause is broken on the AR runner alone; the other badges stay."""
    changed = [
        replace(each, cells={**each.cells, "ROUTE-3": replace(each.cells["ROUTE-3"], verdict="failed")})
        if (each.vllm_omni, each.runner) == (NEWEST, "ar")
        else each
        for each in RECORDS
    ]
    before, after = tmp_path / "before", tmp_path / "after"
    badges.write(before, RECORDS, RUNNER_NAMES)
    badges.write(after, changed, RUNNER_NAMES)
    assert shown(before, "ar")["message"] == f"{NEWEST}: kept"
    assert shown(after, "ar")["message"] == f"{NEWEST}: breaks 1 promise"
    assert shown(before, "ar")["color"] != shown(after, "ar")["color"]
    assert shown(before, "v2") == shown(after, "v2")


def test_text_that_is_marked_up_stays_text():
    picture = Xml.fromstring(badges.as_svg(badges.Badge('a<b> & "c"', "d", "passed")))
    assert [text.text for text in picture.iter(f"{SVG}text")] == ['a<b> & "c"', "d"]
