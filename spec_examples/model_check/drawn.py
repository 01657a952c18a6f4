"""Schedules that Hypothesis draws, and the smallest of them in which a model breaks a promise.

Imported when a search is made: Hypothesis is not among what the other commands need.
"""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st

from spec_examples.model_check.asking import Asking
from spec_examples.model_check.judges import Looked
from spec_examples.model_check.mixed import first_difference
from spec_examples.scenario import Limits, Request, Scenario


@st.composite
def schedules(draw: st.DrawFn) -> Scenario:
    """One to three requests under limits that cut, queue and preempt them."""
    requests = tuple(
        Request(draw(st.integers(1, 9)), draw(st.integers(1, 9)), arrives=draw(st.sampled_from((0, 0, 1, 3))))
        for _ in range(draw(st.integers(1, 3)))
    )
    block_size = draw(st.sampled_from((4, 2)))
    most = max(-(-request.most_tokens // block_size) for request in requests)
    limits = Limits(
        budget=draw(st.integers(3, 9)),
        sequences=draw(st.integers(1, 3)),
        blocks=1 + most + draw(st.sampled_from((0, 1, 3, 12))),
        block_size=block_size,
        prefix_caching=draw(st.booleans()),
        long_prefill_threshold=draw(st.sampled_from((0, 0, 1, 3))),
    )
    return Scenario(requests=requests, limits=limits)


class _Found(AssertionError):
    def __init__(self, clause: str, looked: Looked) -> None:
        super().__init__(looked.wrong)
        self.clause, self.looked = clause, looked


def searched(ask: Asking, drawn: int) -> Iterator[tuple[str, Looked]]:
    """The smallest schedule of those that are drawn in which a promise is broken, if any. The same at each call."""

    @settings(
        max_examples=drawn,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
    )
    @given(schedules())
    def judged(scenario: Scenario) -> None:
        if found := first_difference(ask, scenario):
            raise _Found(*found)

    try:
        judged()
    except _Found as found:
        yield found.clause, found.looked
