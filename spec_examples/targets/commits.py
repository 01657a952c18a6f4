"""Commits of a local repository as trees: what a target needs of one, in the cache. No work tree is touched."""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from spec_examples.targets.cache import cache_folder
from spec_examples.targets.errors import TargetUnavailable

NEEDED = re.compile(r"vllm_omni|requirements.*|docker|Dockerfile.*|pyproject\.toml|setup\.(py|cfg)|PKG-INFO")
"""The entries of a tree that run, or say which vLLM it goes with."""

TIMEOUT_S = 300


@dataclass(frozen=True)
class Commit:
    """A commit whose ``vllm_omni`` was unpacked into ``folder``; ``tag`` is the nearest one, empty where none is."""

    folder: Path
    hash: str
    subject: str
    tag: str


def parse(text: str) -> tuple[str, str] | None:
    """Folder and revision of ``git+FOLDER@REV``; the revision is ``HEAD`` where none is given."""
    if not text.startswith("git+"):
        return None
    place = text.removeprefix("git+").removeprefix("file://")
    folder, at, revision = place.rpartition("@")
    if not at or Path(place).is_dir():
        return place, "HEAD"
    return folder, revision or "HEAD"


def unpack(folder: str, revision: str) -> Commit:
    """What a target needs of a revision of the repository that ``folder`` lies in, or is.

    ``folder`` may be a work tree, a worktree, a bare repository or a folder below one that contains ``vllm_omni``.
    Raises ``TargetUnavailable`` in one line.
    """
    found = find(folder, revision)
    tree, entries = _needed(folder, found)
    if "vllm_omni" not in entries:
        raise TargetUnavailable(f"{folder} contains no vllm_omni/ in {revision}: give the folder that it lies in")
    place = cache_folder() / "trees" / _digest(entries)[:20]
    if not (place / "vllm_omni").is_dir():
        _write(folder, tree, sorted(entries), place)
    subject = git(folder, "show", "--no-patch", "--format=%s", found).strip()
    return Commit(place, found, subject, _nearest_tag(folder, found))


def content(folder: str, commit: str) -> str:
    """A digest of what a target needs of a commit: two commits with the same one are the same target."""
    return _digest(_needed(folder, commit)[1])


def _needed(folder: str, commit: str) -> tuple[str, dict[str, str]]:
    """The tree of ``folder`` in a commit, and git's lines for those of its entries that a target needs, by name."""
    prefix = git(folder, "rev-parse", "--show-prefix").strip() if _has_work_tree(folder) else ""
    tree = f"{commit}:{prefix}".removesuffix("/")
    lines = {line.partition("\t")[2]: line for line in git(folder, "ls-tree", "-z", "--full-tree", tree).split("\0")}
    return tree, {name: line for name, line in lines.items() if NEEDED.fullmatch(name)}


def _digest(entries: dict[str, str]) -> str:
    return hashlib.sha256("\n".join(entries.values()).encode()).hexdigest()


def find(folder: str, revision: str) -> str:
    """The hash of a revision's commit. Raises ``TargetUnavailable`` where there is none."""
    if not Path(folder).is_dir():
        raise TargetUnavailable(f"{folder} is no folder: write git+FOLDER@REV, with a folder of a git repository")
    git(folder, "rev-parse", "--git-dir")
    done = _run(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.returncode:
        raise TargetUnavailable(f"{folder} has no revision {revision!r}: name a branch, a tag or a commit of it")
    return done.stdout.decode().strip()


def is_ancestor(folder: str, old: str, new: str) -> bool:
    """Whether the one commit is among those that the other came from."""
    return not _run(folder, "merge-base", "--is-ancestor", old, new).returncode


def git(folder: str, *arguments: str) -> str:
    """What git prints. Raises ``TargetUnavailable`` with what it says is wrong."""
    done = _run(folder, *arguments)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        if any("not a git repository" in line for line in said):
            raise TargetUnavailable(f"{folder} is not in a git repository")
        reason = said[0].removeprefix("fatal: ") if said else f"status {done.returncode}"
        raise TargetUnavailable(f"git {arguments[0]} in {folder}: {reason}")
    return done.stdout.decode(errors="replace")


def _run(folder: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    ours = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
    command = ["git", "-C", folder, *arguments]
    try:
        return subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, env=ours, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise TargetUnavailable("no git is installed here, which reads commits") from error
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:  # a null byte in what was typed, for one
        raise TargetUnavailable(f"git {arguments[0]} in {folder}: {error}") from error


def _has_work_tree(folder: str) -> bool:
    return git(folder, "rev-parse", "--is-inside-work-tree").strip() == "true"


def _nearest_tag(folder: str, commit: str) -> str:
    done = _run(folder, "describe", "--tags", "--abbrev=0", commit)
    return done.stdout.decode().strip() if not done.returncode else ""


def _write(folder: str, tree: str, names: list[str], place: Path) -> None:
    """Unpack entries of a tree, whole or not at all."""
    # From the repository itself: git refuses to archive from a folder below it that the tree lacks.
    repository = git(folder, "rev-parse", "--absolute-git-dir").strip()
    done = _run(folder, "--git-dir", repository, "--work-tree", folder, "archive", "--format=tar", tree, *names)
    if done.returncode:
        raise TargetUnavailable(
            f"git archive in {folder}: {done.stderr.decode(errors='replace').strip().splitlines()[0]}"
        )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix="partial-") as scratch:
            with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
                archive.extractall(Path(scratch, "tree"), filter="data")
            if not place.exists():
                os.rename(Path(scratch, "tree"), place)
    except (OSError, tarfile.TarError) as error:
        if not (place / "vllm_omni").is_dir():  # another process was faster
            raise TargetUnavailable(f"a commit of {folder} could not be unpacked in {place.parent}: {error}") from error
