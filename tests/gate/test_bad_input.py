"""Bad input gets one line that says where, what is wrong and what would be right; status 2; no traceback."""

import json

import pytest

from spec_examples.gate.cli import main
from spec_examples.running import Context
from spec_examples.targets import Target

ROUTING = (
    "| Prompt length | Computed before step | Scheduled span | Phase | Runner MTP eligible |\n"
    "| --- | --- | --- | --- | --- |\n"
)

PAGES = {
    "a table that no reader knows": ("| A | B |\n| --- | --- |\n| 1 | 2 |\n", 5, "no reader knows"),
    "a missing column": (ROUTING + "| 5 | 4 | 1 | Decode |\n", 5, "cells"),
    "a cell too many": (ROUTING + "| 5 | 5 | 1 | Decode | Yes | No |\n", 5, "cells"),
    "a doubled column": ("| Phase | Phase |\n| --- | --- |\n| Prefill | Prefill |\n", 3, "Phase"),
    "a cell that is no number": (ROUTING + "| five | 4 | 1 | Prefill tail | No |\n", 5, "'five' is not a whole number"),
    "a fraction": (ROUTING + "| 5 | 4.5 | 1 | Prefill tail | No |\n", 5, "not a whole number"),
    "a negative span": (ROUTING + "| 5 | 4 | -1 | Prefill tail | No |\n", 5, "-1 is below 1"),
    "a span of zero": (ROUTING + "| 5 | 4 | 0 | Prefill tail | No |\n", 5, "0 is below 1"),
    "negative progress": (ROUTING + "| 5 | -4 | 1 | Prefill tail | No |\n", 5, "-4 is below 0"),
    "an empty prompt": (ROUTING + "| 0 | 0 | 1 | Prefill | No |\n", 5, "0 is below 1"),
    "more tokens than the stub has": (ROUTING + "| 500 | 4 | 1 | Prefill | No |\n", 5, "exceeds 128 tokens"),
    "a phase that is none": (ROUTING + "| 5 | 4 | 1 | Postfill | No |\n", 5, "'Postfill' is none of"),
    "an answer that is none": (ROUTING + "| 5 | 4 | 1 | Prefill tail | Maybe |\n", 5, "'Maybe' is none of"),
    "a block that nothing executes": ("```rust\nfn main() {}\n```\n", 3, "nothing executes a rust block"),
    "a text block after nothing": ('```text title="Output"\nx\n```\n', 3, "follows the python block"),
    "a console block with another command": ("```console\n$ rm -rf /\n```\n", 4, "runs phase-contract, not rm"),
    "a console block without a prompt": ("```console\nphase-contract row\n```\n", 3, "starts with"),
    "settings that are not YAML": ('```yaml title="stage.yaml"\na: [\n```\n', 5, "not YAML"),
    "a setting that nobody knows": ('```yaml title="stage.yaml"\nspeed: 1\n```\n', 3, "'speed' is not one of"),
    "a setting of the wrong type": ('```yaml title="stage.yaml"\nenable_chunked_prefill: 0\n```\n', 3, "type bool"),
    "a block that runs nothing": ("```python\nx = 1\n```\n", 3, "runs nothing on the runner"),
    "a request that no scheduler takes": (
        "```python\nfrom spec_examples import Row, run\n\nrun(Row(5, 4, 0))\n```\n",
        3,
        "at least one token",
    ),
    "an unknown release": (
        '```python\nfrom spec_examples import Row, run\n\nrun(Row(5, 4, 1), on="0.1.0")\n```\n',
        3,
        "release 0.1.0 is not in the catalogue",
    ),
    "a file without a talker": ('```python title="x.py"\nx = 1\n```\n', 3, "defines no talker"),
    "an exemption in the contract": (
        "<!-- not executed: laziness -->\n\n```python\nx = 1\n```\n",
        5,
        "nothing under docs/contract/ is exempt",
    ),
    "a talker without a needed hook": (
        '```python title="x.py"\nfrom torch import nn\n\n\nclass X(nn.Module):\n    has_preprocess = True\n\n'
        "    def talker_mtp(self):\n        pass\n```\n",
        3,
        "has no embed_input_ids, compute_logits, load_weights, preprocess",
    ),
    "an unclosed fence": ("```python\nx = 1\n", 3, "fence"),
    "a doubled clause id": (
        "[ROUTE-1](#ROUTE-1){#ROUTE-1}\n\n[ROUTE-1](#ROUTE-1){#ROUTE-1}\n\n```python\nx = 1\n```\n",
        5,
        "ROUTE-1",
    ),
    "an unknown clause id": ("[ROUTE-99](#ROUTE-99){#ROUTE-99}\n\n```python\nx = 1\n```\n", 3, "ROUTE-99 is no clause"),
    "a clause on another page": (
        "[FIELD-1](#FIELD-1){#FIELD-1}\n\n```python\nx = 1\n```\n",
        3,
        "stands on docs/contract/fields.md",
    ),
    "a claim that is no version": (
        '!!! note "vLLM-Omni yesterday and earlier"\n\n    ```python\n    x = 1\n    ```\n',
        3,
        "not a version",
    ),
    "a claim with nothing inside": ('!!! note "vLLM-Omni 0.21.0rc1 and earlier"\n\n    Words.\n', 3, "nothing inside"),
    "a page with no example": ("Words.\n", 1, "no example"),
}


