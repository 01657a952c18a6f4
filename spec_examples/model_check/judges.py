"""One judge for each promise of a model. Each goes through runs from the smallest to the largest, row by row.

In the runs of a judge nothing is unusual but what its promise speaks of. So a model that breaks one promise is not also
blamed for the next: what is cut is cut into pieces of at least two tokens, except for MODEL-2, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from spec_examples.model_check.asking import SCALAR, WHOLE, Alone, Asking
from spec_examples.model_check.seen import Seen, apart, by, differs, seen
from spec_examples.model_check.subject import View
from spec_examples.running import forced
from spec_examples.scenario import Limits, Request, Row, Scenario
from spec_examples.trace import PHASE_KEYS, Embedding, Trace

CUTS = ((4, 2), (5, 3), (6, 2), (6, 4), (8, 3), (9, 7), (12, 5))
"""Prompt length and budget: no piece has fewer than two tokens."""

SINGLES = ((1, 0), (2, 1), (3, 1), (5, 4), (9, 8))
"""Prompt length and progress of a row of one prompt token."""

NEIGHBOURS = (
    (Request(2, id="a"), Request(3, id="b")),
    (Request(5, id="a"), Request(1, id="b"), Request(2, id="c")),
    (Request(3, 6, id="a"), Request(4, id="b", arrives=2)),
    (Request(2, 2, id="again", aborts=6), Request(3, id="again", arrives=6)),
    (Request(3, 9, id="again", aborts=4), Request(2, id="again", arrives=4)),
)
"""Together from the start, one joining later, and an id that comes back after an end and after an abort."""

BATCHES = (
    (Request(2, id="a"),),
    (Request(2, id="a"), Request(3, id="b")),
    (Request(2, 4, id="a"), Request(3, id="b", arrives=1)),
    (Request(5, id="a"), Request(1, id="b"), Request(2, id="c")),
    (Request(2, 7, id="a"), Request(3, 2, id="b"), Request(4, 5, id="c", arrives=2), Request(1, 4, id="d", arrives=3)),
)
"""One decode row, several, and rows that come and go beside prefill."""

SHORTAGES = (
    Scenario(requests=(Request(5, 8), Request(5, 8)), limits=Limits(budget=16, blocks=6)),
    Scenario(requests=(Request(3, 9), Request(6, 9)), limits=Limits(budget=32, blocks=6)),
    Scenario(requests=(Request(4, 9), Request(4, 9), Request(4, 9)), limits=Limits(budget=32, blocks=8)),
)
"""Too few blocks for everyone: the last request is preempted and comes back as one row, cut by nothing."""

PIECES = Scenario(
    requests=(Request(3, 14), Request(4, 12), Request(2, 12)), limits=Limits(budget=3, sequences=3, blocks=7)
)
"""What was generated is replayed three tokens at a time, beside others."""


@dataclass(frozen=True)
class Looked:
    """One row that was looked at. ``wrong`` says what is wrong with it, if anything; ``scenario`` shows it."""

    scenario: Scenario
    wrong: str = ""


def cut_prompts(ask: Asking) -> Iterator[Looked]:
    """MODEL-1: each embedding of a prompt in pieces is that of the whole prompt."""
    for prompt_len, budget in CUTS:
        request = Request(prompt_len, 4, id="a")
        scenario = Scenario(requests=(request,), limits=Limits(budget=budget, sequences=1))
        whole, trace = ask.alone(request), ask.trace(scenario)
        for row in seen(trace):
            if row.is_prefill and row.row.span > 1:
                yield Looked(scenario, prompt_differs(row, whole, "of the uncut prompt"))
        if not _raised_in_decode(trace):
            yield from _stopped(scenario, trace)


def single_tokens(ask: Asking) -> Iterator[Looked]:
    """MODEL-2: a prompt's token is embedded alone as in a row of two or three that starts with it.

    For a tail, and for a prompt of one token, such a row reaches past the prompt, and whether the model can do that is
    MODEL-6's question. So a tail may also agree with the uncut prompt, and where rows past the prompt go wrong, nothing
    is said of a prompt of one token.
    """
    for prompt_len, computed in SINGLES if _reaches_past(ask) else SINGLES[1:]:
        before = [[Row(prompt_len, 0, computed, "a")]] if computed else []
        longer = 2 if computed else 3
        one = forced([*before, [Row(prompt_len, computed, 1, "a")]])
        trace, more = ask.trace(one), ask.trace(forced([*before, [Row(prompt_len, computed, longer, "a")]]))
        row, other = _last(trace, computed), _last(more, computed)
        if trace.error or row is None:
            yield Looked(one, _raised(trace) or f"row a ({prompt_len}, {computed}, 1) reached no hook")
            continue
        found = _at(row.returned.embeds, 0)
        wanted = _at(other.returned.embeds, 0) if other else None
        difference = apart(found, wanted)
        if computed and difference:
            uncut = ask.alone(Request(prompt_len, id="a")).prompt.get(computed)
            difference = min(difference, apart(found, uncut))
        where = f"in a row of {longer}, ({prompt_len}, {computed}, {longer})"
        wrong = f"{row}: the embedding of prompt token {computed} {by(difference)} from the one {where}"
        yield Looked(one, wrong if difference else "")


def _reaches_past(ask: Asking) -> bool:
    """Whether a prompt of two tokens is embedded in a row that reaches past it as it is uncut."""
    row, whole = _last(ask.trace(forced([[Row(2, 0, 4, "a")]])), 0), ask.alone(Request(2, id="a"))
    return row is not None and not prompt_differs(row, whole, "of the uncut prompt")


def decode_state(ask: Asking) -> Iterator[Looked]:
    """MODEL-3: decode steps come out the same, in however many pieces the prompt went before them."""
    for prompt_len, budget in CUTS:
        request = Request(prompt_len, 4, id="a")
        scenario = Scenario(requests=(request,), limits=Limits(budget=budget, sequences=1))
        trace = ask.trace(scenario)
        yield from _decode_steps(scenario, trace, {("a", prompt_len): ask.alone(request)}, "after the uncut prompt")
        if _raised_in_decode(trace):
            yield from _stopped(scenario, trace)


def both_hooks(ask: Asking) -> Iterator[Looked]:
    """MODEL-4: a decode step through the batched hook comes out as through the scalar one."""
    for requests in BATCHES:
        scenario = Scenario(requests=requests, limits=WHOLE)
        batched, scalar = ask.trace(scenario, View()), ask.trace(scenario)
        if not any(row.hook == "preprocess_decode_batch" for row in seen(batched)):
            if batched.error and not scalar.error:
                yield Looked(scenario, f"with the batched hook: {batched.error}")
            continue
        others = {(row.row.request, row.row.prompt_len, row.row.computed): row for row in seen(scalar)}
        for row in seen(batched):
            other = others.get((row.row.request, row.row.prompt_len, row.row.computed))
            if row.hook != "preprocess_decode_batch" or other is None:
                continue
            difference = differs(row, other, batched.mtp)
            yield Looked(
                scenario, f"{row}: through the batched hook {difference} from the scalar hook's" if difference else ""
            )
        if batched.error and not scalar.error:
            yield Looked(scenario, f"with the batched hook: {batched.error}")


def long_decode_spans(ask: Asking) -> Iterator[Looked]:
    """MODEL-5: a decode row of several tokens has an embedding for each, none of them the prompt's."""
    for span in (2, 3, 4):
        before = [[Row(4, 0, 4, "a")], [Row(4, 4, 1, "a")]]
        long, single = forced([*before, [Row(4, 5, span, "a")]]), forced([*before, [Row(4, 5, 1, "a")]])
        trace = ask.trace(long)
        row, step = _last(trace, 5), _last(ask.trace(single), 5)
        if trace.error or row is None:
            yield Looked(long, _raised(trace) or f"row a (4, 5, {span}) reached no hook")
            continue
        prompt = ask.alone(Request(4, id="a")).prompt
        yield Looked(long, _long_span_is_wrong(row, step, prompt))


