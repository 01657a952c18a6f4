"""Pages are tests: ``pytest docs`` executes every block, row and admonition on the installed runner."""

from pathlib import Path

from spec_examples.gate.pages_as_tests import collector, pytest_sessionfinish

__all__ = ["pytest_collect_file", "pytest_sessionfinish"]

pytest_collect_file = collector(Path(__file__).parent / "docs")
