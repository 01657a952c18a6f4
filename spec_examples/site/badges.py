"""Badges: what each runner of the newest stable release keeps, as a picture and in the form of shields.io's endpoint.

Both are files of the site, drawn here; whoever shows one asks nobody else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from spec_examples.conformance.record import Record
from spec_examples.site.newest import Standing, newest

COLOURS = {"passed": "#1b6e3c", "failed": "#a52a20"}
"""Behind the message, on which white has a contrast of 6 and more."""

LABEL_COLOUR = "#454545"
PIXELS_A_CHARACTER = 6.6
"""What a character of 11 px takes; the text is fitted to it, whatever font there is."""


@dataclass(frozen=True)
class Badge:
    """``label`` stands on the left, ``message`` on the right; ``state`` is ``passed`` or ``failed``."""

    label: str
    message: str
    state: str


def badge(standing: Standing, runner: str) -> Badge:
    """The badge of one runner, which is called ``runner``."""
    broken = len(standing.broken)
    said = f"breaks {broken} promise{'s' * (broken > 1)}" if broken else "kept"
    return Badge(f"phase contract, {runner}", f"{standing.record.vllm_omni}: {said}", standing.state)


def as_json(badge: Badge) -> str:
    """An answer of shields.io's endpoint, version 1 of its schema."""
    answer = {"schemaVersion": 1, "label": badge.label, "message": badge.message, "color": COLOURS[badge.state][1:]}
    return json.dumps({**answer, "isError": badge.state == "failed"}) + "\n"


def as_svg(badge: Badge) -> str:
    """A picture, 20 px high, that says the same to the ear."""
    left, right = (round(PIXELS_A_CHARACTER * len(text)) for text in (badge.label, badge.message))
    said = escape(f"{badge.label}: {badge.message}")
    middle, width = left + 12, left + right + 24
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{said}">',
            f"<title>{said}</title>",
            '<clipPath id="corners"><rect width="100%" height="20" rx="3"/></clipPath>',
            '<g clip-path="url(#corners)">',
            f'<rect width="{middle}" height="20" fill="{LABEL_COLOUR}"/>',
            f'<rect x="{middle}" width="{right + 12}" height="20" fill="{COLOURS[badge.state]}"/>',
            "</g>",
            '<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">',
            f'<text x="6" y="14" textLength="{left}">{escape(badge.label)}</text>',
            f'<text x="{middle + 6}" y="14" textLength="{right}">{escape(badge.message)}</text>',
            "</g></svg>\n",
        ]
    )


def write(folder: Path, records: Iterable[Record], names: dict[str, str]) -> None:
    """``ar.svg``, ``ar.json`` and so on, for each runner; ``names`` are what runners are called."""
    folder.mkdir(parents=True, exist_ok=True)
    for standing in newest(records):
        if standing.is_stable:
            runner = standing.record.runner
            made = badge(standing, names.get(runner, runner))
            (folder / f"{runner}.svg").write_text(as_svg(made), encoding="utf-8")
            (folder / f"{runner}.json").write_text(as_json(made), encoding="utf-8")
