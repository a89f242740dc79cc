"""A Flight port over a scripted engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.flight.lab import Lab


@pytest.fixture
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.close()
