"""A hand-made table for each table feature, in which the feature is in use.

If readers must support the feature, a reader without it returns wrong rows, unless the table is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from engine.storage.deletion_vectors import format_rows, z85_encode
from tests.handmade import Part, column, mapped, protocol, write_table


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureTable:
    """`shown` is an expression over the columns, `values` are its sorted results over all rows."""

    # `readerFeatures`, which are in `writerFeatures` as well.
    reader: tuple[str, ...] = ()
    writer: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[dict[str, Any], ...] = (column("id", "long"),)
    rows: pa.Table = field(default_factory=lambda: _IDS)
    # Additional `add` keys.
    keys: Mapping[str, Any] = field(default_factory=dict)
    shown: str = "id"
    values: tuple[Any, ...] = (1, 2, 3)
    is_read: bool = True
    is_appended: bool = True

    def write(self, root: Path) -> None:
        part = Part(name="a.parquet", rows=self.rows, keys=self.keys)
        listed = protocol(*self.reader, writer=self.writer)
        write_table(root, self.columns, [part], table_protocol=listed, configuration=self.configuration)


def of_writers(*names: str, **configuration: str) -> FeatureTable:
    """Features that only writers have to know."""
    return FeatureTable(writer=names, configuration=_keys(configuration))


def read_only(*names: str, **configuration: str) -> FeatureTable:
    """Features whose tables we do not append to."""
    return replace(of_writers(*names, **configuration), is_appended=False)


def refused(*reader: str, writer: tuple[str, ...] = (), **configuration: str) -> FeatureTable:
    """Features whose tables we do not read either."""
    keys = _keys(configuration)
    return FeatureTable(reader=reader, writer=writer, configuration=keys, is_read=False, is_appended=False)


def with_twice(name: str, metadata: Mapping[str, Any]) -> FeatureTable:
    """Returns a table for a writer feature that column metadata requires, with the values 2, 4 and 6."""
    columns = (column("id", "long"), column("twice", "long") | {"metadata": metadata})
    rows = _IDS.append_column("twice", pa.array([2, 4, 6], pa.int64()))
    return FeatureTable(writer=(name,), columns=columns, rows=rows, shown="twice", values=(2, 4, 6))


def iceberg(*writer: str, **configuration: str) -> FeatureTable:
    """Returns a table for Iceberg's readers, whose columns are mapped."""
    keys = {**_MAPPED.configuration, **_keys(configuration)}
    return replace(_MAPPED, writer=writer, configuration=keys, is_appended=False)


def renamed(table: FeatureTable, old: str, new: str) -> FeatureTable:
    """Returns the same table with another feature name."""
    reader, writer = (tuple(new if name == old else name for name in names) for names in (table.reader, table.writer))
    return replace(table, reader=reader, writer=writer)


def _keys(configuration: Mapping[str, str]) -> dict[str, str]:
    """Underscores stand for dots."""
    return {f"delta.{key.replace('_', '.')}": value for key, value in configuration.items()}


def _variants() -> pa.Array:
    """Three times the number 7: version 1 without a dictionary, and an int8 (Parquet, "Variant Binary Encoding")."""
    parts = [pa.array([b"\x0c\x07"] * 3), pa.array([b"\x01\x00\x00"] * 3)]
    return pa.StructArray.from_arrays(parts, names=["value", "metadata"])


def _second_row_deleted() -> dict[str, Any]:
    data = format_rows(np.array([1], np.uint64))
    place = z85_encode(data + bytes(-len(data) % 4))
    vector = {"storageType": "i", "pathOrInlineDv": place, "sizeInBytes": len(data), "cardinality": 1}
    return {"stats": '{"numRecords": 3}', "deletionVector": vector}


_IDS: pa.Table = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
_MAPPED = FeatureTable(
    reader=("columnMapping",),
    configuration=_keys({"columnMapping_mode": "name", "columnMapping_maxColumnId": "1"}),
    columns=(mapped("id", "long", 1, "col-7"),),
    rows=_IDS.rename_columns(["col-7"]),
)
_WITHOUT_ZONE = FeatureTable(
    reader=("timestampNtz",),
    columns=(column("t", "timestamp_ntz"),),
    rows=pa.table({"t": pa.array([0, 86_400_000_000, 2 * 86_400_000_000], pa.timestamp("us"))}),
    shown="CAST(day(t) AS BIGINT)",
)
_WIDENED = FeatureTable(
    reader=("typeWidening",),
    columns=(column("id", "long", delta_typeChanges=[{"fromType": "integer", "toType": "long"}]),),
    rows=pa.table({"id": pa.array([1, 2, 3], pa.int32())}),
)
_VARIANT = FeatureTable(
    reader=("variantType",),
    columns=(column("v", "variant"),),
    rows=pa.table({"v": _variants()}),
    shown="CAST(v AS BIGINT)",
    values=(7, 7, 7),
)
_SHREDDED = replace(
    _VARIANT, reader=("variantShredding", "variantType"), configuration=_keys({"enableVariantShredding": "true"})
)
_CLUSTERED = of_writers("clustering", "domainMetadata")
_COLLATED = replace(
    read_only("collations"),
    columns=(
        column("id", "long"),
        column("s", "string") | {"metadata": {"__COLLATIONS": {"s": "ICU.UNICODE_CI.75.1"}}},
    ),
)
_OF_A_CATALOG = refused(
    "catalogManaged", "vacuumProtocolCheck", writer=("inCommitTimestamp",), enableInCommitTimestamps="true"
)

