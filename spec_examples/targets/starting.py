"""Import the vLLM-Omni that a worker was started for, and say in one line why that does not work.

No trace depends on this module: it decides whether a target starts, not what the target does.
"""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.metadata
from pathlib import Path

from spec_examples.targets.errors import TargetUnavailable


def prepare(expect: str | None) -> None:
    """Import the target and check that it is the one that was asked for."""
    gc.disable()  # until a control has run: what an import makes stays, and is looked through for nothing
    try:
        import vllm
        import vllm_omni
    except ImportError as error:
        raise TargetUnavailable(f"vLLM-Omni does not import: {error}") from error
    where = Path(vllm_omni.__file__).resolve().parent.parent
    if expect and where != Path(expect).resolve():
        raise TargetUnavailable(f"vllm_omni was imported from {where}, not from {expect}")
    _check_pairing(str(getattr(vllm_omni, "__version__", "")), str(getattr(vllm, "__version__", "")))
    try:
        importlib.import_module("spec_examples.targets.drive")
    except ImportError as error:
        raise TargetUnavailable(f"the runner does not import: {error}") from error
    # vLLM looks for plugins in every package for each runner that it builds; what is installed stays as it is.
    importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)  # type: ignore[assignment]


def _check_pairing(vllm_omni: str, vllm: str) -> None:
    """VLLM pairs by minor version; a checkout that reports none is taken at its word."""
    ours, theirs = vllm_omni.split(".")[:2], vllm.split(".")[:2]
    if len(ours) == len(theirs) == 2 and all(part.isdigit() for part in ours + theirs) and ours != theirs:
        raise TargetUnavailable(
            f"vLLM {vllm} does not pair with vLLM-Omni {vllm_omni}: install vLLM {'.'.join(ours)}.x beside it"
        )