def replayed_pieces(ask: Asking) -> Iterator[Looked]:
    """MODEL-5 again, where the tokens are known: replayed in pieces, each is embedded as in its own decode step.

    The decode steps after it find the state where that many steps would have left it. The run has cut prompts and
    neighbours too, so it says something only of a model that keeps the other promises.
    """
    trace, wholes = ask.trace(PIECES), _references(ask, PIECES)
    for row in seen(trace):
        whole = wholes[row.row.request, row.row.prompt_len]
        if not row.is_prefill and row.row.span > 1:
            steps = [whole.decode.get(row.row.computed + i) for i in range(row.row.span)]
            wanted = [_at(step.returned.embeds, 0) if step else None for step in steps]
            yield Looked(PIECES, _rows_differ(row, dict(enumerate(wanted)), "of its own decode step"))
    yield from _decode_steps(PIECES, trace, wholes, "without the replay", lambda row: row.replayed)
    yield from _stopped(PIECES, trace)


def resumed_prompts(ask: Asking) -> Iterator[Looked]:
    """MODEL-6: after a preemption the prompt is embedded as at first, in a row that may reach past it."""
    for scenario in SHORTAGES:
        trace, wholes = ask.trace(scenario), _references(ask, scenario)
        for row in seen(trace):
            if not row.resumed or not row.is_prefill:
                continue
            whole = wholes[row.row.request, row.row.prompt_len]
            wrong = prompt_differs(row, whole, "from before the preemption")
            if not wrong and len(row.returned.embeds) != row.row.span:
                count = len(row.returned.embeds)
                wrong = f"{row}: {count} embeddings for a span of {row.row.span} that reaches past the prompt"
            yield Looked(scenario, wrong)
        yield from _stopped(scenario, trace)


