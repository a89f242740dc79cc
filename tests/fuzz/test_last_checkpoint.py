"""Whatever the hint's bytes are, it is a hint or None; it never raises."""

from __future__ import annotations

import json

from hypothesis import given

from engine.delta.spec.last_checkpoint import LastCheckpoint, parse_last_checkpoint
from tests.fuzz.mutations import anything
from tests.paths import TESTDATA

SEEDS = [path.read_bytes() for path in sorted(TESTDATA.glob("delta/**/_last_checkpoint"))]


@given(anything(SEEDS))
def test_a_hint_or_none(data: bytes) -> None:
    hint = parse_last_checkpoint(data)
    if hint is not None:
        assert isinstance(hint, LastCheckpoint) and isinstance(hint.version, int)
        json.dumps(hint.to_json())
