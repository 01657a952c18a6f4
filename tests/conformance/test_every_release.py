"""What the results say of every release; two releases, one on each side of the contract, are run again to say so."""

import json

import pytest
from packaging.version import Version

from spec_examples.conformance import record as recorded
from spec_examples.contract.clauses import PROMISES
from spec_examples.gate.cli import main
from spec_examples.targets import catalogue, install

FIRST_WITH_THE_CONTRACT = Version("0.22.0")
MISSING_BEFORE = {"FIELD-1", "FIELD-2", "FIELD-3", "ROUTE-2", "ROUTE-3"}
RAN = [record for record in recorded.read_all() if record.how == "run"]
SHARED = [record for record in RAN if record.runner in ("ar", "generation")]
V2 = [record for record in RAN if record.runner in ("v2", "v2-whole")]


def failed(record):
    return {clause for clause in PROMISES if record.cells[clause].verdict == "failed"}


@pytest.mark.parametrize("record", SHARED, ids=lambda record: record.name)
def test_the_shared_runner_keeps_the_contract_since_its_first_release(record):
    if Version(record.vllm_omni) < FIRST_WITH_THE_CONTRACT:
        assert failed(record) >= MISSING_BEFORE
    else:
        assert failed(record) == set()
        assert {record.cells[clause].verdict for clause in MISSING_BEFORE} == {"passed"}


@pytest.mark.parametrize("record", V2, ids=lambda record: record.name)
def test_model_runner_v2_overwrites_prefill_rows(record):
    assert record.cells["ROUTE-3"].verdict == "failed"


def test_both_runs_of_model_runner_v2_are_there_for_the_same_releases():
    assert len(V2) == 8
    assert {record.vllm_omni for record in V2} == {"0.30.0rc1", "0.30.0", "0.31.0rc1", "0.32.0rc1"}


@pytest.mark.parametrize(
    ("version", "form"),
    [
        ("0.22.0", "needs talker_mtp"),
        ("0.30.0rc1", "needs talker_mtp"),
        ("0.30.0", "without talker_mtp"),
        ("0.31.0rc1", "without talker_mtp"),
        ("0.32.0rc1", "rows may be filled by the model"),
    ],
)
def test_route_1_changes_its_form_with_the_release(version, form):
    (record,) = (record for record in SHARED if (record.vllm_omni, record.runner) == (version, "ar"))
    assert record.route_form == form


def test_two_releases_run_anew_say_what_is_recorded(capsys):
    versions = ("0.21.0rc1", "0.22.0")
    absent = [version for version in versions if install.installed_folder(catalogue.release(version)) is None]
    if absent:
        pytest.skip(f"not at hand, and no test downloads: phase-contract matrix --live fetches {', '.join(absent)}")
    chosen = [word for version in versions for word in ("--release", version)]
    assert main(["matrix", "--live", *chosen, "--runner", "ar", "--format", "json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    ran = {
        version: {r["clause"] for r in results if r["vllm_omni"] == version and r["verdict"] == "failed"}
        for version in versions
    }
    assert ran["0.21.0rc1"] >= MISSING_BEFORE
    assert ran["0.22.0"] == set()
    assert {r["how"] for r in results} == {"run"}
