"""Execute an admonition: its blocks, and, where its title is a range of releases, on every release at hand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from spec_examples.execution.result import Result
from spec_examples.markdown import Example, Page
from spec_examples.targets import Target, TargetUnavailable, resolve
from spec_examples.targets.catalogue import release, sampled
from spec_examples.targets.target import INSTALLED, installed_version

if TYPE_CHECKING:
    from spec_examples.execution.page import PageExecution

RANGE = re.compile(r"vLLM-Omni (?P<version>\S+) and (?P<side>earlier|later)")
"""A title that claims something about releases."""


def is_claim(page: Page, line: int) -> bool:
    """Whether the admonition at ``line`` of a page claims a range of releases."""
    return any(e.kind == "admonition" and e.line == line and RANGE.fullmatch(e.title) for e in page.examples)


def evaluate(page: PageExecution, admonition: Example) -> dict[str, Result]:
    """The results of an admonition and of every example inside it, by id."""
    found = RANGE.fullmatch(admonition.title)
    inner = page.page.children(admonition)
    if not inner:
        return {admonition.id: _error(page, admonition, "nothing inside this admonition can be executed; show it")}
    if not found:
        return _unconditional(page, admonition, inner)
    try:
        bound = Version(found["version"])
    except InvalidVersion:
        return {admonition.id: _error(page, admonition, f"{found['version']!r} in the title is not a version")}
    return _over_releases(page, admonition, inner, bound, found["side"])


def releases_at_hand() -> tuple[tuple[Version, Target], ...]:
    """Return the catalogue's sample of releases and the installed one if it is published, oldest first.

    An installed checkout may report any version; a claim about releases says nothing of it.
    """
    found = {Version(each.vllm_omni): resolve(each.vllm_omni) for each in sampled()}
    installed = installed_version()
    if installed and release(installed):
        found[Version(installed)] = resolve(INSTALLED)
    return tuple(sorted(found.items(), key=lambda item: item[0]))


def _unconditional(page: PageExecution, admonition: Example, inner: tuple[Example, ...]) -> dict[str, Result]:
    """One after the other, and each kept at once: an output is compared with what the block before it printed."""
    for example in inner:
        if example.id not in page.results:
            page.results[example.id] = page._result(example)
    wrong = [r for e in inner if (r := page.results[e.id]).outcome in ("failed", "error")]
    message = f"the example at line {wrong[0].line} does not hold" if wrong else ""
    outcome = wrong[0].outcome if wrong else "passed"
    return {admonition.id: page._as_result(admonition, outcome, message)}


def _over_releases(
    page: PageExecution, admonition: Example, inner: tuple[Example, ...], bound: Version, side: str
) -> dict[str, Result]:
    """Blocks pass on every release inside the range, and every assertion fails on every release outside."""
    results: dict[str, Result] = {}
    wrong: Result | None = None
    checked = page.context.target
    at_hand = releases_at_hand()
    page.context.session.expect(target for _, target in at_hand)
    sides = [version <= bound if side == "earlier" else version >= bound for version, _ in at_hand]
    try:
        for (version, target), inside in zip(at_hand, sides, strict=True):
            page.context.target = target
            for example in inner:
                start = len(page.context.made)
                result = page.attempt(example, lambda example=example: page.execute(example))  # type: ignore[misc]
                broken, detail = page.unexpected(start)
                if broken:
                    results.setdefault(example.id, _breaks(page, example, version, broken, detail))
                elif inside and result.outcome != "passed":
                    results.setdefault(example.id, _on(result, version))
                elif not inside and example.language == "python" and not example.title and result.outcome != "failed":
                    results.setdefault(example.id, _holds_outside(page, example, result, version, admonition.title))
    except TargetUnavailable as error:
        wrong = _error(page, admonition, str(error))
    finally:
        page.context.target = checked
    for example in inner:
        results.setdefault(example.id, page._as_result(example, "passed", ""))
    if wrong is None and len(set(sides)) < 2:
        wrong = _error(page, admonition, "no release at hand lies on the other side of this range; nothing shows it")
    if wrong is None and not any(example.language == "python" and not example.title for example in inner):
        wrong = _error(page, admonition, "no python block inside says what holds in this range and not outside")
    bad = [r for r in results.values() if r.outcome in ("failed", "error")]
    if wrong is None and bad:
        wrong = page._as_result(admonition, bad[0].outcome, bad[0].message)
    results[admonition.id] = wrong or page._as_result(admonition, "passed", "")
    return results


def _on(result: Result, version: Version) -> Result:
    message = f"on vLLM-Omni {version}: {result.message}"
    return Result(
        result.id,
        result.kind,
        result.path,
        result.line,
        result.clauses,
        result.outcome,
        message,
        result.detail,
        result.column,
    )


def _holds_outside(page: PageExecution, example: Example, result: Result, version: Version, title: str) -> Result:
    if result.outcome == "error":
        return _on(result, version)
    return page._as_result(example, "failed", f"holds on vLLM-Omni {version} too, outside of the range {title!r}")


def _breaks(page: PageExecution, example: Example, version: Version, broken: tuple[str, ...], detail: str) -> Result:
    """A block that fails outside the range, as it should, may do so on a runner that has a new fault."""
    message = f"on vLLM-Omni {version}: the runner breaks {', '.join(broken)}, which it is not known to"
    return page._as_result(example, "failed", message, broken, detail)


def _error(page: PageExecution, admonition: Example, message: str) -> Result:
    return page._as_result(admonition, "error", message)
