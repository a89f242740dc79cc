"""Prometheus' text format, read and linted as `promtool check metrics` does it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)')  # fmt: skip
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
# Per family: a larger one has an unbounded label.
SERIES_MAX = 400
UNITS = ("seconds", "bytes", "info", "fds")
NOT_BASE_UNITS = ("ms", "milliseconds", "minutes", "hours", "kilobytes", "megabytes", "mb", "kb", "percent")


@dataclass
class Family:
    name: str
    description: str
    kind: str = ""
    samples: dict[str, float] = field(default_factory=dict)


def read_exposition(text: str) -> dict[str, Family]:
    """Returns the families by name; asserts that the text is well-formed."""
    assert text.endswith("\n")
    found: dict[str, Family] = {}
    current = Family("", "")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, description = line.split(" ", 3)
            assert name not in found and description, line
            current = found[name] = Family(name, description)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current.name and not current.kind and not current.samples, line
            assert kind in ("counter", "gauge", "histogram"), line
            current.kind = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            suffixes = ("_bucket", "_sum", "_count") if current.kind == "histogram" else ("",)
            assert name in [current.name + suffix for suffix in suffixes], line
            assert labels is None or LABEL.sub("", labels) == "", line
            key = line.rpartition(" ")[0]
            assert key not in current.samples, line
            current.samples[key] = float(value)
    return found


def lint(families: dict[str, Family]) -> list[str]:
    """Returns naming problems in the families."""
    problems = []
    for family in families.values():
        words = family.name.split("_")
        if (words[-1] == "total") is not (family.kind == "counter"):
            problems.append(f"{family.name}: counters, and nothing else, end in _total")
        if set(words) & set(NOT_BASE_UNITS):
            problems.append(f"{family.name}: not a base unit")
        if family.kind == "histogram":
            problems += _histogram_problems(family)
        if len(family.samples) > SERIES_MAX:
            problems.append(f"{family.name}: {len(family.samples)} series")
        if not family.description.endswith("."):
            problems.append(f"{family.name}: {family.description}")
    return problems


def _histogram_problems(family: Family) -> list[str]:
    problems, buckets = [], defaultdict[str, list[tuple[float, float]]](list)
    for key, value in family.samples.items():
        if key.startswith(f"{family.name}_bucket"):
            le = re.search(r',?le="([^"]+)"', key)
            assert le, key
            buckets[key.replace(le[0], "").replace("_bucket", "_count").replace("{}", "")].append((float(le[1]), value))
    for count, found in buckets.items():
        bounds, values = zip(*found, strict=True)
        if list(bounds) != sorted(bounds) or list(values) != sorted(values) or bounds[-1] != float("inf"):
            problems.append(f"{count}: buckets are not cumulative, or do not end with +Inf")
        if values[-1] != family.samples[count]:
            problems.append(f"{count}: is not the last bucket")
    return problems


def samples(text: str) -> dict[str, float]:
    """Returns all values by name with labels."""
    return {key: value for family in read_exposition(text).values() for key, value in family.samples.items()}
