"""Every link, script, style and picture of the built site leads to something that is there."""

import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from built import Site, build


class Links(HTMLParser):
    """What a page refers to, and what it may be referred to by."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.places: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.update(value for name in ("id", "name") if (value := given.get(name)))
        places = [value for name in ("href", "src", "srcset") if (value := given.get(name)) is not None]
        self.places += places
        if tag in ("script", "img", "link", "iframe", "source", "object") and given.get("rel") != "canonical":
            self.loaded += places


@pytest.fixture(scope="module")
def links(site: Site) -> dict[Path, Links]:
    return {file: Links(file.read_text(encoding="utf-8")) for file in site.files}


def broken(file: Path, place: str, site: Site, links: dict[Path, Links]) -> str | None:
    here = site.url + file.relative_to(site.folder).as_posix()
    address, anchor = urldefrag(urljoin(here, place))
    if urlsplit(place).scheme in ("data", "javascript", "mailto") or not address.startswith("http://127.0.0.1"):
        return None
    path = site.folder / unquote(urlsplit(address).path).removeprefix(urlsplit(site.url).path)
    path = path / "index.html" if path.is_dir() else path
    if not address.startswith(site.url) or not path.is_file():
        return f"{place}: nothing there"
    if anchor and path in links and unquote(anchor) not in links[path].ids:
        return f"{place}: no such anchor"
    return None


def test_no_link_and_no_anchor_is_broken(site: Site, links: dict[Path, Links]):
    wrong = [
        f"{file.relative_to(site.folder)}: {said}"
        for file, page in links.items()
        for place in page.places
        if (said := broken(file, place, site, links))
    ]
    assert not wrong, "\n".join(sorted(set(wrong))[:20])


def test_a_broken_link_and_a_broken_anchor_are_seen(site: Site, links: dict[Path, Links]):
    file = site.folder / "contract/routing/index.html"
    assert broken(file, "../fields/#FIELD-1", site, links) is None
    assert broken(file, "../field/#FIELD-1", site, links)
    assert broken(file, "../fields/#FIELD-99", site, links)
    assert broken(file, "/elsewhere/", site, links)


def test_nothing_is_loaded_from_another_host(links: dict[Path, Links]):
    loaded = {place for page in links.values() for place in page.loaded}
    assert loaded
    assert not {place for place in loaded if place.startswith(("http:", "https:", "//")) and "127.0.0.1" not in place}


def test_every_clause_has_its_anchor(site: Site, links: dict[Path, Links]):
    from spec_examples.contract.clauses import CLAUSES

    for clause in CLAUSES.values():
        page = site.folder / clause.page.removeprefix("docs/").removesuffix(".md") / "index.html"
        assert clause.id in links[page].ids, clause.id


def test_without_an_address_links_are_relative(tmp_path: Path):
    build(tmp_path)
    for file in tmp_path.rglob("index.html"):
        text = file.read_text(encoding="utf-8")
        assert not [place for place in Links(text).places if place.startswith("/") or "127.0.0.1" in place], file
        assert "og:image" not in text, "a card is linked by its whole address"


def test_the_search_has_every_page_but_those_that_repeat_others(site: Site):
    index = json.loads((site.folder / "search/search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert set(site.pages) - found == {"conformance/evidence/", "contract/whole/"}
