"""Hands the examples of a page to Sybil."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import sybil
from sybil import Document, Region
from sybil.typing import Evaluator

from .errors import PageError
from .example import Page
from .page import read


def examples_parser(evaluator: Evaluator) -> Callable[[Document], Iterable[Region]]:
    """A Sybil parser: one region for each example of a page, the Example as ``parsed``, run by ``evaluator``.

    Exempt examples are regions too; ``evaluator`` sees their ``exempt`` and reports it. A page with a PageError is a
    single region, at the line of the error, that fails with the one line that the error says.
    """

    def parse(document: Document) -> Iterable[Region]:
        try:
            page = read(Path(document.path), document.text)
        except PageError as error:
            return [_failing(document, error)]
        return regions(page, evaluator)

    return parse


def regions(page: Page, evaluator: Evaluator) -> list[Region]:
    """The same of a page that was read already."""
    return [Region(example.start, example.end, example, evaluator) for example in page.examples]


def _failing(document: Document, error: PageError) -> Region:
    lines = document.text.split("\n")
    at = min(sum(len(line) + 1 for line in lines[: error.line - 1]), len(document.text))

    def fail(example: sybil.Example) -> str:
        # Sybil shows what an evaluator returns, without a traceback.
        return str(error)

    return Region(at, at, error, fail)


class PageDocument(Document):
    """A document whose bytes may be anything: one that is not UTF-8 fails as a page, not while it is collected.

    Use it as ``Sybil(..., document_types={".md": PageDocument})``.
    """

    @classmethod
    def parse(cls, path: str, *parsers: Callable[[Document], Iterable[Region]], encoding: str = "utf-8") -> Document:
        """The document at ``path``; bytes that are not ``encoding`` become U+FFFD, which a page may not have."""
        document = cls(Path(path).read_text(encoding, errors="replace"), path)
        for parser in parsers:
            for region in parser(document):
                document.add(region)
        return document
