"""How much time, memory and disk one target's process may take. The only place that says so."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass

from spec_examples.targets.errors import TargetUnavailable


@dataclass(frozen=True)
class Bounds:
    """What one worker process may take, in seconds and MiB.

    ``start_s`` bounds import, constructor and control. ``scenario_s`` bounds one scenario,
    which takes a small part of that. ``memory_mib`` is private writable memory: a worker holds about 1 GiB.
    ``file_mib`` bounds each file that it writes, its standard error among them.
    """

    start_s: float = 300.0
    scenario_s: float = 60.0
    memory_mib: int = 8_192
    file_mib: int = 256


def limit_this_process(memory_mib: int, file_mib: int) -> None:
    """Let the system refuse what is more: memory with ``MemoryError`` or torch's error, a longer file with ``OSError``.

    Memory is ``RLIMIT_DATA``, not the address space: an accelerator's driver reserves far more of that than it uses.
    """
    for kind, mib in ((resource.RLIMIT_DATA, memory_mib), (resource.RLIMIT_FSIZE, file_mib)):
        _, most = resource.getrlimit(kind)
        wanted = mib << 20
        resource.setrlimit(kind, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


def from_environment() -> Bounds:
    """The bounds; ``PHASE_CONTRACT_START_S``, ``…_SCENARIO_S``, ``…_MEMORY_MIB`` and ``…_FILE_MIB`` may change each.

    Raises ``TargetUnavailable`` for what is not a positive number.
    """
    chosen: dict[str, float] = {}
    for name, kind in (("start_s", float), ("scenario_s", float), ("memory_mib", int), ("file_mib", int)):
        variable = f"PHASE_CONTRACT_{name.upper()}"
        text = os.environ.get(variable)
        if text is None:
            continue
        try:
            chosen[name] = kind(text)
        except ValueError as error:
            raise TargetUnavailable(f"{variable}={text!r}: write a number") from error
        if not chosen[name] > 0:
            raise TargetUnavailable(f"{variable}={text!r}: write a number above zero")
    return Bounds(**chosen)  # type: ignore[arg-type]
