"""What the newest release keeps, runner by runner, as recorded: for the first page and for badges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.version import Version

from spec_examples.conformance.record import Record
from spec_examples.contract.clauses import CLAUSES


@dataclass(frozen=True)
class Standing:
    """One runner that was run: how many promises it keeps, and the identifiers of those that it breaks."""

    record: Record
    is_stable: bool
    kept: int
    broken: tuple[str, ...]

    @property
    def state(self) -> str:
        """``passed`` or ``failed``."""
        return "failed" if self.broken else "passed"


def newest(records: Iterable[Record]) -> Iterator[Standing]:
    """The runners of the newest stable release, then those of a newer candidate, in the order of the records."""
    ran = [record for record in records if record.how == "run"]
    versions = {record.vllm_omni for record in ran}
    stable = {version for version in versions if not Version(version).is_prerelease}
    if not stable:
        return
    newest_stable = max(stable, key=Version)
    for version in dict.fromkeys((newest_stable, max(versions, key=Version))):
        for record in ran:
            if record.vllm_omni == version:
                yield _standing(record, version == newest_stable)


def _standing(record: Record, is_stable: bool) -> Standing:
    promises = [cell for cell in record.cells.values() if CLAUSES[cell.clause].kind == "promise"]
    kept = sum(cell.verdict == "passed" for cell in promises)
    return Standing(record, is_stable, kept, tuple(cell.clause for cell in promises if cell.verdict == "failed"))
