"""A service over a scripted engine, with a client and its session."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from gateway.hs2 import service as service_module
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.gateway.arrow_engine import ArrowEngine
from tests.gateway.hs2.wire import Lab, open_session


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setattr(service_module, "FIRST_HOLD_S", 0.05)
    monkeypatch.setattr(service_module, "HOLD_S", 0.05)
    monkeypatch.setattr(service_module, "EXTENDED_HOLD_S", 0.05)
    lab = Lab(ArrowEngine(tables={("default", "t"): pa.table({"i": [1]}), ("lab", "u"): pa.table({"s": ["x"]})}))
    yield lab
    lab.registry.drain(0)


@pytest.fixture
def client(lab: Lab) -> ThriftClient:
    return lab.client()


@pytest.fixture
def session(client: ThriftClient) -> t.TSessionHandle:
    return open_session(client)
