"""Reads a page: the examples on it, each proven to be what a reader gets."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from spec_examples import proven

from . import blocks, rendered, site
from .errors import PageError
from .example import Page
from .finding import find
from .includes import generated, includes, only_changelog, without_includes
from .source import Source, read_text


def read(path: Path, text: str | None = None) -> Page:
    """The page at ``path``, or ``text`` as if it stood there.

    Raises PageError, and nothing else, where the page is wrong: a fence without end, indented code, a row with the
    wrong number of cells, a doubled or missing header, an exemption without a reason or without anything to exempt, a
    doubled clause anchor, a snippet inside a block, a page with no example and nothing recorded, and every place at
    which the site would show something else than what is run. Lines and columns of errors and examples are 1-based.
    """
    source = Source(path, read_text(path) if text is None else text)
    try:
        tokens = blocks.parse(source.body)
    except RecursionError:
        raise PageError(path, 1, "nested too deeply to be read: flatten its lists and quotes") from None
    except blocks.TooDense as error:
        raise PageError(path, error.line, str(error)) from None
    taken_in = includes(source, tokens)
    examples, sections = find(source, tokens)
    changelog = only_changelog(tokens, taken_in)
    proof = _proof(source)
    if proof is None or not proof.exists():
        rendered.check(source, without_includes(source, taken_in), examples, sections)
        if proof is not None:
            proven.keep(proof)
    if not examples and not changelog and not generated(taken_in):
        raise PageError(path, 1, "a page with no example: show what it says as a block, a table or an admonition")
    return Page(path, source.text, examples, sections.lines, taken_in, changelog)


RENDERERS = ("Markdown", "pymdown-extensions", "Pygments", "markdown-it-py", "mdit-py-plugins", "PyYAML")
"""Packages on which it depends what a page shows."""


def _proof(source: Source) -> Path | None:
    """Where it is kept that this page shows what is executed; ``None`` where extensions of others take part."""
    if not site.renders_with(RENDERERS, source.path):
        return None
    config = site.config_of(source.path)
    parts = (source.text.encode("utf-8", "surrogatepass"), config.read_bytes() if config else b"")
    return proven.key("pages", ("markdown/*.py",), RENDERERS, parts)


def check_unique(pages: Iterable[Page]) -> None:
    """Raises PageError where a clause is anchored on a second page."""
    seen: dict[str, tuple[Path, int]] = {}
    for page in pages:
        for name, line in page.clauses.items():
            if name in seen:
                path, first = seen[name]
                message = f"clause {name} is already anchored at {path.as_posix()}:{first}: anchor it once"
                raise PageError(page.path, line, message)
            seen[name] = page.path, line
