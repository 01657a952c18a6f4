"""What a reader of a specification looks for by name: each clause, and with it its key, is an entry of the search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spec_examples.contract.clauses import CLAUSES
from spec_examples.trace import PHASE_KEYS

INDEX = Path("search/search_index.json")
"""Material's index."""

ITEMS = Path("search.json")
"""Zensical's (0.0.73): the same, with a heading's level, the titles above it, and the page's tags."""

KEYS = dict(zip(("FIELD-1", "FIELD-2", "FIELD-3"), PHASE_KEYS, strict=True))
"""The key that a clause states."""


def add(site: Path) -> None:
    """Put an entry for each clause into the index of the site."""
    for file, entries in ((site / INDEX, "docs"), (site / ITEMS, "items")):
        if file.is_file():
            _add_to(file, entries, list(_clauses(site)))


def _add_to(file: Path, entries: str, clauses: list[dict[str, Any]]) -> None:
    index = json.loads(file.read_text(encoding="utf-8"))
    if file.name == INDEX.name:
        for each in index[entries]:
            each.pop("tags", None)  # Material puts every page with a tag that is found before any clause
    if file.name == ITEMS.name:
        above = {each["location"]: each["path"] for each in index[entries]}
        clauses = [{**c, "level": 3, "path": above[c["location"].partition("#")[0]], "tags": []} for c in clauses]
    index[entries] += clauses
    file.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def _clauses(site: Path) -> Iterator[dict[str, str]]:
    for clause in CLAUSES.values():
        place = clause.page.removeprefix("docs/").removesuffix(".md") + "/"
        built = (site / place / "index.html").read_text(encoding="utf-8")
        paragraph = re.search(rf'<p>(?:(?!</?p>).)*id="{clause.id}".*?</p>', built, re.DOTALL)
        yield {
            "location": f"{place}#{clause.id}",
            "title": " ".join(filter(None, (clause.id, KEYS.get(clause.id), clause.name))),
            "text": re.sub(r"<[^>]+>", "", paragraph[0]) if paragraph else "",  # escaped, as all texts of an index
        }
