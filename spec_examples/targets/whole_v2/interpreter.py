"""Which Python can run the whole Model Runner V2: the one that runs this, or that of ``make e2e``. Imports no vLLM."""

from __future__ import annotations

import importlib.util
import sys
from importlib import metadata
from pathlib import Path

from spec_examples.targets.errors import TargetUnavailable

E2E = Path(__file__).resolve().parents[3] / ".venv-e2e" / "bin" / "python"


def has_triton() -> bool:
    """Whether this environment does."""
    return importlib.util.find_spec("triton") is not None


def with_triton() -> str:
    """The interpreter's path. Raises ``TargetUnavailable`` where neither environment has Triton."""
    if has_triton():
        return sys.executable
    if E2E.exists():
        return str(E2E)
    raise TargetUnavailable(
        "the whole Model Runner V2 needs Triton, which this environment lacks: `make e2e` sets up one that has it"
    )


def underneath() -> tuple[str, str]:
    """Which environment that is, and its torch; two empty strings where there is none."""
    try:
        python = with_triton()
    except TargetUnavailable:
        return "", ""
    return _site_packages(python).parent.name, torch_of(python)


def torch_of(python: str) -> str:
    """Return the version of the torch in the environment of that Python, empty where it has none."""
    torch = next(iter(metadata.distributions(name="torch", path=[str(_site_packages(python))])), None)
    return torch.version if torch else ""


def _site_packages(python: str) -> Path:
    root = Path(python).parent.parent
    return next(root.glob("lib/python3.*/site-packages"), root)
