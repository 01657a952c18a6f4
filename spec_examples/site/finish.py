"""``python -m spec_examples.site.finish [FOLDER]``: finish a site that MkDocs or Zensical has built.

Each example of a page gets a mark, where a check of the pages as they are now was kept; each page says when it was
checked and has a twin in plain Markdown; search gets an entry for each clause, and each runner of the newest release a
badge. Where the address of the site is known, each page has a social card. Nothing of this needs JavaScript.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path

from spec_examples.conformance import record as recorded
from spec_examples.gate.site import RUNNER_NAMES, newest_first
from spec_examples.markdown import Example, PageError, read
from spec_examples.site import badges, cards, navigation, search_entries, twins, verified, whole
from spec_examples.site.marks import marked
from spec_examples.site.verified import Verified
from spec_examples.whole_files import write_whole

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
    checked = verified.read()
    pages = list(built(site))
    name = navigation.config()["site_name"]
    for page in pages:
        text = page.file.read_text(encoding="utf-8")
        if url:
            text = _with_card(text, page, site, url, name)
        examples = _examples(page.source) if checked else []
        if checked and examples:
            text = marked(text, examples, checked, f"{_way(page, site)}explorer/")
        write_whole(page.file, _with_foot(text, foot(page, site, checked, examples)))
    for file in site.rglob("*.html"):
        write_whole(file, mended(file.read_text(encoding="utf-8")))
    search_entries.add(site)
    badges.write(site / "badges", newest_first(recorded.read_all()), RUNNER_NAMES)
    twins.write_all(site, [page.source for page in pages], url)


def _examples(source: Path) -> Sequence[Example]:
    """The examples that stand on the built page, in order: the whole contract has those of all its pages."""
    sources = whole.sources() if source == whole.WHOLE else [source]
    try:
        return [example for each in sources for example in read(each).examples]
    except PageError:
        return []


def _way(page: Built, site: Path) -> str:
    """The way from a page to the root of the site: ``../../``."""
    way = relpath(site, page.file.parent)
    return "" if way == "." else f"{way}/"


def _twin(page: Built, site: Path) -> str:
    return f"{_way(page, site)}{page.name}"


def foot(page: Built, site: Path, checked: Verified | None, examples: Sequence[Example]) -> str:
    """The last line of a page: when and on what its examples ran, and its source."""
    said = [f'<a type="text/markdown" href="{_twin(page, site)}">This page as Markdown</a>']
    if checked and examples:
        kinds: Counter[str] = Counter(example.kind for example in examples)
        counts = ", ".join(f"{kinds[k]} {k}{'s' * (kinds[k] > 1)}" for k in ("block", "row", "admonition") if kinds[k])
        day = f'<time datetime="{checked.date}">{checked.date}</time>'
        said.insert(0, f"Last verified {day} on vLLM-Omni {checked.vllm_omni}: {counts}.")
    if repository := os.environ.get("REPO_URL", "").rstrip("/"):
        said.append(f'<a href="{repository}/edit/main/{page.source.as_posix()}">Edit this page</a>')
    else:
        said.append(f"Its source is <code>{page.source.as_posix()}</code>.")
    return f'<p class="verified">{" ".join(said)}</p>'


def _with_foot(text: str, line: str) -> str:
    before, end, after = text.rpartition("</article>")
    return f"{before}{line}{end}{after}"


def built(site: Path) -> Iterator[Built]:
    """The pages that have a source."""
    for source in sorted(DOCS.rglob("*.md")):
        place = source.relative_to(DOCS).with_suffix("")
        folder = site / (place.parent if place.name == "index" else place)
        if (folder / "index.html").is_file():
            yield Built(source, folder / "index.html")


def mended(text: str) -> str:
    """A dialog and a list of tags need a name, and what scrolls has to be reached by the keyboard."""
    dialog = 'data-md-component="search" role="dialog"'
    text = re.sub(r'<nav class="md-tags"\s*>', '<nav class="md-tags" aria-label="Tags">', text)
    return text.replace(dialog, f'{dialog} aria-label="Search"').replace(
        '<figure class="diagram">', '<figure class="diagram" tabindex="0">'
    )


def _with_card(text: str, page: Built, site: Path, url: str, site_name: str) -> str:
    """The page, with its social card drawn and named in its head."""
    title, said = (words.replace("`", "") for words in twins.first_words(page.source))
    card = Path("cards", page.name).with_suffix(".png")
    cards.write(site / card, title, said, site_name)
    address = url + page.file.parent.relative_to(site).as_posix().removeprefix(".")
    return cards.tagged(text, f"{address.rstrip('/')}/", url + card.as_posix(), title, said)


def main() -> None:
    """Finish the site in the folder that is named, ``site`` without one."""
    finish(Path(sys.argv[1] if len(sys.argv) > 1 else "site"), os.environ.get("SITE_URL", ""))


if __name__ == "__main__":
    main()
