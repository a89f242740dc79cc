"""Metrics of the server as values: the data model of Prometheus' exposition format.

A family has a name with a unit, a description, and samples that differ in their labels. Label values come from closed
sets, so that a family has a bounded number of samples. A histogram has three kinds of samples: `_bucket` with the label
`le`, cumulative, then `_sum` and `_count`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

# Upper bounds in seconds: a stage may take a fraction of a millisecond, a statement minutes.
LATENCY_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

Labels = Mapping[str, str]


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Sample:
    """One value; `suffix` follows the family name."""

    value: float
    labels: Labels = field(default_factory=dict)
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class MetricFamily:
    name: str
    kind: MetricKind
    description: str
    samples: tuple[Sample, ...]


def gauge(name: str, description: str, value: float) -> MetricFamily:
    """Returns a family with one value, without labels."""
    return MetricFamily(name, MetricKind.GAUGE, description, (Sample(value),))


def counter(name: str, description: str, value: float) -> MetricFamily:
    """Returns a family with one counter, without labels; by convention its name ends in `_total`."""
    return MetricFamily(name, MetricKind.COUNTER, description, (Sample(value),))


def family_with_labels(
    kind: MetricKind, name: str, description: str, values: Iterable[tuple[Labels, float]]
) -> MetricFamily:
    """Returns a family with one sample for each combination of labels."""
    return MetricFamily(name, kind, description, tuple(Sample(value, labels) for labels, value in values))


class Latencies:
    """A histogram of durations. Not thread-safe."""

    def __init__(self, bounds_s: tuple[float, ...] = LATENCY_BUCKETS_S) -> None:
        self._bounds = bounds_s
        self._counts = [0] * (len(bounds_s) + 1)
        self.sum_s = 0.0

    @property
    def count(self) -> int:
        """Returns the number of added durations."""
        return sum(self._counts)

    def add(self, seconds: float) -> None:
        """Adds a duration to the bucket with the smallest bound that is not below it."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self.sum_s += seconds

    def samples(self, labels: Labels) -> Iterator[Sample]:
        """Yields the samples of the histogram."""
        total = 0
        for bound, count in zip((*self._bounds, None), self._counts, strict=True):
            total += count
            le = "+Inf" if bound is None else f"{bound:g}"
            yield Sample(total, {**labels, "le": le}, "_bucket")
        yield Sample(self.sum_s, labels, "_sum")
        yield Sample(total, labels, "_count")
