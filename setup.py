"""Puts the pages and the pins of a runner's environment into the package: a wheel has no repository around it.

All else is in ``pyproject.toml``.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class WithPages(build_py):
    """Copies what ``spec_examples.pages.root`` has to hold; an editable installation reads the clone's own files."""

    def run(self) -> None:
        """Build the package, then lay the pages and the pins beside its modules."""
        super().run()
        if self.editable_mode:
            return
        shipped = Path(self.build_lib, "spec_examples", "shipped")
        shutil.rmtree(shipped, ignore_errors=True)
        shutil.copytree(ROOT / "docs", shipped / "docs", ignore=shutil.ignore_patterns("__pycache__"))
        (shipped / "requirements").mkdir()
        for name in ("mkdocs.yml", "CHANGELOG.md", "requirements/torch.txt", "requirements/runner.txt"):
            shutil.copy2(ROOT / name, shipped / name)


setup(cmdclass={"build_py": WithPages})
