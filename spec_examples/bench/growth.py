"""What a page, a row, a release and a defect add: each is measured at three sizes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from spec_examples.bench import bounds
from spec_examples.bench import pages as made
from spec_examples.bench.figure import Line
from spec_examples.bench.measuring import Floor
from spec_examples.gate.check import check
from spec_examples.targets import Session, Target, catalogue

PAGES = (5, 20, 80)
ROWS = (100, 400, 1600)
RELEASES = (1, 2, 4)
DEFECTS = (20, 60, 160)


def pages(floor: Floor) -> Line:
    """Pages with two runs each, checked on an imported runner."""
    sizes = (1, *PAGES)
    texts = [[(f"page{n}.md", made.runs(n)) for n in range(sum(sizes[:at]), sum(sizes[: at + 1]))] for at in range(4)]
    return Line("pages, on an imported runner", PAGES, _checked(floor, texts))


def rows(floor: Floor) -> Line:
    """A page with one table, checked on an imported runner."""
    texts = [[("rows.md", made.table(size, seed=size))] for size in (1, *ROWS)]
    return Line("rows of a table, on an imported runner", ROWS, _checked(floor, texts))


def _checked(floor: Floor, sites: list[list[tuple[str, str]]]) -> tuple[float, ...]:
    """Wall seconds to check the pages of each site but the first, which pays what is paid once, in one session."""
    seconds = []
    with Session(forking=True) as session:
        session.environment(Target())
        for texts in sites:
            with tempfile.TemporaryDirectory() as folder:
                written = [made.write(Path(folder), name, text) for name, text in texts]
                floor.say(f"checking {len(written)} pages")
                started = time.monotonic()
                report = check(written, session, Target())
                seconds.append(time.monotonic() - started)
            if report.exit_code:
                raise SystemExit(str(next(result for result in report.results if result.message)))
    return tuple(seconds[1:])


def releases(floor: Floor) -> Line:
    """Releases, judged anew: processor time, imports included."""
    versions = [release.vllm_omni for release in catalogue.releases() if release.how == "run"]
    seconds = tuple(bounds.run_live(versions[-size:], floor.say).cpu for size in RELEASES)
    return Line("releases of matrix --live, processor time", RELEASES, seconds)


def defects(floor: Floor) -> Line:
    """Defects to their first catch, on an imported runner."""
    floor.say("defects to their first catch")
    with Session() as session:
        hunt = bounds.hunt(session)
        seconds = tuple(bounds.first_catches(hunt, size) for size in DEFECTS)
    return Line("defects to their first catch, on an imported runner", DEFECTS, seconds)


LINES: dict[str, Callable[[Floor], Line]] = {
    "by-pages": pages,
    "by-rows": rows,
    "by-releases": releases,
    "by-defects": defects,
}
"""By the name that ``--only`` takes."""
