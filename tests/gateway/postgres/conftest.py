"""A PostgreSQL port over a scripted engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.postgres.lab import Lab, Wire, opened


@pytest.fixture
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.close()


@pytest.fixture
def wire(lab: Lab) -> Iterator[Wire]:
    with opened(lab.port) as wire:
        yield wire
