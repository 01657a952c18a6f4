"""The contract as one page: its pages one after another, headings a level down, links among them made links within."""

from __future__ import annotations

import re
from pathlib import Path

from spec_examples.site import navigation

FOLDER = Path("docs/contract")
WHOLE = FOLDER / "whole.md"

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_LINK = re.compile(r"\]\(([\w-]+)\.md(#[\w-]+)?\)")


def as_one() -> str:
    """Markdown that stands where the contract's pages stand, so that links to other pages hold as they are."""
    return "\n\n".join(_page(path) for path in sources())


def sources() -> list[Path]:
    """The pages it is made of, in the order of the navigation."""
    pages = [Path("docs") / name for name in navigation.section("Contract")]
    return [path for path in pages if path != WHOLE]


def _page(path: Path) -> str:
    lines, fence = [], ""
    names = {each.stem for each in sources()}

    def within(link: re.Match[str]) -> str:
        return f"]({link[2] or f'#page-{link[1]}'})" if link[1] in names else link[0]

    text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[1]
        elif not fence:
            line = _LINK.sub(within, line)
            if line.startswith("# "):
                line = f"#{line} {{#page-{path.stem}}}"
            elif line.startswith(("## ", "### ")):
                line = f"#{line}"
        lines.append(line)
    return "\n".join(lines)
