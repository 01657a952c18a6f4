"""Show a run or a difference in a few plain lines, for the person who has to mend it."""

from __future__ import annotations

import difflib

from spec_examples.contract.origins import describe
from spec_examples.trace import PHASE_KEYS, Trace


def show_step(trace: Trace, number: int) -> str:
    """Step ``number`` (from 1) of a trace: each row, its hook, its fields, and what reached ``forward``."""
    if not 1 <= number <= len(trace.steps):
        return ""
    step = trace.steps[number - 1]
    origins = describe(step)
    lines = [f"    step {number}:"]
    for row in step.rows:
        found = step.hook_of(row.request)
        fields = {k: found[1].fields[k] for k in PHASE_KEYS if k in found[1].fields} if found else {}
        values = " ".join(f"{k.removeprefix('_omni_')}={v.value}" for k, v in fields.items()) or "no fields"
        reached = ", ".join(str(o) for o in origins[row.start : row.start + row.span]) or "nothing"
        lines.append(
            f"      {row.request} (prompt {row.prompt_len}, computed {row.computed}, span {row.span})"
            f" → {found[0].hook if found else 'no hook'} [{values}] → forward: {reached}"
        )
    if step.mtp:
        lines.append(f"      MTP calls of {', '.join(str(len(call)) for call in step.mtp)} rows")
    return "\n".join(lines)


def difference(expected: str, observed: str) -> tuple[int, str]:
    """The 0-based line at which two texts part, and both as a diff: ``-`` the page, ``+`` what was observed."""
    ours, theirs = expected.splitlines(), observed.splitlines()
    pairs = zip(ours, theirs, strict=False)
    first = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs)))
    diff = difflib.unified_diff(ours, theirs, "page", "observed", lineterm="", n=1)
    return min(first, max(len(ours) - 1, 0)), "\n".join(f"  {line}" for line in diff)
