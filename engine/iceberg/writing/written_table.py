"""The table attributes that manifests need, from its metadata's JSON.

Source: Iceberg table specification, "Manifests".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from engine.iceberg.spec.json_values import JsonObject
from engine.iceberg.spec.partitions import PartitionField, PartitionSpec, Transform, TransformKind, read_spec_fields
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, read_schema, walk
from engine.iceberg.writing.avro_file import CODECS, Codec

CODEC = "write.manifest.compression-codec"
TARGET_BYTES = "commit.manifest.target-size-bytes"
_TARGET_BYTES_DEFAULT = 8 << 20
_INTS = frozenset([TransformKind.BUCKET, TransformKind.YEAR, TransformKind.MONTH, TransformKind.HOUR])


@dataclass(frozen=True)
class WrittenTable:
    """`metadata` is one table version's JSON; nothing here depends on its snapshots."""

    metadata: Mapping[str, Any]

    @property
    def format_version(self) -> int:
        """Returns the version of the format: 1, 2 or 3."""
        return int(self.metadata["format-version"])

    @property
    def location(self) -> str:
        """Returns the table's location without a final slash."""
        return str(self.metadata["location"]).rstrip("/")

    @property
    def properties(self) -> Mapping[str, str]:
        """Returns the table properties; an empty mapping if the metadata has none."""
        return self.metadata.get("properties") or {}

    @cached_property
    def schema_json(self) -> Mapping[str, Any]:
        """Returns the current schema's JSON."""
        current = self.metadata.get("current-schema-id")
        found = [each for each in self.metadata.get("schemas") or () if each.get("schema-id", 0) == current]
        schema: Mapping[str, Any] = found[0] if found else self.metadata["schema"]
        return schema

    @cached_property
    def schema(self) -> IcebergSchema:
        """Returns the current schema. Raises `MalformedIcebergFile`."""
        return read_schema(JsonObject(dict(self.schema_json), "a schema", self.location), self.location)

    @cached_property
    def fields(self) -> Mapping[int, IcebergField]:
        """Returns the fields of every schema that the table has had, by id, nested ones too; the newest wins."""
        found: dict[int, IcebergField] = {}
        for each in self.metadata.get("schemas") or ():
            found |= {field.id: field for _, field in walk(self._schema(each).struct)}
        return MappingProxyType(found | {field.id: field for _, field in walk(self.schema.struct)})

    def _schema(self, json_: Mapping[str, Any]) -> IcebergSchema:
        return read_schema(JsonObject(dict(json_), "a schema", self.location), self.location)

    @cached_property
    def specs(self) -> Mapping[int, PartitionSpec]:
        """Returns the partition specs by id, including specs no longer in use. Raises `MalformedIcebergFile`."""
        found = {}
        for each in self._specs_json:
            fields = [JsonObject(field, "a partition field", self.location) for field in each["fields"]]
            found[each["spec-id"]] = PartitionSpec(spec_id=each["spec-id"], fields=read_spec_fields(fields))
        return MappingProxyType(found)

    @cached_property
    def _specs_json(self) -> tuple[Mapping[str, Any], ...]:
        specs = self.metadata.get("partition-specs")
        return tuple(specs or ({"spec-id": 0, "fields": self.metadata.get("partition-spec") or []},))

    @property
    def default_spec_id(self) -> int:
        """Returns the id of the spec for new files; 0 if a v1 table lacks it."""
        return int(self.metadata.get("default-spec-id") or 0)

    def result_type(self, field: PartitionField) -> SimpleType | None:
        """Returns the type for a field's partition values; None if the transform or its column is unknown."""
        source = self.fields.get(field.source_id)
        if source is None or not isinstance(source.type, SimpleType):
            return None
        return result_type(field.transform, source.type)

    def header(self, spec_id: int, *, has_deletes: bool) -> dict[str, str]:
        """Returns a manifest's header entries."""
        spec = next(each for each in self._specs_json if each["spec-id"] == spec_id)
        header = {
            "schema": json.dumps(self.schema_json),
            "schema-id": str(self.schema_json.get("schema-id", 0)),
            "partition-spec": json.dumps(spec["fields"]),
            "partition-spec-id": str(spec_id),
            "format-version": str(self.format_version),
        }
        return header | ({} if self.format_version == 1 else {"content": "deletes" if has_deletes else "data"})

    @property
    def codec(self) -> Codec:
        """Returns the codec for manifests and lists; the default if unknown. Each Avro file records its codec."""
        return CODECS.get(self.properties.get(CODEC, "gzip").lower(), CODECS["gzip"])

    @property
    def manifest_target_bytes(self) -> int:
        """Returns `commit.manifest.target-size-bytes`, the size above which manifests are not merged."""
        return self.integer(TARGET_BYTES, _TARGET_BYTES_DEFAULT)

    def integer(self, name: str, default: int) -> int:
        """Returns a positive integer property; the default if invalid."""
        text = self.properties.get(name, "")
        return int(text) if text.isdecimal() and int(text) > 0 else default

    def flag(self, name: str, default: bool) -> bool:
        """Returns a boolean property; any text but `true`, in any case, is False, as in Iceberg's `PropertyUtil`."""
        text = self.properties.get(name)
        return default if text is None else text.lower() == "true"


def result_type(transform: Transform, source: SimpleType) -> SimpleType | None:
    """Returns a transform's result type for a source type; None for an unknown transform."""
    if transform.kind is TransformKind.UNKNOWN:
        return None
    if transform.kind in _INTS:
        return SimpleType(Kind.INT)
    return SimpleType(Kind.DATE) if transform.kind is TransformKind.DAY else source
