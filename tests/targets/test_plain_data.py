"""Scenario and trace survive JSON unchanged, exact value types included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec_examples.scenario import MAX_LEN, InvalidScenario, Limits, Request, Row, Scenario, Source
from spec_examples.trace import HookCall, HookRow, Step, Trace, Value

finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())
embedding = st.lists(finite, min_size=1, max_size=3).map(tuple)
ids = st.text("abé…_", min_size=1, max_size=4)


@st.composite
def rows(draw, request):
    computed = draw(st.integers(0, MAX_LEN - 1))
    return Row(draw(st.integers(1, MAX_LEN)), computed, draw(st.integers(1, MAX_LEN - computed)), request)


requests = st.lists(
    st.builds(Request, st.integers(1, 60), st.integers(1, 60), arrives=st.integers(0, 5)), min_size=1, max_size=4
)
steps = st.lists(
    st.lists(ids, min_size=1, max_size=3, unique=True).flatmap(lambda names: st.tuples(*map(rows, names))),
    min_size=1,
    max_size=3,
)
limits = st.builds(
    Limits,
    budget=st.integers(16, 64),
    sequences=st.integers(1, 16),
    blocks=st.integers(1, 99),
    block_size=st.integers(1, 64),
    chunked_prefill=st.booleans(),
    prefix_caching=st.booleans(),
    long_prefill_threshold=st.integers(0, 9),
)
talkers = st.one_of(
    st.sampled_from(["scalar", "batched-no-mtp", "some.module:Class"]), st.builds(Source, st.text(), ids, st.text())
)
scenarios = st.one_of(
    st.builds(
        lambda talker, given, limits: Scenario(talker, requests=tuple(given), limits=limits), talkers, requests, limits
    ),
    st.builds(
        lambda talker, given, limits: Scenario(talker, steps=tuple(given), limits=limits), talkers, steps, limits
    ),
)


@given(scenarios)
def test_a_scenario_comes_back_equal(scenario):
    text = scenario.to_json()
    assert "\n" not in text
    again = Scenario.from_json(text)
    assert again == scenario
    assert again.digest == scenario.digest


def round_trip(value):
    row = HookRow("a", (), {"_omni_prompt_len": value}, (), ())
    trace = Trace(steps=(Step(rows=(), hooks=(HookCall("preprocess", (row,)),)),))
    return Trace.from_json(trace.to_json()).steps[0].hooks[0].rows[0].fields["_omni_prompt_len"]


@given(st.builds(Value.of, plain))
def test_a_value_comes_back_equal_and_of_its_type(value):
    again = round_trip(value)
    assert again == value
    assert type(again.value) is type(value.value)


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        (5, "int", 5),
        (True, "bool", True),
        (np.int32(5), "numpy.int32", 5),
        (np.bool_(True), "numpy.bool", True),
        (5.0, "float", 5.0),
        ("5", "str", "5"),
        (None, "NoneType", None),
        (float("nan"), "float", "nan"),
        (2**70, "int", str(2**70)),
        ([5], "list", "[5]"),
        (np.arange(3), "numpy.ndarray", "array([0, 1, 2])"),
    ],
)
def test_values_say_their_exact_type(given, name, value):
    recorded = Value.of(given)
    again = round_trip(recorded)
    assert (again.type, again.value, type(again.value)) == (name, value, type(value))


def test_a_subclass_of_int_is_no_int():
    class Count(int):
        pass

    assert Value.of(Count(5)).type.endswith("Count")


@pytest.fixture(scope="module", autouse=True)
def _strategies():
    """What the dataclasses are made of, with numbers and texts that JSON holds."""
    st.register_type_strategy(Value, st.builds(Value.of, plain))
    st.register_type_strategy(float, finite)
    st.register_type_strategy(int, st.integers(-(2**63), 2**63 - 1))
    yield
    st.register_type_strategy(float, st.floats())
    st.register_type_strategy(int, st.integers())


@given(st.data())
def test_a_trace_comes_back_equal(data):
    trace = data.draw(st.from_type(Trace))
    text = trace.to_json()
    assert "\n" not in text
    assert Trace.from_json(text) == trace


@pytest.mark.parametrize("text", ["[]", '{"steps": 3}', "null", '{"talker": "nobody", "requests": []}'])
def test_what_is_no_scenario_is_refused(text):
    with pytest.raises(InvalidScenario):
        Scenario.from_json(text)
