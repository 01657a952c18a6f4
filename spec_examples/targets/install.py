"""Unpack a published release beside the environment: its ``vllm_omni`` and paired ``vllm``, verified by hash.

A release needs no environment of its own: a folder with the two packages, put first on ``PYTHONPATH``, is enough.
Compiled parts are left out: they would not fit the torch of the environment, and a talker without attention needs none.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from spec_examples.setting_up import environments
from spec_examples.targets.cache import cache_folder, locked
from spec_examples.targets.catalogue import Release, Vllm
from spec_examples.targets.errors import TargetUnavailable

MANIFEST = "installed.json"
"""Written last: the size of every unpacked file, by relative path."""

DOWNLOAD_TIMEOUT_S = 900
NOTHING_DOWNLOADED = "no network, or the package index does not answer"


def installed_folder(release: Release) -> Path | None:
    """The folder of a release that is unpacked and whole by its sizes, or ``None``; ``install`` reads contents too."""
    folder = _folder(release)
    return folder if _is_whole(folder) else None


def install(release: Release, say: Callable[[str], None] = lambda _: None) -> Path:
    """The folder of ``release``, downloaded and unpacked where it is not there or not whole.

    Two processes may ask at once; one downloads, the other waits. Raises ``TargetUnavailable`` in one line.
    """
    name = f"vLLM-Omni {release.vllm_omni}"
    what = f"{name}: downloading it and vLLM {release.vllm} (about 100 MB, once)"
    return _install(_folder(release), name, release.requirements, lambda: say(what))


def install_vllm(vllm: Vllm, say: Callable[[str], None] = lambda _: None) -> Path:
    """The folder of a vLLM alone, which trees share; as ``install``."""
    name = f"vLLM {vllm.version}"
    what = f"downloading {name} (about 100 MB, once)"
    return _install(_folder_of("vllm", vllm.version, vllm.requirements), name, vllm.requirements, lambda: say(what))


def _install(folder: Path, name: str, requirements: str, say: Callable[[], None]) -> Path:
    if _is_as_published(folder):
        return folder
    with locked(folder):
        if _is_as_published(folder):
            return folder
        say()
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="partial-") as scratch:
            _download(name, requirements, Path(scratch, "wheels"))
            _unpack(Path(scratch, "wheels"), Path(scratch, "release"))
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(Path(scratch, "release"), folder)
    return folder


def _folder(release: Release) -> Path:
    return _folder_of("releases", release.vllm_omni, release.requirements)


def _folder_of(kind: str, version: str, requirements: str) -> Path:
    """One folder for each set of wheels: another wheel, or another vLLM beside it, would be another folder."""
    digest = hashlib.sha256(requirements.encode()).hexdigest()
    return cache_folder() / kind / f"{version}-{digest[:12]}"


def _is_whole(folder: Path) -> bool:
    """Whether every file that was unpacked is there in its size."""
    try:
        sizes = _sizes(folder)
        return bool(sizes) and all(os.stat(folder / name).st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def _is_as_published(folder: Path) -> bool:
    """Whether it is whole, and every file has the content that its wheel's ``RECORD`` lists.

    Reads some 85 MB, which is little beside the import that follows.
    """
    if not _is_whole(folder):
        return False
    try:
        listed = _listed(folder)
        return all(_digest(folder / name) == listed[name] for name in _sizes(folder) if name in listed)
    except (OSError, ValueError, csv.Error):
        return False


def _sizes(folder: Path) -> dict[str, int]:
    sizes: dict[str, int] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return sizes


def _listed(folder: Path) -> dict[str, str]:
    """What the wheels' ``RECORD`` files say of each file but themselves: ``sha256=`` and the digest."""
    rows = (row for file in folder.glob("*.dist-info/RECORD") for row in csv.reader(file.read_text().splitlines()))
    return {row[0]: row[1] for row in rows if len(row) > 1 and row[1]}


def _digest(file: Path) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


def _download(name: str, content: str, wheels: Path) -> None:
    """The wheels that a requirements file names, by pip, which verifies their hashes."""
    wheels.mkdir()
    requirements = wheels.parent / "requirements.txt"
    requirements.write_text(content, encoding="utf-8")
    command = [*environments.pip(), "download", "--no-deps", "--require-hashes", "--quiet"]
    command += ["--no-cache-dir", "--only-binary=:all:", "--dest", str(wheels), "--requirement", str(requirements)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetUnavailable(f"{name} could not be downloaded: {error}") from error
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = errors[-1].removeprefix("ERROR: ") if errors else NOTHING_DOWNLOADED
        if "No matching distribution" in reason or "Could not find a version" in reason:
            reason = NOTHING_DOWNLOADED
        raise TargetUnavailable(f"{name} is not installed and could not be downloaded: {reason}")


def _is_wanted(wheel: str, file: str) -> bool:
    """The packages themselves and what describes them, without compiled parts."""
    top = file.partition("/")[0]
    needed = top in ("vllm", "vllm_omni") or top.endswith(".dist-info") or not wheel.startswith("vllm")
    return needed and not file.endswith(".so")


def _unpack(wheels: Path, folder: Path) -> None:
    sizes: dict[str, int] = {}
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                if not member.is_dir() and _is_wanted(wheel.name, member.filename):
                    archive.extract(member, folder)
                    sizes[member.filename] = member.file_size
    (folder / MANIFEST).write_text(json.dumps(sizes, sort_keys=True), encoding="utf-8")
