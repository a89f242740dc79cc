"""Random statement histories: after each, three readers and older snapshots have a model's rows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.iceberg.written_history import History
from tests.samples import some

pytestmark = pytest.mark.spark


def follow(session: LakeSession, lake: Path, seed: int, steps: int, every: int) -> None:
    history = History(session, lake / "default", random.Random(seed), f"h{seed}")
    history.create()
    history.insert()
    for number in range(steps):
        history.step()
        if number % every == every - 1:
            history.check()
    history.check()
    history.check_tags()


@pytest.mark.parametrize("seed", some((3, 8), (8,)))
def test_readers_agree_with_the_model(session: LakeSession, lake: Path, seed: int) -> None:
    follow(session, lake, seed, steps=7, every=4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_readers_agree_with_the_model_after_each_statement(session: LakeSession, lake: Path, seed: int) -> None:
    follow(session, lake, seed, steps=30, every=1)
