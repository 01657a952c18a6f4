"""What is written of measurements: nothing that was not measured, and no other figure of speed anywhere else."""

import re
from pathlib import Path

import pytest

from spec_examples.bench import written
from spec_examples.bench.figure import Line, Measured, figure

ROOT = Path(__file__).resolve().parents[2]
SPEED = re.compile(
    r"\d[\d.,]* ?(?:×|times) (?:the|an|its) import"
    r"|(?:\d[\d.,]*|some|few) (?:s|ms|seconds?|minutes?|hours?)\b|\ban? (?:minute|hour)\b"
    r"|\d \w+ (?:a|per) second\b|than a second\b"
)
FACTS = ("bound", "timeout", "rendezvous")
"""Words of a line whose figure is a limit, not a speed."""

FOUND = {
    "check": Measured("2026-12-01", figures=(figure("check | all", "× import", [1.7, 1.71], most=1.6, beside="20 s"),)),
    "rows": Measured("2026-12-02", figures=(figure("rows", "rows a second", [2345.6, 2400], least=2000),)),
    "comparison": Measured("2026-12-02", lines=(Line("ours", (10, 100, 1000), (1.0, 1.1, 2.0)),)),
    "by-rows": Measured("2026-12-02", lines=(Line("rows of a table", (10, 20, 40), (1.0, 2.0, 4.0)),)),
}


def test_the_file_has_every_figure_with_its_bound_and_every_cost():
    text = written.markdown(FOUND, "2 cores", [("tests.gate::test_a", 12.34)])
    assert "| check \\| all | 1.71 × import | ± 0.01 | at most 1.6 | EXCEEDED | 20 s | 2026-12-01 |" in text
    assert "| rows | 2373 rows a second | ± 27.2 | at least 2000 | kept |  | 2026-12-02 |" in text
    assert "| ours | 1.00 s | 1.10 s | 2.00 s | 0.99 s | 1.01 ms |" in text
    assert "| rows of a table | 10: 1.00 s | 20: 2.00 s | 40: 4.00 s | 0.00 s | 100 ms | 1.00 | 2026-12-02 |" in text
    assert "| tests.gate::test_a | 12.3 s |" in text


def test_a_table_of_nothing_is_left_out():
    text = written.markdown({"rows": FOUND["rows"]}, "2 cores", [])
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Bounds"]


def test_the_slowest_tests_are_read_from_a_report(tmp_path):
    report = tmp_path / "junit.xml"
    cases = "".join(f'<testcase classname="tests.a" name="t{n}" time="{n / 10}"/>' for n in range(30))
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    found = written.slowest(report)
    assert (len(found), found[0]) == (20, ("tests.a::t29", 2.9))
    assert written.slowest(tmp_path / "none.xml") == []


TOLD = ["README.md", "CHANGELOG.md", "mkdocs.yml", *(p.relative_to(ROOT).as_posix() for p in ROOT.glob("docs/**/*.md"))]


@pytest.mark.parametrize("name", TOLD)
def test_no_figure_of_speed_stands_anywhere_that_was_not_measured(name):
    measured = (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8")
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    told = [(line, found[0]) for line in lines for found in SPEED.finditer(line)]
    assert [each for each in told if each[1] not in measured and not any(word in each[0] for word in FACTS)] == []
