"""Changelog, citation and package say the same of one version, and nothing of any machine or host."""

import importlib.resources
import json
import re
import tomllib
from datetime import date
from pathlib import Path

import jsonschema
import pytest
import yaml

from spec_examples.contract.clauses import CLAUSES

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]

FIRST = {"FIELD": 7, "HOOK": 3, "ROUTE": 7, "OWN": 2, "COMPAT": 4, "EVOL": 1, "SCOPE": 2}
"""The clauses of the first version, by their highest numbers. None of these identifiers may ever mean another thing."""


def test_the_citation_is_valid_and_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    schemas = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    jsonschema.validate(citation, json.loads((schemas / "citation-file-format.json").read_text(encoding="utf-8")))
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]


def test_the_changelog_has_the_form_of_keep_a_changelog():
    headings = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    assert headings[0] == "Unreleased"
    released = [re.fullmatch(r"(\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)", heading) for heading in headings[1:]]
    assert all(released), headings
    dates = [date.fromisoformat(each[2]) for each in released]
    assert dates == sorted(dates, reverse=True)
    for section in CHANGELOG.split("\n## ")[1:]:
        kinds = re.findall(r"^### (.*)$", section, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds], f"{kinds}: each once, in the order {KINDS}"


def test_no_clause_of_the_first_version_is_gone():
    first = [f"{group}-{number}" for group, most in FIRST.items() for number in range(1, most + 1)]
    assert [clause for clause in first if clause not in CLAUSES] == []


@pytest.mark.parametrize("name", ["CITATION.cff", "SECURITY.md", "CHANGELOG.md", "action.yml", "docs/guides/ci.md"])
def test_no_path_of_a_machine_and_no_person_is_named(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|Users|work|tmp)/|[\w.]+@[\w-]+\.(com|org|net)", text)
