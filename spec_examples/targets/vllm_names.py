"""The names that each vLLM has, by module: enough to tell which vLLM a tree goes with, without having any of them.

``vllm_names.json.gz`` is generated. ``python -m spec_examples.targets.vllm_names VERSION…`` adds versions of the
catalogue to it, which are downloaded; ``VERSION=FOLDER`` reads a folder that contains a ``vllm/`` instead. With
``--anew`` it has these alone.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from packaging.version import Version

from spec_examples.targets import catalogue, inherited, install
from spec_examples.targets.errors import DamagedFile, TargetUnavailable
from spec_examples.targets.reached import defined, is_open_ended

INDEX = Path(__file__).with_name("vllm_names.json.gz")

LEFT_OUT = (
    "vllm.benchmarks",
    "vllm.distributed.kv_transfer",
    "vllm.entrypoints.cli",
    "vllm.lora",
    "vllm.model_executor.kernels",
    "vllm.model_executor.layers",
    "vllm.model_executor.models",
    "vllm.third_party",
    "vllm.tool_parsers",
    "vllm.transformers_utils.configs",
    "vllm.vllm_flash_attn",
)
"""Packages of which only the modules are listed: thousands of names, which tell nothing that others do not."""

CALLS = ":calls"
"""Stands for a module: its names are the features of methods that runners and schedulers inherit, in ``inherited``."""

ANY = "*"
"""Stands for every name, in a module that may have any."""

Names = dict[str, frozenset[str]]
"""Names by module."""


@dataclass(frozen=True)
class Index:
    """``versions`` of vLLM, oldest first; in ``modules`` each name of a module with a bit for each version."""

    versions: tuple[str, ...]
    modules: dict[str, dict[str, int]]

    def allows(self, version: str, feature: str) -> bool:
        """Whether that vLLM has what a call needs. A method that none of them has says nothing of any."""
        features, bit = self.modules.get(CALLS, {}), 1 << self.versions.index(version)
        if not features.get(inherited.method_of(feature), 0):
            return True
        return bool((features.get(feature, 0) | features.get(inherited.any_of(feature), 0)) & bit)

    def has(self, version: str, module: str, name: str) -> bool:
        """Whether that vLLM has a module and, unless ``name`` is empty, the name in it. A submodule is a name."""
        bit = 1 << self.versions.index(version)
        names = self.modules.get(module, {})
        if not names.get("", 0) & bit:
            return False
        if not name or name == "*" or (names.get(name, 0) | names.get(ANY, 0)) & bit:
            return True
        return bool(self.modules.get(f"{module}.{name}", {}).get("", 0) & bit)


@cache
def index() -> Index:
    """The one that comes with this package. Raises ``DamagedFile``."""
    try:
        content = resources.files("spec_examples.targets").joinpath(INDEX.name).read_bytes()
        read = json.loads(gzip.decompress(content))
        modules = {module: {n: int(bits, 16) for n, bits in names.items()} for module, names in read["modules"].items()}
        return Index(tuple(read["versions"]), modules)
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(f"spec_examples/targets/{INDEX.name}", error) from error


def read_source(folder: Path) -> Names:
    """The names of each module of the ``vllm`` in ``folder``; the empty name says that the module is there."""
    found: Names = {}
    for path in sorted((folder / "vllm").rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[module] = frozenset({"", *_names(module, path)})
    found[CALLS] = frozenset(_features(folder))
    return found


def _features(folder: Path) -> Iterator[str]:
    for place in inherited.WHERE:
        for path in sorted((folder / place).rglob("*.py")):
            with contextlib.suppress(SyntaxError):
                yield from inherited.provided(ast.parse(path.read_bytes()))


def _names(module: str, path: Path) -> Iterable[str]:
    if module.startswith(LEFT_OUT):
        return (ANY,)
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:
        return (ANY,)
    if is_open_ended(tree):
        return (*defined(tree), ANY)
    return [name for name in defined(tree) if not name.startswith("__")]


def build(sources: dict[str, Names]) -> Index:
    """One index of several vLLMs by version."""
    versions = tuple(sorted(sources, key=Version))
    modules: dict[str, dict[str, int]] = {}
    for number, version in enumerate(versions):
        for module, names in sources[version].items():
            for name in names:
                bits = modules.setdefault(module, {})
                bits[name] = bits.get(name, 0) | 1 << number
    return Index(versions, modules)


def write(made: Index, path: Path = INDEX) -> None:
    """Write an index the same way each time, whatever the clock says."""
    modules = {
        module: {name: f"{bits:x}" for name, bits in sorted(names.items())} for module, names in made.modules.items()
    }
    text = json.dumps({"versions": made.versions, "modules": dict(sorted(modules.items()))}, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def sources(made: Index) -> dict[str, Names]:
    """What an index was built of."""
    return {
        version: {
            module: frozenset(name for name, bits in names.items() if bits >> number & 1)
            for module, names in made.modules.items()
            if any(bits >> number & 1 for bits in names.values())
        }
        for number, version in enumerate(made.versions)
    }


def main(arguments: list[str] | None = None) -> int:
    """Add to the index, or rewrite it."""
    parser = argparse.ArgumentParser(prog="python -m spec_examples.targets.vllm_names", description=__doc__)
    parser.add_argument("sources", nargs="+", metavar="VERSION[=FOLDER]", help="a vLLM, and where it is unpacked")
    parser.add_argument("--anew", action="store_true", help="leave out what the index has")
    options = parser.parse_args(arguments)
    read = {} if options.anew else sources(index())
    try:
        for version, _, folder in (text.partition("=") for text in options.sources):
            read[version] = read_source(Path(folder) if folder else _published(version))
    except TargetUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return 2
    made = build(read)
    write(made)
    kib = INDEX.stat().st_size >> 10
    sys.stdout.write(f"{len(made.modules)} modules of {len(made.versions)} versions, {kib} KiB\n")
    return 0


def _published(version: str) -> Path:
    known = catalogue.vllm(version)
    if known is None:
        raise TargetUnavailable(f"vLLM {version} is in no catalogue: add it to releases.toml or vllms.toml")
    return install.install_vllm(known)


if __name__ == "__main__":
    sys.exit(main())
