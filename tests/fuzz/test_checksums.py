"""Whatever a version checksum's bytes are, it is a value or `MalformedLogEntry` with the file's name."""

from __future__ import annotations

from hypothesis import given

from engine.delta.checksum import parse_checksum
from engine.delta.errors import MalformedLogEntry
from tests.fuzz.mutations import anything
from tests.paths import TESTDATA

SEEDS = [path.read_bytes() for path in sorted(TESTDATA.glob("delta/**/_delta_log/0*.crc"))]


@given(anything(SEEDS))
def test_a_value_or_one_named_error(data: bytes) -> None:
    try:
        parse_checksum(data, "some.crc")
    except MalformedLogEntry as error:
        assert "some.crc" in str(error)
