"""A Delta table's data files for use by tables in other formats.

Columns are found by their names in the files, which with column mapping are the physical names. Most files in tables
with column mapping have column ids too. The other formats reject types that they do not support.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.definition.table_config import DeltaConfig
from engine.delta.schema.column_mapping import BY_ID, NO_MAPPING, column_id, physical_name
from engine.delta.spec.properties import COLUMN_MAPPING_MAX_ID
from engine.tables.column_metadata import DEFAULT
from engine.tables.scan import FIELD_ID
from engine.tables.shared_files import STORED_NAMES, SharedFiles
from engine.types.schema import StructField, map_fields

_SHARED_METADATA = frozenset({"comment", DEFAULT})


def shared_files(config: DeltaConfig, files: pa.Table) -> SharedFiles:
    """Returns all live files."""
    mode = config.column_mapping_mode

    def stored_field(item: StructField) -> StructField:
        number = column_id(item) if mode != NO_MAPPING else None
        metadata = {key: value for key, value in item.metadata.items() if key in _SHARED_METADATA}
        metadata |= {STORED_NAMES: (physical_name(item, mode),), **({} if number is None else {FIELD_ID: number})}
        return replace(item, metadata=metadata)

    maps = files["partition_values"]
    values = {
        # `partitionValues` is keyed by physical name; a repeated key counts once, as in
        # JSON.
        name: pc.map_lookup(maps, query_key=key, occurrence="last").combine_chunks()
        for name, key in zip(config.partition_columns, config.partition_keys, strict=True)
    }
    return SharedFiles(
        schema=map_fields(config.schema, stored_field),
        partition_columns=config.partition_columns,
        partition_values=values,
        files=files,
        # New columns in the other table must not get an id that a dropped column had: its
        # values are still in the files.
        max_id=config.get(COLUMN_MAPPING_MAX_ID) if mode != NO_MAPPING else 0,
        by_names=mode != BY_ID,
    )
