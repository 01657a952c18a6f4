"""The wheel, in an environment of somebody else's, gates a checkout of vLLM-Omni, and downloads nothing."""

import json
from pathlib import Path

import pytest

GUARD = "if self.has_talker_mtp and span_len == 1 and not is_prefill:"
RUNNER = "vllm_omni/worker/gpu_model_runner.py"


def test_an_unedited_checkout_that_was_never_built_keeps_every_clause_and_the_pages_agree(installed, checkout):
    done = installed("check", "--vllm-omni", ".", "--format", "json", folder=checkout())
    report = json.loads(done.stdout)
    assert {each["verdict"] for each in report["clauses"] if each["clause"].startswith("ROUTE-3")} == {"passed"}
    assert [e for e in report["examples"] if e["outcome"] not in ("passed", "exempt")] == []
    assert {e["path"].rpartition("/")[0] for e in report["examples"]} == {"docs/contract"}
    assert done.returncode == 0
    assert not list(installed.cache.glob("releases/*"))


def test_pages_that_need_a_clone_are_left_out_with_the_reason(installed, tmp_path):
    asked = "from spec_examples.gate.check import find_pages, left_out; print(*left_out(find_pages([])), sep='\\n')"
    done = installed.run("python", "-c", asked, folder=tmp_path)
    assert [Path(line).name for line in done.stdout.split()] == ["contributing.md", "qwen3-tts.md"]


def test_a_checkout_without_its_guard_is_red_with_an_annotation_on_that_line(installed, checkout, routing):
    folder = checkout((GUARD, GUARD.replace(" and not is_prefill", "")))
    source = (folder / RUNNER).read_text().splitlines()
    line = 1 + next(n for n, text in enumerate(source) if "if self.has_talker_mtp and span_len == 1:" in text)
    models = str(Path(routing).with_name("models.md"))
    done = installed("check", routing, models, "--vllm-omni", ".", "--format", "github", folder=folder)
    assert done.returncode == 1
    assert f"::error file={RUNNER},line={line},title=ROUTE-3 is broken::" in done.stdout
    assert "Traceback" not in done.stderr, "models that the runner stops are told so, and the check goes on"


@pytest.mark.parametrize(
    ("without", "words", "says"),
    [
        (("vllm", "torch"), (), "no vLLM-Omni is installed here"),
        (("vllm", "torch"), (), "add --setup"),
        (("vllm", "torch"), ("--setup",), "name --vllm-omni FOLDER or VERSION"),
        (("torch",), ("--vllm-omni", "."), "no torch is installed here to run it on: add --setup"),
    ],
)
def test_where_no_runner_is_it_says_what_to_do(environment_with, checkout, without, words, says):
    done = environment_with(without=without)("check", *words, folder=checkout())
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_docs_folder_of_another_project_is_not_taken_for_the_contract(environment_with, checkout):
    """Where there is no runner, what would be checked is told by the first thing that stops it."""
    folder = checkout()
    Path(folder, "docs").mkdir()
    Path(folder, "docs", "index.md").write_text("# Something else\n")
    done = environment_with(without=("torch",)).run(
        *("python", "-c", "from spec_examples.gate.check import find_pages; print(*find_pages([]), sep='\\n')"),
        folder=folder,
    )
    assert "contract/routing.md" in done.stdout
    assert "site-packages" in done.stdout
    assert str(folder) not in done.stdout
