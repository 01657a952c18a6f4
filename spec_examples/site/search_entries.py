"""What a reader of a specification looks for by name: each clause, and with it its key, is an entry of the search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from spec_examples.contract.clauses import CLAUSES
from spec_examples.trace import PHASE_KEYS

INDEX = Path("search/search_index.json")
"""Material's index; Zensical has a format of its own, and goes without these entries."""

KEYS = dict(zip(("FIELD-1", "FIELD-2", "FIELD-3"), PHASE_KEYS, strict=True))
"""The key that a clause states."""


def add(site: Path) -> None:
    """Put an entry for each clause into the index of the site."""
    file = site / INDEX
    if not file.is_file():
        return
    index = json.loads(file.read_text(encoding="utf-8"))
    index["docs"] += _clauses(site)
    file.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def _clauses(site: Path) -> Iterator[dict[str, str]]:
    for clause in CLAUSES.values():
        place = clause.page.removeprefix("docs/").removesuffix(".md") + "/"
        built = (site / place / "index.html").read_text(encoding="utf-8")
        paragraph = re.search(rf'<p>(?:(?!</?p>).)*id="{clause.id}".*?</p>', built, re.DOTALL)
        yield {
            "location": f"{place}#{clause.id}",
            "title": " ".join(filter(None, (clause.id, KEYS.get(clause.id), clause.name))),
            "text": unescape(re.sub(r"<[^>]+>", "", paragraph[0])) if paragraph else "",
        }