@pytest.mark.parametrize("case", PAGES)
def test_a_page(case, site, session, capsys):
    text, line, said = PAGES[case]
    page = site("docs/contract/routing.md", f"# Page\n\n{text}")
    status = main(["check", str(page), "--format", "json"], context=Context(session, Target()))
    out, err = capsys.readouterr()
    errors = [e for e in json.loads(out)["examples"] if e["outcome"] == "error"]

    assert status == 2, out
    assert line in [e["line"] for e in errors]
    assert any(said in e["message"] for e in errors), errors
    assert all("\n" not in e["message"] and "Traceback" not in e["message"] for e in errors)
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "docs/nowhere.md"], "docs/nowhere.md: no such file or folder"),
        (["check", "pyproject.toml"], "a page ends in .md"),
        (["check", "spec_examples"], "no page (*.md) in this folder"),
        (["check", "--vllm-omni", "0.0.1"], "release 0.0.1 is not in the catalogue, which has 0."),
        (["check", "--vllm-omni", "tests"], "contains no vllm_omni/"),
        (["check", "--vllm-omni", "no/such/place"], "neither installed, nor a version, nor a folder"),
        (["check", "--runner", "fast"], "write ar, generation"),
        (["check", "--format", "xml"], "invalid choice: 'xml'"),
        (["check", "docs", "--output", "no/such/folder/x.json"], "--output no/such/folder/x.json: No such file"),
        (["row", "--prompt-len", "5", "--computed", "4"], "required: --span"),
        (["row", "--prompt-len", "5", "--computed", "4", "--span", "0"], "at least one token"),
        (["row", "--prompt-len", "0", "--computed", "0", "--span", "1"], "at least one token"),
        (["row", "--prompt-len", "5", "--computed", "-1", "--span", "1"], "never negative"),
        (["row", "--prompt-len", "5", "--computed", "1", "--span", "many"], "invalid int value: 'many'"),
        (["row", "--prompt-len", "5", "--computed", "4", "--span", "1", "--beside", "3,4"], "'3,4' is not P,C,S"),
        (["row", "--prompt-len", "900", "--computed", "4", "--span", "1"], "exceeds 128 tokens"),
        (["check", ""], "'' is no path"),
        (["row", "--prompt-len", "5", "--computed", "4", "--span", "1", "--output", "docs"], "'docs' is no file"),
        (["targets", "--output", "/dev/full"], "'/dev/full' is no file"),
        (["targets", "--output", ""], "'' is no file"),
        (["trace", "--request", "5@-1"], "a step is 0 to 1000, not -1"),
        (["trace", "--request", "5@99999999999"], "a step is 0 to 1000"),
        (["trace", "--request", "5", "--sequences", "0"], "sequences is 0"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        ([], "required: COMMAND"),
    ],
)
def test_a_command(arguments, said, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.startswith("phase-contract: ")
    assert err.count("\n") == 1


def test_a_report_file_is_whole_or_absent(site, session, tmp_path):
    page = site("docs/contract/routing.md", "# Page\n\n" + ROUTING + "| 5 | 4 | 1 | Prefill tail | No |\n")
    report = tmp_path / "report.json"
    arguments = ["check", str(page), "--format", "json", "--output", str(report)]
    assert main(arguments, context=Context(session, Target())) == 0
    assert json.loads(report.read_text())["summary"]["rows"] == 1
    before = report.read_bytes()
    assert main(["check", "--vllm-omni", "0.0.1", "--output", str(report)]) == 2
    assert report.read_bytes() == before
