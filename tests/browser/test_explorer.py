"""The explorer shows what was recorded, over its whole grid; without JavaScript it shows one question."""

import re

import pytest
from built import PHONE
from playwright.sync_api import Page, expect

from spec_examples.explorer import page as written
from spec_examples.explorer import table
from spec_examples.explorer.grid import questions

SHOWN = (
    "() => [...document.querySelectorAll('#explorer-answers tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
)

ASK_ALL = """
() => {
  const form = document.getElementById("explorer");
  const names = ["hook", "mtp", "company", "prompt_len", "computed", "span"];
  const ask = (left) => {
    if (!left.length) {
      form.dispatchEvent(new Event("change"));
      const rows = [...document.querySelectorAll("#explorer-answers tbody tr")];
      return [rows.map((row) => [...row.cells].map((cell) => cell.textContent).join("|")).join("\\n")];
    }
    const control = form.elements[left[0]];
    return [...control.options].flatMap((option) => ((control.value = option.value), ask(left.slice(1))));
  };
  history.replaceState = () => {};
  return ask(names);
}
"""


def test_the_page_shows_what_was_recorded_over_the_whole_grid(open_page):
    shown = open_page("explorer/").evaluate(ASK_ALL)
    targets = table.read()
    expected = ["\n".join("|".join(line) for line in written.lines_at(at, targets)) for at, _ in enumerate(questions())]
    assert len(shown) == len(expected) == 3456
    assert shown == expected


def test_a_choice_is_in_the_address_and_comes_back_from_it(open_page):
    page = open_page("explorer/")
    page.get_by_label("Hook for decode rows").select_option("scalar")
    page.get_by_role("button", name="Decode", exact=True).click()
    expect(page).to_have_url(re.compile(r"\?hook=scalar&mtp=yes&.*prompt_len=5&computed=5&span=1"))
    expect(page.locator("#explorer-command")).to_have_text("phase-contract row --prompt-len 5 --computed 5 --span 1")
    before = page.evaluate(SHOWN)
    page.reload()
    expect(page.get_by_label("Computed before the step")).to_have_value("5")
    assert page.evaluate(SHOWN) == before


def test_an_address_that_asks_what_the_grid_has_not_is_left_alone(open_page):
    page = open_page("explorer/?prompt_len=99&span=2&nonesuch=1")
    expect(page.get_by_label("Prompt length")).to_have_value("5")
    expect(page.get_by_label("Span")).to_have_value("2")


def test_it_works_after_moving_to_it(open_page):
    page = open_page()
    page.get_by_role("navigation", name="Navigation").get_by_role("link", name="Explorer").click()
    page.get_by_label("Span").select_option("3")
    expect(page.get_by_role("status")).to_contain_text("A row of 3")


def test_the_keyboard_is_enough(open_page):
    page = open_page("explorer/")
    page.get_by_label("Span").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("status")).to_contain_text("A row of 2")


@pytest.mark.parametrize("size", [None, PHONE], ids=["wide", "phone"])
def test_without_javascript_one_question_is_answered(open_page, size: dict | None):
    page: Page = open_page("explorer/", java_script_enabled=False, **({"viewport": size} if size else {}))
    expect(page.get_by_text("The controls need JavaScript")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("0.20.0rc1 to 0.21.0rc1 AR"))).to_be_visible()


def test_a_row_of_the_routing_table_leads_to_it(open_page):
    page = open_page("contract/routing/")
    link = page.get_by_role("link", name="(5, 4, 1) on every release").first
    link.click()
    expect(page.get_by_label("Computed before the step")).to_have_value("4")
