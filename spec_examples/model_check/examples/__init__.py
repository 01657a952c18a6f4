"""Small models that keep every promise to the runner (``right``), and models that break one each (``wrong``)."""
