"""The runner's two guards, taken away one at a time: a change of the source of ``_preprocess`` in memory.

``WithoutScalarGuard`` and ``WithoutBatchedGuard`` are the AR runner that is installed, with ``and not is_prefill`` gone
from one of its two branches. They are runners like any other: ``--runner spec_examples.real_model.guards:…``.

The two branches read so in vLLM-Omni 0.30.0. Where a release has them otherwise, asking for the class raises
``GuardNotFound``.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from types import FunctionType
from typing import Any

BRANCHES = {
    "WithoutScalarGuard": r"(if self\.has_talker_mtp\b[^\n]*?) and not is_prefill:",
    "WithoutBatchedGuard": r"(if callable\(batch_decode_preprocess\)[^\n]*?) and not is_prefill:",
}
"""The line of ``OmniGPUModelRunner._preprocess`` that each class changes."""


class GuardNotFound(RuntimeError):
    """The guard does not stand in the source as it is known here; the message names the branch."""


def without_guard(runner: type, branch: str) -> type:
    """A subclass of ``runner`` in whose ``_preprocess`` one of ``BRANCHES`` no longer asks for the phase."""
    method: Any = runner._preprocess  # type: ignore[attr-defined]
    source, found = re.subn(BRANCHES[branch], r"\1:", textwrap.dedent(inspect.getsource(method)))
    if found != 1:
        raise GuardNotFound(f"{branch}: {found} lines of {runner.__name__}._preprocess match, not 1")
    namespace: dict[str, Any] = {}
    module = vars(sys.modules[method.__module__])
    exec(compile(source, f"<{branch}>", "exec"), dict(module), namespace)
    changed: FunctionType = namespace["_preprocess"]
    return type(branch, (runner,), {"_preprocess": changed, "__module__": __name__})


def __getattr__(name: str) -> type:
    if name not in BRANCHES:
        raise AttributeError(name)
    from vllm_omni.worker.gpu_ar_model_runner import GPUARModelRunner

    return globals().setdefault(name, without_guard(GPUARModelRunner, name))
