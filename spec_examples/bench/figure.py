"""One measured figure, its noise and its bound; and a cost that was measured at several sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


def spread(values: Sequence[float]) -> float:
    """How far the farthest of ``values`` is from their median."""
    middle = median(values)
    return max(abs(value - middle) for value in values)


@dataclass(frozen=True)
class Figure:
    """What was measured, in ``unit``, as often as there are ``values``.

    ``most`` or ``least`` is its bound; a figure without one is told. ``noise`` is how much of the value may be the
    machine's doing, in ``unit``. ``beside`` says what it was made of.
    """

    what: str
    unit: str
    values: tuple[float, ...]
    noise: float
    most: float | None = None
    least: float | None = None
    beside: str = ""

    @property
    def value(self) -> float:
        """The median of the values."""
        return median(self.values)

    @property
    def over(self) -> float:
        """By how much the bound is exceeded; 0 or less where it is kept."""
        if self.least is not None:
            return self.least - self.value
        return self.value - self.most if self.most is not None else 0.0

    @property
    def verdict(self) -> str:
        """``kept``, ``exceeded`` by more than the noise, or ``in the noise``; empty without a bound."""
        if self.most is None and self.least is None:
            return ""
        return "kept" if self.over <= 0 else "exceeded" if self.over > self.noise else "in the noise"


def figure(
    what: str,
    unit: str,
    values: Sequence[float],
    floor: Sequence[float] = (),
    *,
    most: float | None = None,
    least: float | None = None,
    beside: str = "",
) -> Figure:
    """A figure whose noise is the larger of its own spread and, of its value, the share that the floor's spread has."""
    share = spread(floor) / median(floor) if floor else 0.0
    noise = max(spread(values), share * abs(median(values)))
    return Figure(what, unit, tuple(values), noise, most, least, beside)


@dataclass(frozen=True)
class Line:
    """Seconds at each of several sizes, the smallest first."""

    what: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def each(self) -> float:
        """Seconds that one more takes, over the whole range."""
        return self._between(0, -1)

    @property
    def start(self) -> float:
        """Seconds that none would take."""
        return self.seconds[0] - self.each * self.sizes[0]

    @property
    def bends(self) -> float:
        """What one more takes in the last part of the range, as a multiple of the first part: 1 is linear."""
        first = self._between(0, 1)
        return self._between(-2, -1) / first if first else 0.0

    def _between(self, one: int, other: int) -> float:
        return (self.seconds[other] - self.seconds[one]) / (self.sizes[other] - self.sizes[one])


@dataclass(frozen=True)
class Measured:
    """What one measurement came to, and when: figures with bounds, or costs at several sizes."""

    date: str
    figures: tuple[Figure, ...] = ()
    lines: tuple[Line, ...] = ()
