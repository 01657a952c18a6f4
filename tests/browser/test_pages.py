"""The site in a real browser: moving about, searching, reading in the dark, on a phone, on paper, and by ear."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from built import PHONE, Site
from playwright.sync_api import Page, expect

THIN = """
for (const row of document.querySelectorAll("table.matrix tr:nth-child(n+6), table.evidence tr:nth-child(n+6)"))
  row.remove();
for (const each of [...document.querySelectorAll("div.matrix")].slice(6)) each.remove();
if (document.querySelectorAll("*").length > 6000)
  for (const each of [...document.querySelectorAll("article > *")].slice(150)) each.remove();
"""


def sideways(page: Page) -> int:
    """Pixels by which the page is wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def violations(page: Page, options: dict | None = None) -> list[str]:
    """What axe-core finds wrong, with the elements. Of tables that repeat themselves, the first rows are looked at, and
    of the contract on one page, whose parts are pages too, the first part: axe takes minutes for the rest."""
    page.evaluate(THIN)
    found = Axe().run(page, options=options).response["violations"]
    return [f"{page.url} {v['id']}: {', '.join(node['target'][0] for node in v['nodes'][:3])}" for v in found]


def test_moving_to_another_page_loads_no_document(open_page):
    page = open_page()
    page.evaluate("window.stayed = true")
    page.get_by_role("navigation", name="Navigation").get_by_role("link", name="Routing").first.click()
    expect(page).to_have_title(re.compile("Routing"))
    expect(page.locator("#ROUTE-3")).to_be_visible()
    assert page.evaluate("window.stayed") is True
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("The phase contract")


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("_omni_is_prefill", "contract/fields/"),
        ("is_prefill", "contract/fields/"),
        ("ROUTE-3", "contract/routing/"),
        ("FIELD-6", "contract/fields/"),
        ("preemption", "traces/preemption/"),
    ],
)
def test_search_finds(open_page, words: str, place: str):
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type(words)
    first = page.locator(f".md-search-result__item:nth-child(-n+4) a.md-search-result__link[href*='{place}']")
    expect(first.first).to_be_visible()  # what is found for the first letters is listed before


def test_dark_and_light(open_page):
    page = open_page(color_scheme="dark")
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("label.md-header__button[title='Use the light scheme']").click()
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "default")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    page.reload()
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "default")


def test_a_block_can_be_copied(open_page):
    page = open_page("contract/hooks/", permissions=["clipboard-read", "clipboard-write"])
    page.locator(".md-code__button[title='Copy to clipboard']").first.click()
    assert "import" in page.evaluate("navigator.clipboard.readText()")


def test_a_note_is_shown_at_its_line_of_code_and_is_not_copied_with_it(open_page):
    page = open_page("contract/hooks/", permissions=["clipboard-read", "clipboard-write"], reduced_motion="reduce")
    block = page.locator(".highlight", has_text="class ScalarTalker")
    notes = block.locator(".md-annotation")
    expect(notes).to_have_count(5)
    notes.first.focus()
    expect(page.get_by_text("Without this the runner calls no hook.")).to_be_visible()
    block.locator(".md-code__button[title='Copy to clipboard']").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "class ScalarTalker" in copied
    assert not re.search(r"\(\d\)|no hook", copied)
    compile(copied, "copied.py", "exec")


def test_without_javascript_notes_are_a_list(open_page):
    page = open_page("contract/hooks/", java_script_enabled=False)
    expect(page.get_by_text("Without this the runner calls no hook.")).to_be_visible()


def test_tags_lead_to_the_pages_that_have_them(open_page):
    page = open_page("contract/hooks/")
    page.get_by_role("navigation", name="Tags").get_by_role("link", name="HOOK").click()
    expect(page).to_have_url(re.compile(r"reference/tags/#tag:hook"))
    page.get_by_role("article").get_by_role("link", name="State and hooks").first.click()
    expect(page).to_have_title(re.compile("State and hooks"))


def test_every_page_is_accessible(open_page, site: Site):
    page = open_page(color_scheme="light", reduced_motion="reduce")
    wrong = [each for place in site.pages for each in (page.goto(site.url + place), violations(page))[1]]
    assert not wrong, "\n".join(wrong)


def test_every_page_has_contrast_in_the_dark(open_page, site: Site):
    page = open_page(color_scheme="dark", reduced_motion="reduce")
    only = {"runOnly": ["color-contrast", "link-in-text-block"]}
    wrong = [each for place in site.pages for each in (page.goto(site.url + place), violations(page, only))[1]]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("width", [PHONE["width"], 390])
def test_every_page_fits_a_phone(open_page, site: Site, width: int):
    page = open_page(viewport={**PHONE, "width": width})
    too_wide = {place: wide for place in site.pages if (page.goto(site.url + place), wide := sideways(page))[1] > 0}
    assert not too_wide


def test_a_phone_has_the_navigation_in_a_drawer(open_page):
    page = open_page(viewport=PHONE)
    assert not violations(page)
    page.locator("label.md-header__button[for='__drawer']").click()
    page.locator(".md-nav--primary label.md-nav__link").get_by_text("Contract", exact=True).click()
    page.locator(".md-nav--primary").get_by_role("link", name="Routing").click()
    expect(page).to_have_title(re.compile("Routing"))


def test_a_page_that_is_wrong_is_seen_to_be(open_page):
    page = open_page()
    page.evaluate("document.querySelector('article').innerHTML += '<img src=\"assets/images/favicon.png\">'")
    assert any("image-alt" in each for each in violations(page))
    page.evaluate("document.querySelector('article').innerHTML += '<div style=\"width: 4000px\">wide</div>'")
    assert sideways(page) > 0


def test_a_printed_page_is_the_text_alone(open_page):
    page = open_page("contract/routing/")
    page.emulate_media(media="print")
    for gone in (".md-header", ".md-sidebar", ".md-footer", ".md-code__button"):
        assert not [each for each in page.locator(gone).all() if each.is_visible()], gone
    expect(page.locator("#ROUTE-3")).to_be_visible()
    assert sideways(page) <= 0
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("place", ["", "contract/routing/", "conformance/"])
def test_without_javascript_a_page_is_whole(open_page, place: str):
    page = open_page(place, java_script_enabled=False)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("article table, article ul.newest").first).to_be_visible()


def test_the_keyboard_reaches_the_text(open_page):
    page = open_page("contract/fields/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent.trim()") == "Skip to content"
    page.keyboard.press("Enter")
    assert "#" in page.url
