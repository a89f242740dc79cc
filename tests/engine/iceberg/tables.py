"""Iceberg tables that the format itself makes and changes, without SQL and Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.transaction.transaction import IcebergCommit
from engine.storage.storage import open_storage
from engine.tables.definition_changes import DefinitionChange, set_properties
from engine.tables.operations import CommitDescription, TableOperation
from engine.types.schema import StructType, parse_data_type

DESCRIPTION = CommitDescription(name="TEST", operation=TableOperation.METADATA)


def columns(**types: Any) -> StructType:
    """Names and types as in Spark's JSON schemas; a tuple includes metadata, a final `!` is NOT NULL."""
    fields = []
    for name, said in types.items():
        kind, metadata = said if isinstance(said, tuple) else (said, {})
        required = isinstance(kind, str) and kind.endswith("!")
        kind = kind.rstrip("!") if isinstance(kind, str) else kind
        fields.append({"name": name, "type": kind, "nullable": not required, "metadata": metadata})
    found = parse_data_type({"type": "struct", "fields": fields})
    assert isinstance(found, StructType)
    return found


class OwnTable:
    """A table in a folder; every change is a commit."""

    def __init__(
        self,
        folder: Path,
        schema: StructType,
        *changes: DefinitionChange,
        partitions: tuple[str, ...] = (),
        **settings: str,
    ) -> None:
        self.folder = folder
        self.format = IcebergFormat(open_storage, 1 << 24)
        properties = set_properties({key.replace("_", "-"): value for key, value in settings.items()})
        definition = self.format.define("t", schema, partitions, [*properties, *changes], {})
        self.format.create(str(folder), definition, DESCRIPTION, 0).commit()

    @property
    def snapshot(self) -> IcebergSnapshot:
        return self.format.load(str(self.folder))

    def alter(self, *changes: DefinitionChange) -> IcebergCommit:
        snapshot = self.snapshot
        transaction = self.format.begin(snapshot, DESCRIPTION, "t")
        transaction.define(snapshot.change_definition("t", changes))
        return transaction.commit()

    @property
    def metadata(self) -> dict[str, Any]:
        """Returns the newest version."""
        number = (self.folder / "metadata" / "version-hint.text").read_text()
        (found,) = (self.folder / "metadata").glob(f"v{number}.*metadata.json")
        value: dict[str, Any] = json.loads(found.read_bytes())
        return value
