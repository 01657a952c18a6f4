"""A change of the runner turns the gate red; no change leaves it green. Each copy is a process of its own."""

import json

import pytest

from spec_examples.gate.cli import main

PAGES = ["docs/contract/routing.md", "docs/contract/fields.md"]

SCALAR_GUARD = "if self.has_talker_mtp and span_len == 1 and not is_prefill:"
BATCHED_GUARD = "if callable(batch_decode_preprocess) and span_len == 1 and not is_prefill:"
BOUNDARY = "is_prefill = num_computed_tokens < prompt_len"
MTP_CALL = "self._talker_mtp_forward(decode_req_ids, inputs_embeds, decode_start_offsets)"


def checked(folder, capsys, *pages):
    status = main(["check", *pages, "--vllm-omni", str(folder), "--format", "json"])
    return status, json.loads(capsys.readouterr().out)


def test_an_unedited_copy_is_green_on_every_page(runner_copy, capsys):
    status, report = checked(runner_copy(), capsys)
    assert [e["message"] for e in report["examples"] if e["outcome"] not in ("passed", "exempt")] == []
    assert status == 0


@pytest.mark.parametrize(
    ("edit", "clauses"),
    [
        pytest.param(
            (SCALAR_GUARD, SCALAR_GUARD.replace(" and not is_prefill", "")),
            {"ROUTE-2", "ROUTE-3"},
            id="scalar guard dropped",
        ),
        pytest.param(
            (BATCHED_GUARD, BATCHED_GUARD.replace(" and not is_prefill", "")),
            {"ROUTE-1", "HOOK-2"},
            id="batched guard dropped",
        ),
        pytest.param((BOUNDARY, BOUNDARY.replace("<", "<=")), {"FIELD-3"}, id="boundary off by one"),
        pytest.param((MTP_CALL, "pass"), {"ROUTE-4"}, id="MTP never called"),
    ],
)
def test_an_edited_copy_is_red_and_names_the_clause(runner_copy, capsys, edit, clauses):
    status, report = checked(runner_copy(edit), capsys, *PAGES)
    named = {clause for e in report["examples"] if e["outcome"] == "failed" for clause in e["clauses"]}
    assert status == 1
    assert clauses <= named