def resumed_decode(ask: Asking) -> Iterator[Looked]:
    """MODEL-6 again: decode goes on where it was. A preemption takes two requests, so the other promises come first."""
    for scenario in SHORTAGES:
        trace, wholes = ask.trace(scenario), _references(ask, scenario)
        yield from _decode_steps(scenario, trace, wholes, "without the preemption", lambda row: row.resumed)


def neighbours(ask: Asking) -> Iterator[Looked]:
    """MODEL-7: a request comes out beside others, and after others, as it does alone."""
    for requests in NEIGHBOURS:
        scenario = Scenario(requests=requests, limits=WHOLE)
        trace, wholes = ask.trace(scenario), _references(ask, scenario)
        for row in seen(trace):
            if row.is_prefill:
                yield Looked(
                    scenario, prompt_differs(row, wholes[row.row.request, row.row.prompt_len], "when it is alone")
                )
        yield from _decode_steps(scenario, trace, wholes, "when it is alone")
        yield from _stopped(scenario, trace)


def read_only(ask: Asking) -> Iterator[Looked]:
    """MODEL-8: no update and no entry writes a phase key, and the request is found by the name that is passed."""
    scenario = Scenario(requests=(Request(3, id="a"), Request(2, id="b")), limits=WHOLE)
    shown = ask.trace(scenario, View())
    for row in seen(shown):
        written = ", ".join(sorted(row.returned.planted))
        yield Looked(scenario, f"{row}: the model writes {written}, which is the runner's" if written else "")
    named = ask.trace(scenario, View(both_names=False))
    passed = {name for step in shown.steps for call in step.hooks for row in call.rows for name in row.keywords}
    name = next((name for name in ("request_id", "req_id") if name in passed), "another name")
    if named.error and not shown.error:
        yield Looked(scenario, f"where the row's request is passed as {name} alone: {named.error}")
    for row, other in zip(seen(named), seen(shown), strict=False):
        difference = _any_difference(row, other, named.mtp)
        yield Looked(scenario, f"{row}: with the request as {name} alone, {difference}" if difference else "")


def form_of_results(ask: Asking) -> Iterator[Looked]:
    """MODEL-9: results have the form that the runner consumes, and without the fields the model stops and says so."""
    for requests in BATCHES[2:4]:
        for batched in (False, True):
            scenario = Scenario(requests=requests, limits=WHOLE)
            trace = ask.trace(scenario, View(batched=batched, strict=True))
            wrong = trace.error or ""
            yield Looked(
                scenario, wrong.removeprefix("WrongForm: ").partition(" (")[0] if "WrongForm" in wrong else wrong
            )
    scenario = Scenario(requests=(Request(3, id="a"),), limits=WHOLE)
    yield Looked(scenario, goes_on(ask.trace(scenario, View(batched=False, fields=False))))


def goes_on(trace: Trace) -> str:
    """What is wrong with a run without the phase fields: it has to stop with an error that names them."""
    if not trace.error:
        return "without the phase fields the model goes on by a guess; it has to stop, and to say what it needs"
    if not any(key in trace.error for key in PHASE_KEYS) and "phase field" not in trace.error:
        return f"without the phase fields the model stops with an error that does not name them: {trace.error}"
    return ""


