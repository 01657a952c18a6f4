"""What the commands say, and with which status."""

import json
from pathlib import Path

import pytest

from spec_examples.gate.cli import main
from spec_examples.running import Context
from spec_examples.targets import Target

ROOT = Path(__file__).resolve().parents[2]
TAIL = ["row", "--prompt-len", "5", "--computed", "4", "--span", "1"]


@pytest.fixture
def here(session):
    return Context(session, Target())


def row(capsys, here, *more):
    assert main([*TAIL, "--format", "json", *more], context=here) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.clause("FIELD-3", "ROUTE-3")
def test_row_says_how_a_tail_is_routed(capsys, here):
    observed = row(capsys, here)
    assert (observed["phase"], observed["hook"], observed["mtp"], observed["embedding"]) == (
        "prefill",
        "preprocess",
        False,
        "preprocess",
    )
    assert observed["fields"] == {"_omni_prompt_len": 5, "_omni_num_computed_tokens": 4, "_omni_is_prefill": True}


@pytest.mark.clause("COMPAT-1")
def test_row_on_an_old_release_says_that_the_mtp_embedding_reached_forward(capsys, here):
    observed = row(capsys, here, "--vllm-omni", "0.20.0")
    assert (observed["phase"], observed["mtp"], observed["embedding"], observed["fields"]) == (None, True, "mtp", {})
    assert main([*TAIL, "--vllm-omni", "0.20.0"], context=here) == 0
    assert "the MTP embedding reached forward" in capsys.readouterr().out


@pytest.mark.clause("ROUTE-1")
def test_row_with_neighbours_and_either_hook(capsys, here):
    decode = ["row", "--prompt-len", "5", "--computed", "5", "--span", "1", "--format", "json"]
    assert main([*decode, "--hook", "batched", "--beside", "5,4,1", "--beside", "3,4,1"], context=here) == 0
    observed = json.loads(capsys.readouterr().out)
    assert (observed["hook"], observed["mtp"]) == ("preprocess_decode_batch", True)
    assert main([*decode, "--no-mtp"], context=here) == 0
    observed = json.loads(capsys.readouterr().out)
    assert (observed["hook"], observed["mtp"], observed["embedding"]) == ("preprocess", False, "preprocess")


@pytest.mark.clause("COMPAT-1", "ROUTE-2", "ROUTE-3")
def test_the_routing_page_on_0_20_0_is_red_and_names_what_broke(capsys, here):
    status = main(["check", str(ROOT / "docs/contract/routing.md"), "--vllm-omni", "0.20.0"], context=here)
    out = capsys.readouterr().out
    assert status == 1
    assert "ROUTE-2" in out
    assert "ROUTE-3" in out
    assert "Traceback" not in out


def test_a_failure_names_place_clause_cell_and_both_readings(capsys, here, site):
    table = (
        "| Prompt length | Computed before step | Scheduled span | Phase | Runner MTP eligible |\n"
        "| --- | --- | --- | --- | --- |\n| 5 | 4 | 1 | Prefill tail | Yes |\n"
    )
    page = site("docs/contract/routing.md", f"# Page\n\n[ROUTE-2](#ROUTE-2){{#ROUTE-2}} text\n\n{table}")
    assert main(["check", str(page)], context=here) == 1
    lines = capsys.readouterr().out.splitlines()
    (failure,) = [line for line in lines if ": ROUTE-2: " in line]
    assert failure.split(": ")[0].endswith("docs/contract/routing.md:7")
    assert "cell 'Runner MTP eligible': the page says Yes, the runner says No (alone, scalar hook)" in failure
    assert any("row1 (prompt 5, computed 4, span 1) → preprocess" in line for line in lines)
    assert lines[-1].startswith("0 blocks, 1 rows, 0 admonitions: 0 passed, 1 failed")


def test_the_json_report_has_stable_names(capsys, here, site):
    page = site(
        "docs/page.md", "# Page\n\n```python\nfrom spec_examples import Row, run\n\nassert run(Row(5, 5, 1)).mtp\n```\n"
    )
    assert main(["check", str(page), "--format", "json"], context=here) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["target"]) == {"vllm_omni", "vllm", "runner", "torch", "python"}
    (example,) = report["examples"]
    assert {"id", "path", "line", "kind", "clauses", "outcome", "message"} <= set(example)
    assert set(report["summary"]) == {
        "passed", "failed", "drifted", "diverges", "exempt", "error", "blocks", "rows", "admonitions", "recorded",
    }  # fmt: skip


def test_every_command_has_help_with_examples(capsys):
    for command in ("check", "row", "targets"):
        assert main([command, "--help"]) == 0
        assert f"  phase-contract {command}" in capsys.readouterr().out
