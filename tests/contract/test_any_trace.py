"""Whatever a trace holds, it is judged: no judge raises, and none passes what it did not see."""

from __future__ import annotations

from conforming_runner import Runner
from hypothesis import given
from hypothesis import strategies as st

from spec_examples.contract import JUDGES, describe, excluded, judge, judge_pair, route_form, took_mtp
from spec_examples.trace import PHASE_KEYS, HookCall, HookRow, MtpRow, ScheduledRow, Step, Trace, Value

names = st.sampled_from("abc")
small = st.integers(-1, 6)
embeddings = st.tuples(st.sampled_from([0.0, 1.0, 2.0, float("nan")]), st.sampled_from([0.0, 1.0]))
values = st.builds(
    Value,
    st.sampled_from(["int", "bool", "numpy.int32", "numpy.bool", "float", "str"]),
    st.one_of(small, st.booleans(), st.none(), st.floats(), st.text(max_size=2)),
)
phase_keys = st.dictionaries(st.sampled_from(PHASE_KEYS), values)
codes = st.lists(small, max_size=2).map(tuple)


def tuples(items, most=3):
    return st.lists(items, max_size=most).map(tuple)


hook_rows = st.builds(
    HookRow,
    st.none() | names,
    tuples(small),
    phase_keys,
    tuples(st.sampled_from(PHASE_KEYS)),
    tuples(embeddings),
    st.none() | embeddings,
    st.none() | embeddings,
    phase_keys,
)
hook_calls = st.builds(
    HookCall, st.sampled_from(["preprocess", "preprocess_decode_batch", "preprocess_batch"]), tuples(hook_rows)
)
steps = st.builds(
    Step,
    tuples(st.builds(ScheduledRow, names, small, small, small, small, tuples(small))),
    tuples(hook_calls),
    tuples(tuples(st.builds(MtpRow, small, embeddings, embeddings, embeddings, embeddings, codes)), most=2),
    tuples(embeddings, most=8),
    codes=st.dictionaries(names, codes),
)
traces = st.builds(Trace, tuples(steps, most=4), st.booleans(), st.booleans(), error=st.none() | st.just("KeyError"))


@given(traces)
def test_every_trace_is_judged(trace):
    verdicts = judge(trace)
    assert [verdict.clause for verdict in verdicts] == list(JUDGES)
    for verdict in verdicts:
        assert (verdict.outcome == "failed") == bool(verdict.violations)
        assert verdict.outcome != "passed" or verdict.judged > 0
        assert verdict.message
        assert "\n" not in verdict.message
    excluded(trace), took_mtp(trace), route_form(trace)
    assert all(len(describe(step)) == len(step.forward) for step in trace.steps)


@given(traces, traces)
def test_every_pair_is_judged(one, other):
    assert judge_pair(one, other).clause == "ROUTE-6"
    assert judge_pair(one, one).outcome in ("passed", "not-applicable")


forced = st.integers(1, 6).flatmap(
    lambda prompt: st.tuples(st.just(prompt), st.integers(0, 9), st.integers(1, 3)),
)
stories = st.lists(
    st.dictionaries(names, forced, min_size=1).map(
        lambda rows: tuple((request, *row) for request, row in rows.items())
    ),
    min_size=1,
    max_size=6,
).map(tuple)


@given(stories, st.booleans(), st.booleans(), st.booleans())
def test_a_conforming_runner_is_never_red(story, batched, mtp, planting):
    trace = Runner(batched=batched, mtp=mtp, planting=planting).run(story)
    assert not [verdict for verdict in judge(trace) if verdict.outcome == "failed"]


@given(stories)
def test_a_verdict_survives_the_way_through_json(story):
    trace = Runner().run(story)
    assert judge(Trace.from_json(trace.to_json())) == judge(trace)
