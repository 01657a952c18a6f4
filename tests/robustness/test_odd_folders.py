"""Folders as people leave them: links in a circle, folders with a page's name, odd bytes. Each is one clear line."""

import json
from pathlib import Path

import pytest

from spec_examples.gate.cli import main
from spec_examples.running import Context
from spec_examples.targets import Target

GOOD = "# Page\n\n```python\nfrom spec_examples import Row, run\n\nassert run(Row(5, 5, 1)).mtp\n```\n"


def link_to_itself(folder: Path) -> None:
    (folder / "odd.md").symlink_to("odd.md")


def two_links_in_a_circle(folder: Path) -> None:
    (folder / "odd.md").symlink_to("other.md")
    (folder / "other.md").symlink_to("odd.md")


def link_to_nothing(folder: Path) -> None:
    (folder / "odd.md").symlink_to("nothing.md")


def folder_with_a_page_s_name(folder: Path) -> None:
    (folder / "odd.md").mkdir()


def folder_that_contains_itself(folder: Path) -> None:
    (folder / "odd.md").symlink_to(".")


def odd_bytes(folder: Path) -> None:
    (folder / "odd.md").write_bytes(b"# Page\n\n\xff\xfe\x00")


def empty(folder: Path) -> None:
    (folder / "odd.md").write_bytes(b"")


@pytest.mark.parametrize(
    "odd",
    [
        link_to_itself,
        two_links_in_a_circle,
        link_to_nothing,
        folder_with_a_page_s_name,
        folder_that_contains_itself,
        odd_bytes,
        empty,
    ],
)
def test_an_odd_file_is_one_line_and_the_pages_beside_it_are_executed(odd, site, session, capsys):
    folder = site("docs/page.md", GOOD).parent
    odd(folder)
    status = main(["check", str(folder), "--format", "json"], context=Context(session, Target()))
    out, err = capsys.readouterr()
    examples = json.loads(out)["examples"]
    wrong = [example for example in examples if example["outcome"] == "error"]
    assert status == 2
    assert err == ""
    assert any(example["path"].endswith("odd.md") for example in wrong)
    assert all(example["message"] and "\n" not in example["message"] for example in wrong)
    assert [e["outcome"] for e in examples if e["path"].endswith("docs/page.md")] == ["passed"]
