"""The contract as one page: its pages one after another, headings a level down, links among them made links within."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path("docs/contract")
PAGES = ("scope", "fields", "hooks", "routing", "compatibility", "verification", "evolution")
"""In the order of the navigation."""

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_LINK = re.compile(rf"\]\(({'|'.join(PAGES)})\.md(#[\w-]+)?\)")


def as_one() -> str:
    """Markdown that stands where the contract's pages stand, so that links to other pages hold as they are."""
    return "\n\n".join(_page(name) for name in PAGES)


def sources() -> list[Path]:
    """The pages it is made of, in order."""
    return [FOLDER / f"{name}.md" for name in PAGES]


def _page(name: str) -> str:
    lines, fence = [], ""
    text = re.sub(r"\A---\n.*?\n---\n", "", (FOLDER / f"{name}.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[1]
        elif not fence:
            line = _LINK.sub(lambda link: f"]({link[2] or f'#page-{link[1]}'})", line)
            if line.startswith("# "):
                line = f"#{line} {{#page-{name}}}"
            elif line.startswith(("## ", "### ")):
                line = f"#{line}"
        lines.append(line)
    return "\n".join(lines)
