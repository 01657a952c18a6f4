"""The site, built once and served on this machine, and pages of a real browser that notice what goes wrong."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer

import chromium
import pytest
from built import DESKTOP, PREFIX, Quiet, Seen, Site, build, verify

playwright = pytest.importorskip("playwright.sync_api")

WITHIN_MS = 120_000
"""What is waited for comes within this time, on a busy machine too."""


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
    playwright.expect.set_options(timeout=WITHIN_MS)
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
        context.set_default_timeout(WITHIN_MS)
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
