"""One example alone, by its line; and a page whose talkers harm no other page."""

import pytest

from spec_examples.gate.check import check, find_examples
from spec_examples.gate.cli import main
from spec_examples.running import Context
from spec_examples.targets import Session, Target

RUN = "from spec_examples import Row, rows, run\n"


def block(code, language="python", title=None):
    heading = f' title="{title}"' if title else ""
    return f"```{language}{heading}\n{code}\n```\n\n"


PAGE = (
    "# Page\n\n"
    + block(RUN + "trace = run(Row(5, 4, 1))")
    + block("assert False")
    + block("print(rows(trace)[0].phase)")
    + block("prefill", "text", "Output")
)


@pytest.fixture
def run_check(session, capsys):
    def run(*words):
        status = main(["check", *words], context=Context(session, Target()))
        return status, *capsys.readouterr()

    return run


@pytest.mark.parametrize(("line", "status"), [(3, 0), (5, 0), (8, 1), (12, 0), (17, 0)])
def test_the_example_at_a_line_brings_what_it_needs_and_is_judged_alone(site, run_check, line, status):
    page = site("docs/page.md", PAGE)
    found, out, _ = run_check(f"{page}:{line}")
    assert found == status, out
    assert "1 blocks, 0 rows, 0 admonitions: " in out
    assert "exercised: 1 steps" in out


def test_a_line_without_an_example_is_an_error_that_names_the_nearest(site, run_check):
    page = site("docs/page.md", PAGE)
    status, out, _ = run_check(f"{page}:1")
    assert status == 2
    assert "docs/page.md:1: no example is at this line; the nearest are at 3 and 8" in out


def test_a_page_named_whole_and_by_a_line_is_whole(site):
    page = str(site("docs/page.md", PAGE))
    assert find_examples([page, f"{page}:3"])[1] == {}
    assert list(find_examples([f"{page}:3", f"{page}:8"])[1].values()) == [{3, 8}]


def test_what_a_talker_does_to_its_process_reaches_no_other_page(site):
    """The talker takes the runner's guard away, for whoever runs in its process after it."""
    poison = (
        "from spec_examples.talker import ScalarTalker\n\n\nclass Poison(ScalarTalker):\n"
        "    def preprocess(self, input_ids, input_embeds, **info):\n"
        "        ScalarTalker.preprocess = Poison.preprocess\n"
        "        return input_ids, input_embeds.fill_(1.0), {'mtp_inputs': (input_embeds, input_embeds)}"
    )
    first = site("docs/a.md", "# A\n\n" + block(poison, title="poison.py"))
    asked = RUN + "first = run(Row(5, 4, 1)).steps[0].forward\nassert first != ((1.0,) * 8,)"
    second = site("docs/b.md", "# B\n\n" + block(asked))
    with Session(forking=True) as session:
        report = check([first, second], session, Target())
    assert [page.worst for page in report.pages][1] == "passed", report.pages[1].results
    with Session() as session:
        report = check([first, second], session, Target())
    assert [page.worst for page in report.pages][1] == "failed"
