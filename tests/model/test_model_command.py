"""``phase-contract model`` as a person meets it: one line for what cannot be asked, and the status of each answer."""

import json
from xml.etree import ElementTree

import pytest

from spec_examples.model_check.promises import MODEL_PROMISES

TALKERS = """
from spec_examples.model_check.examples.right import Plain, Right


class Deaf(Plain):
    has_preprocess = False

    def preprocess(self, input_ids, input_embeds, **info):
        return input_ids, input_embeds, {}


class Raises(Right):
    def __init__(self, *, vllm_config, prefix=""):
        raise OSError("no weights here")


class Stops(Right):
    def preprocess(self, input_ids, input_embeds, **info):
        raise IndexError("out of voices")


class StopsLater(Right):
    def preprocess(self, input_ids, input_embeds, **info):
        if info["_omni_prompt_len"] > 3:
            raise IndexError("out of voices")
        return super().preprocess(input_ids, input_embeds, **info)


class ByFactory(Right):
    def __init__(self, voice):
        super().__init__()


def build(vllm_config):
    return ByFactory(voice=1)


def another(vllm_config):
    return Right()


def broken(vllm_config):
    raise KeyError("voice")
"""

NOT_ASKED = {
    "talkers": "write package.module:Class, or file.py:Class",
    "talkers.py:Missing": "name 'Missing' is not defined",
    "nowhere.py:Talker": "No such file",
    "no.such.module:Talker": "does not import",
    "spec_examples.model_check.examples.right:embed": "is no class",
    "talkers.py:Deaf": "does not set has_preprocess = True",
    "talkers.py:Raises": "its constructor raised OSError: no weights here",
    "talkers.py:ByFactory": "its constructor raised TypeError",
    "talkers.py:ByFactory --factory another": "its factory gave a Right, not a ByFactory",
    "talkers.py:ByFactory --factory broken": "its factory raised KeyError: 'voice'",
    "talkers.py:ByFactory --factory a.b:c": "the name of a function in that file",
    "spec_examples.model_check.examples.right:Right --factory nothing": "write package.module:function",
    "spec_examples.model_check.examples.right:Right --promise MODEL-99": "invalid choice",
    "spec_examples.model_check.examples.right:Right --search many": "is no number of schedules",
}


@pytest.mark.parametrize("words", NOT_ASKED)
def test_what_cannot_be_asked_is_said_in_one_line(ask, words):
    status, report, said = ask(words)
    assert (status, report) == (2, "")
    assert said.startswith("phase-contract: ")
    assert said.count("\n") == 1
    assert NOT_ASKED[words] in said


def test_a_factory_builds_what_the_constructor_alone_does_not(ask):
    status, report, _ = ask("talkers.py:ByFactory --factory build --promise MODEL-1")
    assert status == 0
    assert "1 kept, 0 broken" in report


def test_a_model_that_stops_breaks_the_form_of_results_and_nothing_else_is_said(ask):
    status, report, _ = ask("talkers.py:Stops")
    assert status == 1
    assert "MODEL-9  BROKEN  the model stops at one request, alone and uncut: IndexError: out of voices" in report
    assert "0 kept, 1 broken, 8 not applicable" in report


def test_the_json_names_the_smallest_run(ask):
    status, report, _ = ask("spec_examples.model_check.examples.wrong:IgnoresProgress --promise MODEL-1 --format json")
    (result,) = json.loads(report)["results"]
    assert status == 1
    assert (result["promise"], result["verdict"]) == ("MODEL-1", "failed")
    assert result["run"] == "--request 4:4 --budget 2 --sequences 1"


def test_github_gets_an_annotation_for_each_broken_promise(ask):
    _, report, _ = ask("spec_examples.model_check.examples.wrong:WritesTheFlag --promise MODEL-8 --format github")
    assert report.startswith("::error title=MODEL-8 is broken by spec_examples.model_check.examples.wrong%3A")


def test_junit_has_a_case_for_each_promise(ask):
    status, report, _ = ask("talkers.py:Stops --format junit")
    root = ElementTree.fromstring(report)
    suite = root.find("testsuite")
    assert status == 1
    assert (suite.get("name"), suite.get("failures"), suite.get("skipped")) == ("talkers.py:Stops", "1", "8")
    assert len(suite.findall("testcase")) == int(root.get("tests")) == len(MODEL_PROMISES)
    (failure,) = suite.iter("failure")
    assert "IndexError: out of voices" in failure.get("message")


def test_sarif_has_the_line_of_the_class_for_a_broken_promise(ask):
    _, report, _ = ask("talkers.py:Stops --format sarif")
    (run,) = json.loads(report)["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "MODEL-9"
    place = result["locations"][0]["physicalLocation"]
    line = 1 + TALKERS.splitlines().index("class Stops(Right):")
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("talkers.py", line)


def test_sarif_names_a_class_of_a_module(ask):
    model = "spec_examples.model_check.examples.wrong:WritesTheFlag"
    _, report, _ = ask(f"{model} --promise MODEL-8 --format sarif")
    (result,) = json.loads(report)["runs"][0]["results"]
    assert result["locations"] == [{"logicalLocations": [{"fullyQualifiedName": model, "kind": "type"}]}]


def test_a_runner_without_fields_is_told_by_the_model(ask):
    status, report, _ = ask("spec_examples.model_check.examples.right:Right --vllm-omni 0.20.0")
    assert status == 0
    assert (
        "MODEL-9  kept    the form of results; no guess without fields: it stops: KeyError: '_omni_is_prefill'"
        in report
    )
    status, report, _ = ask("spec_examples.model_check.examples.wrong:Guesses --vllm-omni 0.20.0")
    assert status == 1
    assert "without the phase fields the model goes on by a guess" in report


def test_a_model_that_stops_at_some_prompt_alone_is_told_which_promises_cannot_be_judged(ask):
    status, out, _ = ask("talkers.py:StopsLater --format json")
    assert status == 1
    verdicts = {one["promise"]: one for one in json.loads(out)["results"]}
    assert verdicts["MODEL-7"]["verdict"] == "failed"
    for one in verdicts.values():
        if one["verdict"] == "failed":
            assert "out of voices" in one["message"], one
