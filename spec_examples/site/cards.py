"""Social cards: the picture that a chat or a forum shows of a link to a page, drawn here with the font of Pillow.

A card is linked by its whole address, so there are none where that of the site is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

SIZE = WIDTH, HEIGHT = 1200, 630
"""Pixels, as the Open Graph's readers like them."""

MARGIN = 80
GROUND, TEXT, QUIET, EDGE = "#263238", "#ffffff", "#b0bec5", "#4db6ac"


def write(file: Path, title: str, said: str, site_name: str) -> None:
    """Draw the card of one page: its title, what it says first, and the site's name."""
    card = Image.new("RGB", SIZE, GROUND)
    draw = ImageDraw.Draw(card)
    draw.rectangle((0, 0, 24, HEIGHT), fill=EDGE)
    y = MARGIN
    for text, size, colour, most in ((site_name, 36, QUIET, 1), (title, 76, TEXT, 2), (said, 38, QUIET, 4)):
        font = ImageFont.load_default(size)
        for line in list(_lines(text, font, WIDTH - 2 * MARGIN))[:most]:
            draw.text((MARGIN, y), line, font=font, fill=colour)
            y += round(size * 1.25)
        y += size // 2 + 12
    file.parent.mkdir(parents=True, exist_ok=True)
    card.quantize(32, Image.Quantize.FASTOCTREE).save(file)


def _lines(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: int) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and font.getlength(longer) > width:
            yield line
            longer = word
        line = longer
    yield line


def tagged(text: str, address: str, card: str, title: str, said: str) -> str:
    """A built page whose head names its card; ``address`` and ``card`` are whole addresses."""
    named = {
        "og:type": "website",
        "og:title": title,
        "og:description": said,
        "og:url": address,
        "og:image": card,
        "og:image:type": "image/png",
        "og:image:width": str(WIDTH),
        "og:image:height": str(HEIGHT),
        "og:image:alt": title,
        "twitter:card": "summary_large_image",
    }
    tags = "".join(f'<meta property="{name}" content="{escape(value)}">\n' for name, value in named.items())
    return text.replace("</head>", f"{tags}</head>", 1)
