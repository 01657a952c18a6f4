"""Judges a trace: one verdict for each promise that one trace can show.

A judge reads the trace and nothing else: not the version, not the talker's source. What a verdict needs of a trace
before it can pass is listed here beside its judge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from spec_examples.contract import exclusions, fields, hooks, mtp, routing, state
from spec_examples.contract.alignment import differs
from spec_examples.contract.reading import Reading, read
from spec_examples.contract.routing import RouteForm
from spec_examples.contract.verdict import Finding, Verdict, decide
from spec_examples.trace import IS_PREFILL, ScheduledRow, Trace


class Judge(NamedTuple):
    """A judge, and what a trace lacks where it finds nothing to judge."""

    find: Callable[[Reading], Finding]
    missing: str


_NO_HOOK = "no row reached a per-row hook"
_NO_MTP = "the runner had no MTP hook to call, or no single-token decode row offered MTP inputs"

JUDGES: dict[str, Judge] = {
    "FIELD-1": Judge(fields.prompt_length, _NO_HOOK),
    "FIELD-2": Judge(fields.progress, _NO_HOOK),
    "FIELD-3": Judge(fields.prefill_flag, _NO_HOOK),
    "FIELD-4": Judge(fields.refreshed, "no row of which an earlier step or a planted value says otherwise"),
    "FIELD-5": Judge(fields.batch_order, "no step with two rows that can be told apart"),
    "FIELD-6": Judge(fields.nothing_latched, "no request whose progress fell back or whose prompt length changed"),
    "FIELD-7": Judge(fields.overwriting, "no row that follows one in which the model wrote other phase keys"),
    "HOOK-1": Judge(hooks.keywords, "preprocess was never called"),
    "HOOK-2": Judge(hooks.batched_entries, "preprocess_decode_batch was never called"),
    "STATE-1": Judge(state.comes_back, "no row of a request whose model has stored anything for it"),
    "STATE-2": Judge(state.nothing_foreign, "no row beside or after a request whose model stored something"),
    "ROUTE-1": Judge(routing.which_hook, _NO_HOOK),
    "ROUTE-2": Judge(mtp.mtp_rows, _NO_MTP),
    "ROUTE-3": Judge(exclusions.prefill_kept, "no prefill row"),
    "ROUTE-4": Judge(mtp.decode_rows, _NO_MTP),
    "ROUTE-5": Judge(exclusions.long_spans, "no decode row with a span of more than one token"),
    "ROUTE-8": Judge(state.returned_ids, "no hook returned a token id for each of its row's tokens"),
}
"""The promises that one trace can show. ROUTE-6 takes two: ``spec_examples.contract.pair``."""


class Place(NamedTuple):
    """A row and its step, which counts from 1."""

    step: int
    row: ScheduledRow


def judge(trace: Trace) -> tuple[Verdict, ...]:
    """One verdict for each of ``JUDGES``, in that order. A trace without steps shows nothing: not applicable.

    Where ``trace.error`` is set, the last step is judged on what did cross the boundary, not on what is absent.
    """
    if not trace.steps:
        return tuple(Verdict(clause, "not-applicable", "the trace has no steps") for clause in JUDGES)
    reading = read(trace)
    return tuple(decide(clause, each.find(reading), each.missing) for clause, each in JUDGES.items())


def stopped(trace: Trace) -> str | None:
    """What the runner raised, where it stopped and no other clause says why: a row at which it stops is not routed.

    ``None`` too where the code of vLLM, of a scheduler, of the harness or of the talker raised, and where the runner
    asked a row for MTP inputs that owes none, or whose flag was wrong: that row breaks ROUTE-2, or FIELD-3.
    """
    if trace.error is None or trace.error_in or trace.error_at not in ("", "runner"):
        return None
    told = [(row, found.row.fields.get(IS_PREFILL)) for row in read(trace).rows if row.asked for found in row.hooks]
    explained = any(not row.takes_mtp or differs(flag, False) for row, flag in told)
    return None if explained else trace.error


def excluded(trace: Trace) -> tuple[Place, ...]:
    """The rows that MTP has to leave alone: prefill rows, and decode spans of more than one token."""
    return tuple(Place(row.step, row.row) for row in read(trace).rows if not row.takes_mtp)


def took_mtp(trace: Trace) -> tuple[Place, ...]:
    """The rows for which MTP was called. A run that asserts an exclusion shows at least one single-token decode row."""
    return tuple(Place(row.step, row.row) for row in read(trace).rows if row.mtp)


def route_form(trace: Trace) -> RouteForm | None:
    """Which form of ROUTE-1 a trace shows of a model with a batched hook and without MTP."""
    return routing.route_form(read(trace))
