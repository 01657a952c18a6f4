"""How the site is built and served, and what a browser may see go wrong: shared by the fixtures and the tests."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "some/where"  # the site works below any address
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 360, "height": 740}


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, *_: object) -> None:
        pass


@dataclass
class Site:
    """A built site: its folder, and the address that it is served at."""

    folder: Path
    url: str

    @property
    def files(self) -> list[Path]:
        """Every page as built."""
        return sorted(self.folder.rglob("*.html"))

    @property
    def pages(self) -> list[str]:
        """The address of every page below ``url``, the page for what is not there excepted."""
        found = (file.relative_to(self.folder).as_posix() for file in self.files)
        return [name.removesuffix("index.html") for name in found if name.endswith("index.html")]


@dataclass
class Seen:
    """What went wrong in the browser: errors on its console, and requests that failed or went to another host."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


def build(folder: Path, url: str = "", builder: str = "mkdocs") -> None:
    """Build the site as ``make site`` does; a warning is an error."""
    environment = {**os.environ, "SITE_URL": url, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr


def verify() -> subprocess.CompletedProcess[str]:
    """Execute the pages for their marks, unless that was done; a test says where they are red."""
    command = [sys.executable, "-m", "spec_examples.site.verified"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
