"""The browser that the site is tested in: Debian's Chromium, or one that is there under another name.

``python3 tests/browser/chromium.py`` brings it where that is possible (root, on a system with apt), and otherwise says
in one line how to get it and what is not tested without. It always ends with 0: the other tests need no browser.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

FLAGS = (
    "--headless",
    "--no-sandbox",  # a container's root has no other way
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

MISSING = (
    "no Chromium here, so the site was tested in no browser (navigation, search, explorer, printing, accessibility): "
    "`apt-get install chromium` as root, or name one with CHROMIUM=/path/to/chromium"
)


def find() -> str | None:
    """The browser's path: what ``CHROMIUM`` names, else the first that is on the path."""
    return os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)


def bring() -> str | None:
    """Install Debian's, where root may. What apt says goes to standard error, and only where it fails."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    sys.stderr.write("browser tests: installing Chromium with apt-get\n")
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"]):
        done = subprocess.run(["apt-get", "--quiet", *command], env=quietly, capture_output=True, text=True)
        if done.returncode:
            sys.stderr.write(done.stderr[-600:])
    return find()


if __name__ == "__main__":
    if not (find() or bring()):
        sys.stderr.write(f"browser tests: {MISSING}\n")
