"""A bound is exceeded where a value is beyond it by more than the noise; a cost is a start and what one more takes."""

import pytest

from spec_examples.bench.figure import Figure, Line, figure, spread


def of(*values, **bound):
    return figure("what", "s", values, **bound)


def test_the_spread_is_to_the_farthest_repetition():
    assert spread([1.0, 1.2, 1.1]) == pytest.approx(0.1)
    assert spread([1.0, 1.1, 2.0]) == pytest.approx(0.9)
    assert spread([3.0]) == 0


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((1.4, 1.5, 1.6), "kept"),
        ((1.5, 1.6, 9.9), "kept"),  # one disturbed repetition decides nothing
        ((1.6, 1.65, 1.75), "in the noise"),
        ((1.7, 1.71, 1.72), "exceeded"),
        ((1.7,), "exceeded"),
    ],
)
def test_an_upper_bound(values, verdict):
    assert of(*values, most=1.6).verdict == verdict


@pytest.mark.parametrize(
    ("values", "verdict"), [((2100, 2200), "kept"), ((1900, 2050), "in the noise"), ((1800, 1810), "exceeded")]
)
def test_a_lower_bound(values, verdict):
    assert of(*values, least=2000).verdict == verdict


def test_a_figure_without_a_bound_has_no_verdict():
    assert of(1.0, 5.0).verdict == ""


def test_the_spread_of_the_import_is_noise_of_what_was_measured_once():
    assert figure("what", "min", [6.3], [10.0, 11.0, 12.0], most=6).noise == pytest.approx(6.3 / 11)
    assert figure("what", "min", [6.3], [10.0, 11.0, 12.0], most=6).verdict == "in the noise"
    assert figure("what", "min", [6.3], [10.9, 11.0, 11.1], most=6).verdict == "exceeded"


def test_the_value_is_the_median():
    assert Figure("what", "s", (3.0, 1.0, 2.0), 0.0).value == 2.0


def test_a_cost_is_its_start_and_what_one_more_takes():
    line = Line("blocks", (10, 100, 1000), (1.01, 1.1, 2.0))
    assert line.each == pytest.approx(0.001)
    assert line.start == pytest.approx(1.0)
    assert line.bends == pytest.approx(1.0)


def test_a_cost_that_grows_faster_than_its_size_bends():
    assert Line("rows", (10, 20, 40), (1.0, 4.0, 16.0)).bends == pytest.approx(2.0)
