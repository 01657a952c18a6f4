"""The same ``mkdocs.yml`` builds with Zensical, Material's successor."""

import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from built import ROOT, Quiet, Site
from playwright.sync_api import expect

from spec_examples.site.marks import Places


@pytest.fixture(scope="module")
def other(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zensical")
    for name in ("docs", "build/generated", "spec_examples/site", "overrides"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
    for name in ("mkdocs.yml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=folder, env={**os.environ, "SITE_URL": ""}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    command = [sys.executable, "-m", "spec_examples.site.finish"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=folder, env=environment, check=True)
    return folder / "site"


def test_every_page_is_built_and_has_the_same_examples(site: Site, other: Path):
    assert len(site.pages) > 20
    for place in site.pages:
        one, two = ((folder / place / "index.html").read_text() for folder in (site.folder, other))
        assert [found.kind for found in Places(one).found] == [found.kind for found in Places(two).found], place
        assert "This page as Markdown" in two


def test_nothing_is_loaded_from_another_host(other: Path):
    from test_links import Links

    loaded = {place for file in other.rglob("*.html") for place in Links(file.read_text()).loaded}
    assert loaded
    assert not {place for place in loaded if place.startswith(("http:", "https:", "//"))}


def test_search_finds_a_clause_by_its_name(other: Path, browser):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(other))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_context().new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_load_state("networkidle")
        page.keyboard.press("/")
        page.wait_for_timeout(1000)  # the field takes no keys before it is open
        page.keyboard.type("FIELD-6")
        found = page.locator("a[href*='contract/fields/'][href*='#FIELD-6']", has_text="nothing latched")
        expect(found.first).to_be_visible()
        page.context.close()
        server.shutdown()


def test_its_pages_have_their_tags_and_badges(other: Path):
    assert 'href="../../reference/tags/#tag:hook"' in (other / "contract/hooks/index.html").read_text()
    assert 'id="tag:hook"' in (other / "reference/tags/index.html").read_text()
    assert (other / "badges/ar.svg").is_file()
