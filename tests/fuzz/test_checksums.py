"""Whatever a version checksum's bytes are, it is a value or `MalformedLogEntry` with the file's name."""

from __future__ import annotations

from hypothesis import given

from catalog.conditions import MalformedLogEntry
from engine.delta.snapshot.checksum import parse_checksum
from tests.fuzz.mutations import anything
from tests.fuzz.seeds import CHECKSUMS, foreign

SEEDS = [*CHECKSUMS, *foreign("_delta_log/0*.crc")]


def test_the_own_seeds_are_checksums() -> None:
    for seed in CHECKSUMS:
        assert parse_checksum(seed, "seed").num_files == 1


@given(anything(SEEDS))
def test_a_value_or_one_named_error(data: bytes) -> None:
    try:
        parse_checksum(data, "some.crc")
    except MalformedLogEntry as error:
        assert "some.crc" in str(error)