FEATURE_TABLES: Mapping[str, FeatureTable] = MappingProxyType(
    {
        "appendOnly": of_writers("appendOnly", appendOnly="true"),
        "invariants": with_twice("invariants", {"delta.invariants": '{"expression": {"expression": "twice > 1"}}'}),
        "checkConstraints": of_writers("checkConstraints", constraints_positive="id > 0"),
        "changeDataFeed": of_writers("changeDataFeed", enableChangeDataFeed="true"),
        "generatedColumns": with_twice("generatedColumns", {"delta.generationExpression": "id * 2"}),
        "columnMapping": _MAPPED,
        "identityColumns": with_twice(
            "identityColumns",
            {
                "delta.identity.start": 2,
                "delta.identity.step": 2,
                "delta.identity.highWaterMark": 6,
                "delta.identity.allowExplicitInsert": True,
            },
        ),
        "deletionVectors": FeatureTable(reader=("deletionVectors",), keys=_second_row_deleted(), values=(1, 3)),
        "rowTracking": replace(
            of_writers("rowTracking", "domainMetadata", enableRowTracking="true"),
            keys={"baseRowId": 0, "defaultRowCommitVersion": 0, "stats": '{"numRecords": 3}'},
        ),
        "timestampNtz": _WITHOUT_ZONE,
        "timestampWithoutTimezone": renamed(_WITHOUT_ZONE, "timestampNtz", "timestampWithoutTimezone"),
        "domainMetadata": of_writers("domainMetadata"),
        "v2Checkpoint": FeatureTable(reader=("v2Checkpoint",), configuration=_keys({"checkpointPolicy": "v2"})),
        "catalogManaged": _OF_A_CATALOG,
        "catalogOwned-preview": renamed(_OF_A_CATALOG, "catalogManaged", "catalogOwned-preview"),
        "icebergCompatV1": iceberg("icebergCompatV1", enableIcebergCompatV1="true"),
        "icebergCompatV2": iceberg("icebergCompatV2", enableIcebergCompatV2="true"),
        "clustering": _CLUSTERED,
        "liquid": renamed(_CLUSTERED, "clustering", "liquid"),
        "vacuumProtocolCheck": FeatureTable(reader=("vacuumProtocolCheck",)),
        "inCommitTimestamp": of_writers("inCommitTimestamp", enableInCommitTimestamps="true"),
        "typeWidening": _WIDENED,
        "typeWidening-preview": renamed(_WIDENED, "typeWidening", "typeWidening-preview"),
        "variantType": _VARIANT,
        "variantType-preview": renamed(_VARIANT, "variantType", "variantType-preview"),
        "variantShredding": _SHREDDED,
        "variantShredding-preview": renamed(_SHREDDED, "variantShredding", "variantShredding-preview"),
        "allowColumnDefaults": with_twice("allowColumnDefaults", {"CURRENT_DEFAULT": "8"}),
        "checkpointProtection": replace(
            of_writers("checkpointProtection"), configuration={"delta.requireCheckpointProtectionBeforeVersion": "1"}
        ),
        "materializePartitionColumns": read_only(
            "materializePartitionColumns", enableMaterializePartitionColumnsFeature="true"
        ),
        "icebergCompatV3": iceberg("icebergCompatV3", "rowTracking", "domainMetadata", enableIcebergCompatV3="true"),
        "icebergWriterCompatV1": iceberg(
            "icebergWriterCompatV1",
            "icebergCompatV2",
            enableIcebergWriterCompatV1="true",
            enableIcebergCompatV2="true",
        ),
        "icebergWriterCompatV3": iceberg(
            "icebergWriterCompatV3",
            "icebergCompatV3",
            "rowTracking",
            "domainMetadata",
            enableIcebergWriterCompatV3="true",
            enableIcebergCompatV3="true",
        ),
        "collations": _COLLATED,
        "collations-preview": renamed(_COLLATED, "collations", "collations-preview"),
        "geospatial": refused("geospatial"),
        "geospatial-dev": refused("geospatial-dev"),
        "adaptiveMetadata-preview": refused("adaptiveMetadata-preview"),
        "coordinatedCommits-preview": replace(
            read_only("coordinatedCommits-preview", "inCommitTimestamp", "vacuumProtocolCheck"),
            configuration={"delta.coordinatedCommits.commitCoordinator-preview": "dynamodb"},
        ),
        "redirectReaderWriter-preview": replace(
            refused("redirectReaderWriter-preview"), configuration={"delta.redirectReaderWriter-preview": "{}"}
        ),
        "redirectWriterOnly-preview": replace(
            read_only("redirectWriterOnly-preview"), configuration={"delta.redirectWriterOnly-preview": "{}"}
        ),
        "columnMappingUsageTracking": read_only("columnMappingUsageTracking"),
        "concurrentIdentityColumns": read_only("concurrentIdentityColumns"),
        "timestampNanos": refused("timestampNanos"),
    }
)
