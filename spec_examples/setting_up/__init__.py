"""Make environments: what pip installs into them, and the one that a runner under test gets from ``--setup``."""
