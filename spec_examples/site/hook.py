"""MkDocs' hook: before a build, what pages take in is written; after it, the built pages are finished.

Zensical, which reads the same ``mkdocs.yml``, calls no hooks: there ``python -m spec_examples.gate.site`` comes before
a build, and ``python -m spec_examples.site.finish FOLDER`` after it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spec_examples.gate import site
from spec_examples.site.finish import finish


def on_pre_build(config: Any) -> None:
    """Write the generated files."""
    site.main()


def on_post_build(config: Any) -> None:
    """Finish the pages in the folder that was built."""
    finish(Path(config.site_dir), config.site_url or "")
