"""A search for schedules that break the contract. Hypothesis draws what is asked; the real scheduler makes the steps.

``strategies`` says what is drawn, ``hunt`` runs and judges it, ``reached`` counts what came up. The longer search is
``python -m spec_examples.search``.
"""

from spec_examples.search.hunt import FIXED, Broken, Found, Profile, hunt

__all__ = ["FIXED", "Broken", "Found", "Profile", "hunt"]
