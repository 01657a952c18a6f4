"""Compiled operations that a release calls although its compiled parts were left out. Inside a target's process only.

None of them has a part in what is judged here: they stand behind the boundary between runner and model.
"""

from __future__ import annotations

import torch


def register() -> None:
    """Give each operation that is missing a plain PyTorch form; one that is there stays."""
    if not hasattr(torch.ops._C, "greedy_argmax"):
        fragment = torch.library.Library("_C", "FRAGMENT")
        fragment.define("greedy_argmax(Tensor logits) -> Tensor")
        fragment.impl("greedy_argmax", _greedy_argmax, "CPU")
        _KEPT.append(fragment)


def _greedy_argmax(logits: torch.Tensor) -> torch.Tensor:
    """VLLM's greedy sampler on a CPU, since vLLM 0.32.0: the largest logit of each row, int64 ``[rows]``."""
    return logits.argmax(dim=-1).view(-1)


_KEPT: list[torch.library.Library] = []
"""An operation lives as long as its library object."""
