"""The site, built once and served on this machine, and pages of a real browser that notice what goes wrong."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import chromium
import pytest

playwright = pytest.importorskip("playwright.sync_api")

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "some/where"  # the site works below any address
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 360, "height": 740}


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, *_: object) -> None:
        pass


@dataclass
class Site:
    """A built site: its folder, and the address that it is served at."""

    folder: Path
    url: str

    @property
    def files(self) -> list[Path]:
        """Every page as built."""
        return sorted(self.folder.rglob("*.html"))

    @property
    def pages(self) -> list[str]:
        """The address of every page below ``url``, the page for what is not there excepted."""
        found = (file.relative_to(self.folder).as_posix() for file in self.files)
        return [name.removesuffix("index.html") for name in found if name.endswith("index.html")]


@dataclass
class Seen:
    """What went wrong in the browser: errors on its console, and requests that failed or went to another host."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


def build(folder: Path, url: str = "", builder: str = "mkdocs") -> None:
    """Build the site as ``make site`` does; a warning is an error."""
    environment = {**os.environ, "SITE_URL": url, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr


def verify() -> subprocess.CompletedProcess[str]:
    """Execute the pages for their marks, unless that was done; a test says where they are red."""
    command = [sys.executable, "-m", "spec_examples.site.verified"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    served = tmp_path_factory.mktemp("site")
    folder = served / PREFIX
    verify()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served))) as server:
        url = f"http://127.0.0.1:{server.server_port}/{PREFIX}/"
        build(folder, url)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Site(folder, url)
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator["playwright.Browser"]:
    path = chromium.find()
    if path is None:
        pytest.skip(chromium.MISSING)
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=path, args=list(chromium.FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: "playwright.Browser", site: Site):
    """``open_page("contract/routing/", …)``: that page. No page may bring an error or a request to another host."""
    contexts, seen = [], Seen()

    def open_at(place: str = "", **options: object) -> "playwright.Page":
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        contexts.append(context)
        page = context.new_page()
        watch(page, site, seen)
        page.goto(site.url + place)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert not seen.errors
    assert not seen.foreign


def watch(page: "playwright.Page", site: Site, seen: Seen) -> None:
    """Write down what goes wrong on the page."""
    own = site.url.removesuffix(f"{PREFIX}/")

    def request(asked: "playwright.Request") -> None:
        if not asked.url.startswith((own, "data:", "blob:")):
            seen.foreign.append(f"{page.url}: {asked.url}")

    def response(got: "playwright.Response") -> None:
        if got.status >= 400:
            seen.errors.append(f"{page.url}: {got.status} {got.url}")

    page.on("request", request)
    page.on("response", response)
    page.on("console", lambda said: seen.errors.append(f"{page.url}: {said.text}") if said.type == "error" else None)
    page.on("pageerror", lambda error: seen.errors.append(f"{page.url}: {error}"))
