"""Whatever statistics are, parsing gives a row for each text and never raises."""

from __future__ import annotations

import json

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.conditions import MalformedLogEntry
from engine.delta.snapshot.file_stats import parse_stats
from engine.delta.spec.stats import parse_file_stats
from tests.engine.delta.snapshot.test_file_stats import STATS
from tests.fuzz.mutations import anything

BOUNDS = {
    "i": 1,
    "l": 2,
    "x": 1.5,
    "c": 1.25,
    "d": "2024-01-01",
    "t": "2024-01-01T00:00:00.000Z",
    "n": "2024-01-01T00:00:00",
    "s": {"q": "a"},
}
SEEDS = [
    json.dumps(
        {"numRecords": 1, "minValues": BOUNDS, "maxValues": BOUNDS, "nullCount": {"i": 0, "s": {"q": 1}}}
    ).encode(),
    b'{"numRecords":3,"tightBounds":false}',
    b"{}",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(anything(SEEDS), max_size=4))
def test_a_row_for_each_text(data: list[bytes]) -> None:
    texts = [one.decode(errors="replace") for one in data]
    batch = parse_stats(pa.array(texts, pa.string()), STATS)
    batch.validate(full=True)
    assert batch.schema == STATS and len(batch) == len(texts)


@given(anything(SEEDS))
def test_file_statistics_parse_or_raise_malformed_log_entry(data: bytes) -> None:
    try:
        stats = parse_file_stats(data.decode(errors="replace"))
    except MalformedLogEntry:
        return
    assert parse_file_stats(stats.to_json()) == stats
