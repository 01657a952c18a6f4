"""A page is compared with the rendering of the site that it belongs to."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from spec_examples.markdown import PageError, read

MATERIAL = """\
site_name: x
markdown_extensions:
  - admonition
  - attr_list
  - md_in_html
  - tables
  - toc: {permalink: true}
  - pymdownx.details
  - pymdownx.emoji:
      emoji_index: !!python/name:pymdownx.emoji.gemoji
  - pymdownx.highlight: {linenums: true, anchor_linenums: true, line_spans: __span, auto_title: true}
  - pymdownx.inlinehilite
  - pymdownx.snippets: {check_paths: true}
  - pymdownx.superfences:
      custom_fences:
        - name: mermaid
          class: mermaid
          format: !!python/name:pymdownx.superfences.fence_div_format
  - pymdownx.tabbed: {alternate_style: true}
"""


def site(folder: Path, config: str) -> Path:
    (folder / "mkdocs.yml").write_text(config)
    return folder / "docs" / "page.md"


def test_a_material_site(tmp_path: Path):
    text = '# T\n\n```python\na\nb\n```\n\n```mermaid\ngraph LR\n```\n\n| a |\n|---|\n| 1 |\n\n--8<-- "none.svg"\n'
    found = read(site(tmp_path, MATERIAL), text).examples
    assert [(example.kind, example.language) for example in found] == [
        ("block", "python"),
        ("block", "mermaid"),
        ("row", ""),
    ]


def test_an_extension_that_changes_a_cell(tmp_path: Path):
    path = site(tmp_path, MATERIAL)
    with pytest.raises(PageError, match=r"page\.md:3: a reader gets the row"):
        read(path, "| a |\n|---|\n| x :smile: |\n")


def test_a_site_without_admonitions(tmp_path: Path):
    path = site(tmp_path, "site_name: x\n")
    with pytest.raises(PageError, match=r"page\.md:1: a reader gets nothing, what is run is the admonition 'Note'"):
        read(path, "!!! note\n    x\n")


def test_a_site_whose_configuration_changes(tmp_path: Path):
    path = site(tmp_path, "site_name: x\n")
    with pytest.raises(PageError):
        read(path, "!!! note\n    x\n")
    site(tmp_path, "site_name: x\nmarkdown_extensions: [admonition]\n")
    os.utime(tmp_path / "mkdocs.yml", (2e9, 2e9))
    assert read(path, "!!! note\n    x\n").examples


def test_values_that_are_not_to_be_had_here_stay_at_their_default(tmp_path: Path):
    config = """\
        site_name: !ENV [NONE, x]
        markdown_extensions:
          - toc:
              slugify: !!python/object/apply:nonesuch.slugify {kwds: {case: lower}}
              title: !ENV TITLE
          - pymdownx.superfences:
              custom_fences:
                - {name: mermaid, class: mermaid, format: !!python/name:nonesuch.format }
          - pymdownx.tasklist: {custom_checkbox: true}
        """
    assert read(site(tmp_path, dedent(config)), "# T\n\n```mermaid\na\n```\n").examples


@pytest.mark.parametrize(
    "config",
    [
        "markdown_extensions: [nonesuch]\n",
        "markdown_extensions: 3\n",
        "a: [\n",
        "x\n",
        "INHERIT: other.yml\n",
        "markdown_extensions: [toc: {x: 1}]\n",
    ],
)
def test_a_configuration_that_cannot_be_used(tmp_path: Path, config: str):
    path = site(tmp_path, config)
    with pytest.raises(PageError) as raised:
        read(path, "```\na\n```\n")
    assert str(raised.value).startswith(f"{(tmp_path / 'mkdocs.yml').as_posix()}:1: ")
    assert "\n" not in str(raised.value)


def test_the_difference_names_both_readings():
    with pytest.raises(PageError) as raised:
        read(Path("page.md"), "| a | b |\n|---|---|\n| 1 | `2\\|3` |\n")
    assert "a reader gets the row '1 | 2\\\\|3', what is run is the row '1 | 2|3'" in str(raised.value)


def test_importing_takes_neither_the_site_builder_nor_the_runner():
    heavy = "{'markdown', 'mkdocs', 'pymdownx', 'torch', 'vllm'}"
    ask = f"import sys, spec_examples.markdown; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
