"""Tables whose metadata declares a file format other than Parquet are neither read nor written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.conditions import UnsupportedFileFormat
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Format
from engine.tables.operations import TableOperation
from tests.engine.delta.log_builder import METADATA, PROTOCOL, LogBuilder


def _load(provider: str) -> Snapshot:
    log = LogBuilder()
    log.commit(PROTOCOL, replace(METADATA, format=Format(provider=provider)))
    return Snapshot.load(log.storage)


@pytest.mark.parametrize("provider", ["orc", "csv", "json", "delta", ""])
@pytest.mark.parametrize("operation", TableOperation)
def test_unsupported_file_format_is_rejected(provider: str, operation: TableOperation) -> None:
    snapshot = _load(provider)
    assert snapshot.version == 0 and snapshot.schema.names
    with pytest.raises(UnsupportedFileFormat, match=repr(provider)):
        snapshot.config.ensure_supported(operation)


@pytest.mark.parametrize("provider", ["parquet", "Parquet", "PARQUET"])
def test_parquet_in_any_case(provider: str) -> None:
    for operation in (TableOperation.READ, TableOperation.APPEND):
        _load(provider).config.ensure_supported(operation)
