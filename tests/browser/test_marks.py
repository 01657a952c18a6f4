"""What the build adds to the pages: that each example ran, when and on what, and the pages as plain Markdown."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from built import ROOT, Site, verify

from spec_examples.markdown import Example, read
from spec_examples.site import twins, verified, whole
from spec_examples.site.marks import PageDiffers, marked
from spec_examples.site.verified import Verified

SOURCES = sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "whole.md")


@pytest.fixture(scope="module", autouse=True)
def at_the_root():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        yield


def built(site: Site, source: Path) -> str:
    place = source.relative_to(ROOT / "docs").with_suffix("")
    return (site.folder / (place.parent if place.name == "index" else place) / "index.html").read_text()


def test_the_pages_agree_with_the_runner(site: Site):
    done = verify()
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_every_example_says_that_it_ran_and_on_what(site: Site, source: Path):
    examples = read(source).examples
    checked = verified.read()
    assert checked
    text = built(site, source)
    assert len(re.findall(r'<(?:small|span) class="ran', text)) == len(examples)
    assert text.count(f"on vLLM-Omni {checked.vllm_omni}</small>") == sum(
        example.kind == "block" and example.exempt is None for example in examples
    )
    if examples:
        assert f'<time datetime="{checked.date}">' in text


def test_the_whole_contract_has_the_marks_of_all_its_pages(site: Site):
    text = built(site, ROOT / "docs/contract/whole.md")
    examples = [example for source in whole.sources() for example in read(source).examples]
    assert len(re.findall(r'<(?:small|span) class="ran', text)) == len(examples) > 50


HTML = """<html><body><article>
<div class="highlight"><pre><code>print()</code></pre></div>
<table><tbody><tr><td>1</td><td>2</td></tr></tbody></table>
<table class="matrix"><tbody><tr><td>recorded</td></tr></tbody></table>
<div class="admonition note"><p class="admonition-title">Since 0.22.0</p></div>
</article></body></html>
"""


def example(kind: str, line: int) -> Example:
    return Example(kind, Path("p.md"), "p.md", line, line, 0, 0)


EXAMPLES = [example("block", 1), example("row", 5), example("admonition", 9)]


def outcomes(outcome: str) -> Verified:
    found = {each.id: {"outcome": outcome, "message": "its reason"} for each in EXAMPLES}
    return Verified("2026-01-02", "0.30.0", "GPUARModelRunner", found)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [("passed", "ran on vLLM-Omni 0.30.0"), ("failed", "failed on"), ("exempt", "not executed: its reason")],
)
def test_a_mark_says_what_came_of_its_example(outcome: str, said: str):
    text = marked(HTML, EXAMPLES, outcomes(outcome), "explorer/")
    assert re.search(rf"</pre><small[^>]*>[^<]*{said}[^<]*</small></div>", text)
    assert re.search(rf"2<span[^>]*>.<span>{said}[^<]*</span></span></td></tr>", text)
    assert re.search(rf"Since 0\.22\.0<span[^>]*>.<span>{said}[^<]*</span></span></p>", text)
    assert "recorded</td>" in text


def test_a_page_that_is_not_its_source_is_an_error():
    with pytest.raises(PageDiffers, match=r"p\.md: the built page has 3 examples, its source 2"):
        marked(HTML, EXAMPLES[:2], outcomes("passed"), "")


def test_an_example_that_no_check_names_has_no_mark():
    text = marked(HTML, EXAMPLES, replace(outcomes("passed"), outcomes={}), "")
    assert text == HTML


def test_a_check_of_other_pages_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs/index.md"
    page.write_text("# One\n")
    (tmp_path / "build").mkdir()
    target = {"vllm_omni": "0.30.0", "runner": "GPUARModelRunner"}
    kept = {"digest": verified.digest(), "date": "2026-01-02", "report": {"target": target, "examples": []}}
    verified.FILE.write_text(json.dumps(kept))
    assert verified.read()
    page.write_text("# Two\n")
    assert verified.read() is None


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_every_page_has_its_twin(site: Site, source: Path):
    name = source.relative_to(ROOT / "docs")
    twin = (site.folder / name).read_text()
    assert "--8<--" not in twin.replace('`--8<-- "', "")
    text = re.sub(r"\A---\n.*?\n---\n", "", source.read_text(), flags=re.DOTALL)
    written = [
        line for line in text.splitlines() if line and "8<" not in line and line[0] not in "- " and line != twins.TAGS
    ]
    assert not [line for line in written if line not in twin][:3]
    assert f'type="text/markdown" href="{"../" * (len(name.parts) - (name.stem == "index"))}{name}"' in built(
        site, source
    )


def test_llms_txt_lists_every_page(site: Site):
    text = (site.folder / "llms.txt").read_text()
    assert text.startswith("# The phase contract\n\n> ")
    linked = re.findall(r"\]\(([^)]+)\)", text)
    assert {f"{site.url}{path.relative_to(ROOT / 'docs')}" for path in SOURCES} <= set(linked)
    assert all((site.folder / place.removeprefix(site.url)).is_file() for place in linked)


def test_a_figure_is_its_words_in_the_twin():
    text = twins.plain('x\n\n--8<-- "build/generated/traces/preempted.svg"\n\ny\n')
    assert text.startswith("x\n\nFigure: A request is preempted")
    assert text.endswith("\n\ny\n")
    assert "<" not in text


def test_the_twin_of_the_page_on_tags_lists_them(site: Site):
    text = (site.folder / "reference/tags.md").read_text()
    assert "- HOOK: [Hooks](../contract/hooks.md), [State and hooks](../traces/state-and-hooks.md)\n" in text
    assert "material/tags" not in text
