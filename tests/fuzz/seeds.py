"""Table files that the fuzz tests damage: generated ones, and other engines' if available.

Generated files have every kind of action and column, so that a run without other engines' tables still reaches every
parser branch.
"""

from __future__ import annotations

import json
import zlib

import numpy as np

from engine.storage.deletion_vectors import format_rows
from tests.paths import TESTDATA


def foreign(pattern: str, *, bytes_max: int | None = None) -> list[bytes]:
    """Returns matching files below the foreign tables; none without these tables."""
    files = sorted(path for path in TESTDATA.glob(f"delta/**/{pattern}") if path.is_file())
    return [path.read_bytes() for path in files if bytes_max is None or path.stat().st_size < bytes_max]


def _field(name: str, data_type: object, **metadata: object) -> dict[str, object]:
    return {"name": name, "type": data_type, "nullable": name != "id", "metadata": metadata}


_STRUCT = {"type": "struct", "fields": [_field("x", "double"), _field("y", "decimal(10,2)")]}
_SCHEMA = {
    "type": "struct",
    "fields": [
        _field(
            "id", "long", **{"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicit": True}
        ),
        _field("day", "date", **{"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}),
        _field("name", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(5)", comment="a 'name'"),
        _field("year", "integer", **{"delta.generationExpression": "year(day)"}),
        _field("tags", {"type": "map", "keyType": "string", "valueType": "binary", "valueContainsNull": True}),
        _field("places", {"type": "array", "elementType": _STRUCT, "containsNull": False}),
        _field("at", "timestamp_ntz", CURRENT_DEFAULT="current_timestamp()"),
    ],
}
_PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["columnMapping", "deletionVectors", "timestampNtz"],
    "writerFeatures": ["columnMapping", "deletionVectors", "timestampNtz", "identityColumns", "domainMetadata"],
}
_METADATA = {
    "id": "4b0f1c5e-0000-4000-8000-000000000001",
    "name": "sales",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": json.dumps(_SCHEMA),
    "partitionColumns": ["day"],
    "configuration": {"delta.columnMapping.mode": "name", "delta.constraints.c": "id > 0"},
    "createdTime": 1700000000000,
}
_VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
_ADD = {
    "path": "day=2024-01-01/part-0%20a.parquet",
    "partitionValues": {"col-2": "2024-01-01"},
    "size": 841,
    "modificationTime": 1700000000123,
    "dataChange": True,
    "stats": json.dumps({"numRecords": 3, "minValues": {"id": 1}, "maxValues": {"id": 3}, "nullCount": {"id": 0}}),
    "tags": {"t": "v"},
    "deletionVector": _VECTOR,
    "baseRowId": 7,
    "defaultRowCommitVersion": 2,
    "clusteringProvider": "liquid",
}
_REMOVE = {
    "path": "part-1.parquet",
    "deletionTimestamp": 1700000000456,
    "dataChange": True,
    "extendedFileMetadata": True,
    "partitionValues": {"col-2": None},
    "size": 5,
}
_CDC = {"path": "_change_data/cdc-0.parquet", "partitionValues": {"col-2": "x"}, "size": 9, "dataChange": False}
_DOMAIN = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["id"]]}', "removed": False}
_TRANSACTION = {"appId": "app", "version": 5, "lastUpdated": 1700000000000}
_COMMIT_INFO = {
    "timestamp": 1700000000789,
    "inCommitTimestamp": 1700000000789,
    "operation": "WRITE",
    "operationParameters": {"mode": "Append", "partitionBy": "[]"},
    "operationMetrics": {"numFiles": "1"},
    "isBlindAppend": True,
    "txnId": "6f0c2d3e-0000-4000-8000-000000000001",
}


def _lines(*actions: dict[str, object]) -> bytes:
    return b"".join(json.dumps(action, separators=(",", ":")).encode() + b"\n" for action in actions)


COMMITS = [
    _lines({"commitInfo": _COMMIT_INFO}, {"protocol": _PROTOCOL}, {"metaData": _METADATA}, {"add": _ADD}),
    _lines({"commitInfo": _COMMIT_INFO}, {"add": _ADD}, {"remove": _REMOVE}, {"txn": _TRANSACTION}, {"cdc": _CDC}),
    _lines({"domainMetadata": _DOMAIN}, {"remove": _REMOVE}, {"someThingNew": {"x": 1}}),
]
SCHEMAS = [json.dumps(_SCHEMA).encode(), json.dumps(_STRUCT).encode()]
CHECKSUMS = [
    json.dumps(
        {
            "txnId": _COMMIT_INFO["txnId"],
            "tableSizeBytes": 841,
            "numFiles": 1,
            "numMetadata": 1,
            "numProtocol": 1,
            "protocol": _PROTOCOL,
            "metadata": _METADATA,
            "setTransactions": [_TRANSACTION],
            "domainMetadata": [_DOMAIN],
            "histogramOpt": {"sortedBinBoundaries": [0, 8192], "fileCounts": [1, 0], "totalBytes": [841, 0]},
            "allFiles": [_ADD],
        }
    ).encode()
]
HINTS = [
    b'{"version":10,"size":3}',
    b'{"version":10,"size":3,"parts":2,"sizeInBytes":1000,"numOfAddFiles":2,"checkpointSchema":{"type":"struct","fields":[]}}',
    json.dumps(
        {"version": 3, "size": 9, "v2Checkpoint": {"path": "x.json", "sizeInBytes": 1, "sidecarFiles": []}}
    ).encode(),
]


def _vector_file(*vectors: bytes) -> bytes:
    """Returns bytes as in the protocol: the format's version, then each vector's size, data and checksum."""
    frames = b"".join(len(data).to_bytes(4, "big") + data + zlib.crc32(data).to_bytes(4, "big") for data in vectors)
    return b"\x01" + frames


VECTORS = [
    format_rows(np.arange(5000, dtype=np.int64) * 2),
    format_rows(np.arange(70_000, dtype=np.int64)),
    format_rows(np.array([1, 2**20, 2**33, 2**40], np.int64)),
]
VECTOR_FILES = [_vector_file(*VECTORS[:1]), _vector_file(*VECTORS)]
