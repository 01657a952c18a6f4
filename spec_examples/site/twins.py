"""A plain Markdown twin of each page beside it, and ``llms.txt``, which lists them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import yaml

from spec_examples.markdown.includes import GENERATED
from spec_examples.site import navigation

DOCS = Path("docs")
TAGS = "<!-- material/tags -->"
"""Where the page on tags, in a folder of ``docs/``, has the theme list them."""

_INCLUDE = re.compile(r"""^[ \t]*-+8<-+[ \t]+["'](.+?)["'][ \t]*$""", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)


def write_all(site: Path, sources: Iterable[Path], url: str) -> None:
    """Write the twin of each source below ``docs/``, at its own path, and ``llms.txt``."""
    for source in sources:
        twin = site / source.relative_to(DOCS)
        twin.parent.mkdir(parents=True, exist_ok=True)
        twin.write_text(plain(source.read_text(encoding="utf-8")), encoding="utf-8")
    (site / "llms.txt").write_text("\n".join(_listed(url)) + "\n", encoding="utf-8")


def plain(text: str) -> str:
    """A page's Markdown without front matter, what it takes in put in as text."""
    text = _FRONT_MATTER.sub("", text)
    return _INCLUDE.sub(_taken_in, text.replace(TAGS, "\n".join(_by_tag())) if TAGS in text else text)


def _by_tag() -> Iterator[str]:
    """A line for each tag, with the pages that have it."""
    pages: dict[str, list[str]] = {}
    for source in sorted(DOCS.rglob("*.md")):
        text = source.read_text(encoding="utf-8")
        front = _FRONT_MATTER.match(text)
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        for tag in (yaml.safe_load(front[0].strip().strip("-")) or {}).get("tags", ()) if front else ():
            pages.setdefault(tag, []).append(f"[{title[1] if title else source.stem}](../{source.relative_to(DOCS)})")
    for tag in sorted(pages, key=str.lower):
        yield f"- {tag}: {', '.join(pages[tag])}"


def _taken_in(include: re.Match[str]) -> str:
    path = next(p for folder in (Path(), DOCS) if (p := folder / include[1]).is_file())
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".svg":
        said = (re.search(rf"<{tag}[^>]*>(.*?)</{tag}>", text, re.DOTALL) for tag in ("title", "desc"))
        return "Figure: " + " ".join(" ".join(unescape(found[1]).split()) for found in said if found)
    if path.is_relative_to(GENERATED) and "<" in text[:1]:
        return _table(text)
    return plain(text)


def _table(html: str) -> str:
    """Rows of generated HTML as lines of text; what is no table as its text alone."""
    html = re.sub(r"<script.*?</script>|<form.*?</form>|<noscript>.*?</noscript>", "", html, flags=re.DOTALL)
    lines = re.sub(r"</t[hd]>\s*<t[hd]", " | <td", html)
    lines = re.sub(r"</(?:tr|li|p|h\d|dt|dd)>", "\n\n" if "<table" not in html else "\n", lines)
    text = unescape(re.sub(r"<[^>]+>", "", lines))
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _listed(url: str) -> Iterator[str]:
    """The lines of ``llms.txt``: the site's name and purpose, and its pages under the titles of the navigation."""
    config = navigation.config()
    yield f"# {config['site_name']}"
    yield f"\n> {config['site_description']}\n"
    yield "Each page is linked as Markdown. Its blocks, table rows and warnings about releases were executed.\n"
    yield "## Start\n"
    for entry in config["nav"]:
        yield from _entry(entry, url)


def _entry(entry: Any, url: str) -> Iterator[str]:
    if isinstance(entry, str):
        yield f"- {_described(entry, url)}"
        return
    for title, inside in entry.items():
        if isinstance(inside, str):
            yield f"- {_described(inside, url)}"
        else:
            yield f"\n## {title}\n"
            for each in inside:
                yield from _entry(each, url)


def _described(name: str, url: str) -> str:
    title, said = first_words(DOCS / name)
    return f"[{title}]({url}{name}): {said}"


def first_words(source: Path) -> tuple[str, str]:
    """A page's title, and its first sentence."""
    text = plain(source.read_text(encoding="utf-8"))
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    paragraphs = (" ".join(p.split()) for p in text.split("\n\n") if p and not p.startswith(("#", "-", "<", "`")))
    first = re.split(r"(?<=[.:])\s", next(paragraphs, ""), maxsplit=1)[0]
    return title[1] if title else source.stem, _LINK.sub(r"\1", first)
