"""The phase explorer: how each release treats a row, as recorded from its runner over a grid of rows.

``grid`` says what is asked, ``recording`` asks it, ``table`` keeps the answers; the site's page reads that table.
"""

from spec_examples.explorer.lookup import recorded

__all__ = ["recorded"]
