"""Markdown pages as examples: what is executed is what is read."""

from .errors import PageError
from .example import Cell, Example, Page
from .page import check_unique, read

__all__ = ["Cell", "Example", "Page", "PageError", "check_unique", "read"]
