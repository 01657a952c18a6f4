"""What the search draws: requests and limits that a real scheduler can serve, small enough to be read.

Sizes are chosen for what they can meet: prompts of a few blocks, budgets that cut them, blocks too few for everyone and
enough for each one alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from spec_examples.scenario import Growth, Limits, Plant, Request, Scenario

CYCLE = 4
"""Tokens that a prompt repeats where drafts are to be found: what ``spec_examples.variants`` goes on with."""

TALKERS = (
    "scalar",
    "batched",
    "spec_examples.talker:OverwritingScalarTalker",
    "spec_examples.talker:OverwritingBatchedTalker",
    "scalar-no-mtp",
    "batched-no-mtp",
)
"""Either hook, with what the model writes over the phase keys, and without MTP."""

REPEATING = ("spec_examples.variants:RepeatingScalarTalker", "spec_examples.variants:RepeatingBatchedTalker")
"""Talkers whose text can be drafted by n-grams, where the prompt repeats ``CYCLE`` tokens too."""

LONGEST_PROMPT, MOST_TOKENS = 10, 12
ARRIVALS = (0, 0, 0, 0, 1, 2, 3, 5)
"""Steps before which requests arrive: mostly together, so that they have to share."""

FLAG: st.SearchStrategy[bool] = st.booleans()

UNCUT = 128
"""Tokens a step without chunked prefill: vLLM wants room for the longest prompt then."""


@st.composite
def scenarios(
    draw: st.DrawFn,
    talkers: Sequence[str] = TALKERS,
    asynchronous: bool = True,
    shortest_prompt: int = 1,
    drafts: bool = True,
    embeds: bool = True,
) -> Scenario:
    """A scenario of up to four requests.

    ``asynchronous`` says whether steps may be made ahead, ``drafts`` whether tokens may be drafted and verified,
    ``embeds`` whether a prompt may be given as embeddings without token ids.
    """
    block_size = draw(st.sampled_from((4, 2, 1, 16)))
    ahead = asynchronous and draw(st.integers(0, 7)) == 7
    drafted = draw(st.sampled_from((1, 2, 3))) if drafts and not ahead and draw(st.integers(0, 7)) == 7 else 0
    requests = draw(_requests(block_size, shortest_prompt, not ahead, embeds))
    if drafted:
        requests = tuple(request if request.embeds else replace(request, cycle=CYCLE) for request in requests)
        talkers = REPEATING
    chunked = draw(st.integers(0, 9)) < 9
    sequences = draw(st.sampled_from((4, 4, 3, 3, 2, 1)))
    limits = Limits(
        budget=draw(st.integers(sequences, 9 + 4 * drafted)) if chunked else UNCUT,
        sequences=sequences,
        blocks=1 + _blocks(requests, block_size, drafted) + draw(st.sampled_from((0, 0, 1, 2, 6))),
        block_size=block_size,
        chunked_prefill=chunked,
        prefix_caching=draw(FLAG) and not drafted,  # vLLM-Omni 0.30.0 refuses both together
        long_prefill_threshold=draw(st.sampled_from((0, 0, 0, 1, 2, 3))) if chunked else 0,
        async_scheduling=ahead,
        speculative_tokens=drafted,
    )
    return Scenario(
        draw(st.sampled_from(tuple(talkers))), requests=requests, limits=limits, planted=draw(_plants(requests))
    )


def _blocks(requests: Sequence[Request], block_size: int, drafted: int) -> int:
    """Blocks with which every request is served in the end, ``drafted`` tokens beyond its own included.

    The largest has to fit. A request that waits for the rest of its prompt keeps its blocks meanwhile, so that with one
    of those all have to fit.
    """
    each = [-(-(request.most_tokens + drafted) // block_size) for request in requests]
    return sum(each) if any(request.grows for request in requests) else max(each)


@st.composite
def _requests(draw: st.DrawFn, block_size: int, shortest: int, reuse: bool, embeds: bool) -> tuple[Request, ...]:
    """Without ``reuse`` no id comes back: the asynchronous scheduler of 0.30.0 stops at one whose step is in flight."""
    requests: list[Request] = []
    for place in range(draw(st.sampled_from((1, 2, 3, 3, 4, 4)))):
        requests.append(draw(_request(place, requests, block_size, shortest, reuse, embeds)))
    return tuple(requests)


@st.composite
def _request(
    draw: st.DrawFn,
    place: int,
    earlier: Sequence[Request],
    block_size: int,
    shortest: int,
    reuse: bool,
    embeds: bool,
) -> Request:
    prompt_len, max_tokens = draw(st.integers(shortest, LONGEST_PROMPT)), draw(st.integers(1, MOST_TOKENS))
    name, arrives = chr(ord("a") + place), draw(st.sampled_from(ARRIVALS))
    gone = [r for r in earlier if r.aborts is not None and not r.grows and _free(r.id, earlier, r)]
    own = [r for r in earlier if not (r.same_as or r.embeds) and r.aborts is None and _free(r.id, earlier, r)]
    shared: dict[str, str | int] = {}
    if draw(FLAG) and own:
        other = draw(st.sampled_from(own))
        arrives = other.arrives + draw(st.sampled_from((2, 4, 8)))
        prompt_len = other.prompt_len + draw(st.sampled_from((0, 0, 1, block_size)))
        shared = {"same_as": other.id, "same_tokens": other.prompt_len}
    elif draw(FLAG) and gone and reuse:
        name, arrives = gone[-1].id, (gone[-1].aborts or 0) + draw(st.integers(0, 1))
    lives = draw(st.integers(1, 6)) if draw(st.integers(0, 4)) == 4 else None
    if embeds and not shared and draw(st.integers(0, 23)) == 23:
        return Request(prompt_len, max_tokens, name, arrives, None if lives is None else arrives + lives, embeds=True)
    return Request(
        prompt_len,
        max_tokens,
        name,
        arrives,
        None if lives is None else arrives + lives,
        grows=draw(_growths(arrives, max_tokens)) if draw(st.integers(0, 5)) == 5 else (),
        seed=draw(st.integers(0, 9)) if draw(st.integers(0, 5)) == 5 else None,
        **shared,  # type: ignore[arg-type]
    )


def _free(name: str, requests: Sequence[Request], one: Request) -> bool:
    """Whether no other request of these has the name."""
    return all(request is one or request.id != name for request in requests)


@st.composite
def _growths(draw: st.DrawFn, arrives: int, max_tokens: int) -> tuple[Growth, ...]:
    """Up to two. The scheduler of 0.30.0 lets each part generate as many tokens as the first, whatever it asks for."""
    first = Growth(draw(st.integers(1, 5)), arrives + draw(st.integers(1, 6)), max_tokens)
    if draw(FLAG):
        return (first,)
    return (first, Growth(draw(st.integers(1, 5)), first.at + draw(st.integers(1, 6)), max_tokens))


@st.composite
def _plants(draw: st.DrawFn, requests: Sequence[Request]) -> tuple[Plant, ...]:
    """Wrong keys, each likely while its request lives: the first step at the earliest."""
    return tuple(
        Plant(
            request.id,
            request.arrives + draw(st.integers(0, 6)),
            draw(st.integers(0, 12)),
            draw(st.integers(0, 12)),
            draw(FLAG),
        )
        for request in requests
        if draw(st.integers(0, 3)) == 3
    )
