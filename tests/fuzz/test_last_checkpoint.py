"""Any hint bytes yield a hint or None, never an exception."""

from __future__ import annotations

import json

from hypothesis import given

from engine.delta.spec.last_checkpoint import LastCheckpoint, parse_last_checkpoint
from tests.fuzz.mutations import anything
from tests.fuzz.seeds import HINTS, foreign

SEEDS = [*HINTS, *foreign("_last_checkpoint")]


def test_the_own_seeds_are_hints() -> None:
    assert [hint and hint.version for hint in map(parse_last_checkpoint, HINTS)] == [10, 10, 3]


@given(anything(SEEDS))
def test_a_hint_or_none(data: bytes) -> None:
    hint = parse_last_checkpoint(data)
    if hint is not None:
        assert isinstance(hint, LastCheckpoint) and isinstance(hint.version, int)
        json.dumps(hint.to_json())
