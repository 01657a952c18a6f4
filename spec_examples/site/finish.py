"""``python -m spec_examples.site.finish [FOLDER]``: finish a site that MkDocs or Zensical has built.

Each page gets a name for its search dialog and figures that the keyboard can scroll; the search index gets an entry for
each clause and each phase key.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spec_examples.site import search_entries

DOCS = Path("docs")


@dataclass(frozen=True)
class Built:
    """One page: its source below ``docs/``, and the file that was made of it."""

    source: Path
    file: Path

    @property
    def name(self) -> str:
        """``contract/fields.md``."""
        return self.source.relative_to(DOCS).as_posix()


def finish(site: Path, url: str) -> None:
    """Finish every page of the site in ``site``; ``url`` is its address, where that is known."""
    for file in site.rglob("*.html"):
        _replace(file, mended(file.read_text(encoding="utf-8")))
    search_entries.add(site)


def built(site: Path) -> Iterator[Built]:
    """The pages that have a source."""
    for source in sorted(DOCS.rglob("*.md")):
        place = source.relative_to(DOCS).with_suffix("")
        folder = site / (place.parent if place.name == "index" else place)
        if (folder / "index.html").is_file():
            yield Built(source, folder / "index.html")


def mended(text: str) -> str:
    """A dialog needs a name, and what scrolls has to be reached by the keyboard."""
    dialog = 'data-md-component="search" role="dialog"'
    return text.replace(dialog, f'{dialog} aria-label="Search"').replace(
        '<figure class="diagram">', '<figure class="diagram" tabindex="0">'
    )


def _replace(file: Path, text: str) -> None:
    part = file.with_name(f".{file.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, file)


def main() -> None:
    """Finish the site in the folder that is named, ``site`` without one."""
    finish(Path(sys.argv[1] if len(sys.argv) > 1 else "site"), os.environ.get("SITE_URL", ""))


if __name__ == "__main__":
    main()
