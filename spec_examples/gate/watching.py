"""Check pages again as they change, with the runner kept imported."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from spec_examples.execution.result import Result
from spec_examples.gate.check import PageReport, check_again
from spec_examples.markdown import site
from spec_examples.scenario import CONTROL
from spec_examples.targets import Session, Target, TargetError

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

SETTLE_S = 0.03
"""An editor writes a file in several moves, which are one change."""


@dataclass(frozen=True)
class Rechecked:
    """A page that was checked again: the report, and which examples were touched.

    ``touched`` are those that are new, that were edited, or of which something else came.
    """

    page: PageReport
    touched: tuple[Result, ...] = field(default=())

    @property
    def seconds(self) -> float:
        """From the notice of the change to the verdict."""
        return self.page.seconds


def touched(before: Iterable[Result], after: Iterable[Result]) -> tuple[Result, ...]:
    """The results that say something else than before, wherever on the page they stand now."""
    known = {_said(result) for result in before}
    return tuple(result for result in after if _said(result) not in known)


def _said(result: Result) -> tuple[object, ...]:
    return result.kind, result.outcome, result.clauses, result.message, result.detail, result.text


def changes(folders: Iterable[Path], suffixes: tuple[str, ...]) -> Iterator[set[Path]]:
    """The files that are changed below ``folders`` from now on, as soon as nothing more comes. Never ends."""
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers import Observer

    seen: queue.Queue[Path] = queue.Queue()

    class Note(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            if event.event_type in ("modified", "created", "moved", "deleted") and not event.is_directory:
                for name in (event.src_path, event.dest_path):
                    path = Path(name.decode() if isinstance(name, bytes) else name)
                    if path.suffix in suffixes and not path.name.startswith("."):
                        seen.put(path.resolve())

    observer = Observer()
    for folder in {folder.resolve() for folder in folders}:
        observer.schedule(Note(), str(folder), recursive=True)
    observer.start()
    return _settled(seen, observer)


def _settled(seen: queue.Queue[Path], observer: BaseObserver) -> Iterator[set[Path]]:
    try:
        while True:
            found = {seen.get()}
            while True:
                try:
                    found.add(seen.get(timeout=SETTLE_S))
                except queue.Empty:
                    break
            yield found
    finally:
        observer.stop()
        observer.join()


def make_renderer_ready(pages: Iterable[Path]) -> None:
    """Import and build what renders ``pages``: a check takes pages that are proven as they are, and renders none."""
    for page in {site.config_of(page): page for page in pages}.values():
        with contextlib.suppress(Exception):  # extensions are other people's code, and a check says what they raise
            site.builder(page).convert(page.read_text(encoding="utf-8"))
            site.builder(page).reset()


def make_copy_ready(session: Session, target: Target) -> None:
    """Have a copy of the runner's process that has run something, before an edit asks for it."""
    with contextlib.suppress(TargetError):  # whoever asks is told
        if not target.is_release:
            session._worker(target).run(CONTROL, target.asked_as)


def recheck(path: Path, before: PageReport, session: Session, target: Target) -> Rechecked:
    """One page, in fresh processes. Raises ``TargetUnavailable``."""
    started = time.monotonic()
    page = check_again(path, session, target)
    page.seconds = time.monotonic() - started
    return Rechecked(page, touched(before.results, page.results))
