"""A table's live files, offered unchanged to another table.

Files must be self-describing, without the table's metadata: without deleted rows, with the table's column names, and
with field ids, if any, equal to the ids that the other table gives these names.

Source: Iceberg documentation, "Spark procedures", "add_files"; table specification, "Column Projection".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.binding.bound import BoundTable
from engine.formats.iceberg.procedures.foreign_files import NotTaken, ensure_columns, has_ids
from engine.formats.iceberg.procedures.named_columns import Naming, named_columns
from engine.iceberg.snapshot.snapshot import FORMAT
from engine.iceberg.spec.types import IcebergField
from engine.storage.paths import is_absolute_path
from engine.storage.storage import Storage
from engine.tables.shared_files import STORED_NAMES
from engine.tables.source_files import FolderFile
from engine.types.schema import StructField, map_fields

# A file with its partition values by folded column name.
SaidFile = tuple[FolderFile, dict[str, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """`files` below the folder in `storage`; messages call their origin `label`."""

    label: str
    storage: Storage
    files: list[SaidFile]
    is_table: bool = False


def table_files(source: BoundTable) -> SourceFiles:
    """Returns all live files. Raises `NotTaken`, and like `TableSnapshot.shared_files`."""
    shared = source.snapshot.shared_files(source.label, FORMAT)
    files = shared.files
    if files["deletion_vector"].null_count < files.num_rows:
        raise NotTaken("it has rows that are deleted by position, and its files do not tell which")
    if shared.filled:
        raise NotTaken("it has a default for a column that files may lack, which the table would not have for them")

    def ensure_name(field: StructField) -> StructField:
        names = field.metadata.get(STORED_NAMES)
        if names is not None and tuple(names)[:1] != (field.name,):
            raise NotTaken(f"its column {field.name} is called otherwise in its files (column mapping)")
        return field

    map_fields(shared.schema, ensure_name)
    paths = files["path"].to_pylist()
    elsewhere = next(filter(is_absolute_path, paths), None)
    if elsewhere is not None:
        raise NotTaken(f"{elsewhere} lies outside of the folder of the table")
    names = [name.casefold() for name in shared.partition_columns]
    texts = [shared.partition_values[name].to_pylist() for name in shared.partition_columns]
    said = [
        (
            FolderFile(path=path, size=size, modification_time=0),
            {name: text or None for name, text in zip(names, values, strict=True)},
        )
        for path, size, *values in zip(paths, files["size"].to_pylist(), *texts, strict=True)
    ]
    return SourceFiles(label=source.label, storage=source.snapshot.storage, files=said, is_table=True)


def ensure_same_columns(footer: Any, fields: Sequence[IcebergField], of_partitions: frozenset[int]) -> None:
    """Raises `NotTaken` for a table's file whose columns differ from the `fields` with their names."""
    found = list(footer.schema.to_arrow_schema())
    naming = Naming(by_names=True, has_ids=any(map(has_ids, found)))
    columns = named_columns(found, fields, naming)
    ensure_columns(columns, footer, fields, of_partitions)
    if not {each.name for each in columns} & {each.name for each in fields}:
        raise NotTaken("it has no column of the table")