def prompt_differs(row: Seen, whole: Alone, where: str) -> str:
    """How the prompt's part of a row differs from the reference, in words; empty where it does not."""
    return _rows_differ(row, {index: whole.prompt.get(position) for index, position in row.prompt_part}, where)


def _rows_differ(row: Seen, wanted: dict[int, Embedding | None], where: str) -> str:
    if row.raised:
        return f"{row} raised {row.raised}"
    for index, embedding in wanted.items():
        found = _at(row.returned.embeds, index)
        if found is None:
            return f"{row}: no embedding for token {row.row.computed + index}"
        if embedding is not None and (difference := apart(found, embedding)):
            return f"{row}: the embedding of token {row.row.computed + index} {by(difference)} from the one {where}"
    return ""


def _long_span_is_wrong(row: Seen, step: Seen | None, prompt: dict[int, Embedding]) -> str:
    returned = row.returned.embeds
    if len(returned) != row.row.span:
        return f"{row}: {len(returned)} embeddings for a decode span of {row.row.span}"
    single = _at(step.returned.embeds, 0) if step else None
    if single is not None and (difference := apart(returned[0], single)):
        return f"{row}: the embedding of its first token {by(difference)} from the one in a row of one, (4, 5, 1)"
    for index, embedding in enumerate(returned):
        taken = [position for position, other in prompt.items() if not apart(embedding, other)]
        if taken and not any(not apart(single, other) for other in prompt.values()):
            return f"{row}: the embedding of its token {index} is that of prompt token {taken[0]}"
    return ""


def _decode_steps(
    scenario: Scenario,
    trace: Trace,
    wholes: dict[tuple[str, int], Alone],
    where: str,
    chosen: Callable[[Seen], bool] = lambda row: True,
) -> Iterator[Looked]:
    for row in seen(trace):
        other = wholes[row.row.request, row.row.prompt_len].decode.get(row.row.computed)
        if row.is_decode_step and chosen(row) and other is not None and not row.raised:
            difference = differs(row, other, trace.mtp)
            yield Looked(scenario, f"{row}: {difference} from the same step {where}" if difference else "")


def _any_difference(row: Seen, other: Seen, mtp: bool) -> str:
    if row.is_decode_step:
        return differs(row, other, mtp)
    rows = _rows_differ(row, dict(enumerate(other.returned.embeds)), "with both names")
    return rows.partition(": ")[2]


def _references(ask: Asking, scenario: Scenario) -> dict[tuple[str, int], Alone]:
    return {(request.id, request.prompt_len): ask.alone(request) for request in scenario.requests}


def _raised(trace: Trace) -> str:
    """Where a run stopped, and at what; empty where it did not."""
    rows = list(seen(trace))
    at = str(rows[-1]) if rows and rows[-1].raised else f"step {len(trace.steps)}"
    return f"{at} raised {trace.error}" if trace.error else ""


def _raised_in_decode(trace: Trace) -> bool:
    """Whether it was the hook of a decode row that raised: a prompt in pieces is not to blame then."""
    rows = list(seen(trace))
    return bool(rows and rows[-1].raised and not rows[-1].is_prefill)


def _stopped(scenario: Scenario, trace: Trace) -> Iterable[Looked]:
    return [Looked(scenario, _raised(trace))] if trace.error else []


def _last(trace: Trace, computed: int) -> Seen | None:
    """The last row, where it is the one with that progress."""
    rows = list(seen(trace))
    return rows[-1] if rows and rows[-1].row.computed == computed else None


def _at(rows: tuple[Embedding, ...], index: int) -> Embedding | None:
    return rows[index] if index < len(rows) else None


JUDGES: dict[str, Callable[[Asking], Iterator[Looked]]] = {
    "MODEL-1": cut_prompts,
    "MODEL-2": single_tokens,
    "MODEL-3": decode_state,
    "MODEL-4": both_hooks,
    "MODEL-5": long_decode_spans,
    "MODEL-6": resumed_prompts,
    "MODEL-7": neighbours,
    "MODEL-8": read_only,
    "MODEL-9": form_of_results,
}

__all__ = ["JUDGES", "SCALAR", "Looked", "goes_on", "prompt_differs", "replayed_pieces", "resumed_decode"]
