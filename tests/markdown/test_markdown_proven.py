"""What was proven of a page is proven again as soon as anything that it depends on changes."""

import shutil
from pathlib import Path

import pytest

from spec_examples import proven
from spec_examples.markdown import PageError, read, rendered

ROOT = Path(__file__).resolve().parents[2]
TEXT = "# Page\n\n```python\nassert True\n```\n"


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page that was read once; from then on the site is said to show something else."""
    monkeypatch.setenv("PHASE_CONTRACT_CACHE", str(tmp_path / "cache"))
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    path = tmp_path / "docs" / "page.md"
    path.parent.mkdir()
    path.write_text(TEXT)
    read(path)

    def differs(source, *_):
        raise PageError(source.path, 1, "the site shows something else")

    monkeypatch.setattr(rendered, "check", differs)
    return path


def test_a_page_that_did_not_change_is_not_rendered_again(page):
    assert len(read(page).examples) == 1


def test_a_page_that_changed_is(page):
    page.write_text(TEXT.replace("True", "1"))
    with pytest.raises(PageError, match="something else"):
        read(page)


def test_so_is_one_whose_site_changed(page):
    config = page.parents[1] / "mkdocs.yml"
    config.write_text(config.read_text() + "\n# more\n")
    with pytest.raises(PageError, match="something else"):
        read(page)


def test_and_one_whose_renderer_or_reader_changed(page, monkeypatch):
    real = proven._version
    monkeypatch.setattr(proven, "_version", lambda name: "0" if name == "Pygments" else real(name))
    with pytest.raises(PageError, match="something else"):
        read(page)


def test_an_extension_of_somebody_else_is_never_taken_for_proven(page):
    config = page.parents[1] / "mkdocs.yml"
    config.write_text("markdown_extensions:\n  - my.own\n")
    with pytest.raises(PageError):
        read(page)
    assert len(list((page.parents[1] / "cache" / "proven" / "pages").iterdir())) == 1


def test_what_is_wrong_is_not_kept(page):
    page.write_text(TEXT.replace("True", "2"))
    for _ in range(2):
        with pytest.raises(PageError, match="something else"):
            read(page)
