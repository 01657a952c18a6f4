"""Where the address of the site is known, each page has a card for those who link to it."""

import re
from pathlib import Path

import pytest
from built import ROOT, Site
from PIL import Image

from spec_examples.site import cards

PAGES = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))


def of_head(text: str) -> dict[str, str]:
    return dict(re.findall(r'<meta property="([^"]+)" content="([^"]*)">', text.partition("</head>")[0]))


@pytest.mark.parametrize("name", PAGES, ids=str)
def test_each_page_names_its_card(site: Site, name: Path):
    place = name.parent if name.stem == "index" else name.with_suffix("")
    said = of_head((site.folder / place / "index.html").read_text())
    assert said["og:url"] == f"{site.url}{place}/".replace("/./", "/")
    assert said["og:image"].startswith(site.url)
    with Image.open(site.folder / said["og:image"].removeprefix(site.url)) as card:
        assert (card.format, card.size) == ("PNG", (1200, 630))
        assert [str(size) for size in card.size] == [said["og:image:width"], said["og:image:height"]]
    assert said["og:title"]


def drawn(folder: Path, title: str) -> list[int]:
    cards.write(folder / "card.png", title, "What it says.", "A site")
    with Image.open(folder / "card.png") as card:
        return list(card.convert("L").tobytes())


def test_another_title_is_another_picture(tmp_path: Path):
    assert drawn(tmp_path, "Routing") == drawn(tmp_path, "Routing") != drawn(tmp_path, "Fields")


def test_a_long_text_stays_within_the_card(tmp_path: Path):
    pixels = drawn(tmp_path, "A title of many words that nobody would ever want to read on a card " * 3)
    ground = pixels[cards.WIDTH - 1]
    right = [pixels[row * cards.WIDTH + cards.WIDTH - cards.MARGIN // 2] for row in range(cards.HEIGHT)]
    bottom = pixels[(cards.HEIGHT - 20) * cards.WIDTH + cards.MARGIN : (cards.HEIGHT - 19) * cards.WIDTH]
    assert set(right) == set(bottom) == {ground}


def test_what_a_page_says_is_text_in_its_head():
    page = cards.tagged("<html><head></head></html>", "https://a.example/", "https://a.example/c.png", 'a "t"<b>', "b")
    assert of_head(page)["og:title"] == "a &quot;t&quot;&lt;b&gt;"
