"""add_files: adds Parquet files from a folder, or from another table, to a table, in place.

Nothing is copied, and only the table's metadata is written. The files are never deleted, even if a later statement
removes them from the table, unless they are located in its folder. All files are checked before one is added. If they
belong to another table, the catalog records that this table needs them.

Source: Iceberg documentation, "Spark procedures", "add_files".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.changes import RecordClone
from catalog.conditions import IcebergProcedureRefused, MalformedIcebergFile, WrongArgument
from catalog.entries import CloneEntry
from engine.binding.sources import Sources
from engine.formats.iceberg.planning.plans import CallPlan
from engine.formats.iceberg.procedures.foreign_files import (
    NotTaken,
    ensure_foreign,
    extended_mapping,
    folder_texts,
    mapping_json,
    partition_fields,
    partition_values,
)
from engine.formats.iceberg.procedures.source_files import SaidFile, SourceFiles, ensure_same_columns, table_files
from engine.iceberg.definition.definition import IcebergDefinition
from engine.iceberg.definition.properties import NAME_MAPPING
from engine.iceberg.definition.shared_columns import name_mapping
from engine.iceberg.snapshot.footers import MappedName, file_columns, parse_name_mapping, read_footers
from engine.iceberg.spec.types import walk
from engine.iceberg.transaction.transaction import IcebergTransaction
from engine.iceberg.writing.new_files import FileSchema, IcebergNewFiles, describe_files, partitions_of
from engine.runtime.accesses import Commit
from engine.runtime.results import BIGINT, ResultStream, small_result
from engine.spark.execution_context import ExecutionContext
from engine.statements.procedures.statement import AddFiles
from engine.storage.storage import Storage, open_storage
from engine.tables.definition_changes import SetProperty
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.source_files import FolderFile
from engine.tables.transaction import DataFile

_READERS = 8
_COUNTS = {"added_files_count": BIGINT, "changed_partition_count": BIGINT}


def add_files(plan: CallPlan, procedure: AddFiles, context: ExecutionContext) -> ResultStream:
    """Runs add_files. Raises `IcebergProcedureRefused` for incompatible files, and files that the table already has."""
    definition = plan.snapshot.definition
    found = _found_files(plan, procedure, context.sources)
    try:
        fields = partition_fields(definition)
        selected = _selected_files(plan, procedure, found.files)
        data = [_data_file(each, partition_values(texts, fields, definition)) for each, texts in selected]
    except NotTaken as error:
        raise IcebergProcedureRefused(plan.table.label, plan.name, f"{found.label}: {error}") from error
    if not data:
        return small_result(_COUNTS, [(0, 0)])
    mapping = _mapping(plan, definition)
    _ensure_columns(plan, found, data, mapping, frozenset(column.id for _, column in fields.values()), context)
    new = _describe(found.storage, data, definition)
    transaction = _begin(plan, definition, mapping)
    if procedure.check_duplicate_files:
        transaction.read_whole_table()  # another statement may be adding the same files
        _ensure_new(plan, new)
    transaction.add_entries(new.entries)
    context.request.cancel.ensure_live()
    inherited = context.sources.catalog.view().sources_of(plan.source.entry.location) if plan.source else ()
    clone = CloneEntry(location=plan.table.entry.location, sources=(found.storage.root, *inherited))
    context.sources.catalog.change(RecordClone(clone))
    done = transaction.commit(context.retries)
    context.request.on_commit(Commit(plan.table.label, done.version))
    return small_result(_COUNTS, [(new.num_files, len(set(partitions_of(new.entries))))])


def _found_files(plan: CallPlan, procedure: AddFiles, sources: Sources) -> SourceFiles:
    """Returns the source files. Raises `IcebergProcedureRefused`, and like `TableSnapshot.shared_files`."""
    try:
        if plan.source is not None:
            return table_files(plan.source)
        assert procedure.folder is not None
        root, found = sources.files.find(procedure.folder)
        if not found:
            raise IcebergProcedureRefused(plan.table.label, plan.name, f"{procedure.folder} has no data files")
        said = [(each, folder_texts(each.path)) for each in found]
    except NotTaken as error:
        label = procedure.folder if plan.source is None else plan.source.label
        raise IcebergProcedureRefused(plan.table.label, plan.name, f"{label}: {error}") from error
    storage = open_storage(root, allowed_roots=sources.catalog.allowed_roots)
    return SourceFiles(label=procedure.folder, storage=storage, files=said)


def _selected_files(plan: CallPlan, procedure: AddFiles, said: list[SaidFile]) -> list[SaidFile]:
    """Returns the files that match `partition_filter`."""
    wanted = {name.casefold(): text for name, text in procedure.partition_filter.items()}
    for name in wanted:
        if said and not any(name in texts for _, texts in said):
            raise WrongArgument(plan.name, "partition_filter", f"no folder says a value of {name}")
    return [each for each in said if all(each[1].get(name) == text for name, text in wanted.items())]


def _data_file(file: FolderFile, values: dict[str, str | None]) -> DataFile:
    return DataFile(path=file.path, size=file.size, modification_time=file.modification_time, partition_values=values)


def _ensure_columns(
    plan: CallPlan,
    source: SourceFiles,
    files: list[DataFile],
    mapping: tuple[MappedName, ...],
    in_folders: frozenset[int],
    context: ExecutionContext,
) -> None:
    """Compares the columns in the files' Parquet footers with the table's schema.

    Raises `IcebergProcedureRefused` for a file that has other columns or cannot be read, and `StatementCancelled`.
    """
    struct, storage = plan.snapshot.iceberg_schema.struct, source.storage
    called = {field.id: field.name for _, field in walk(struct)}

    def check_footer(file: DataFile) -> None:
        context.request.cancel.ensure_live()
        try:
            with storage.open_input(file.path) as opened:
                footer: Any = pq.read_metadata(opened)
            if source.is_table:
                ensure_same_columns(footer, struct.fields, in_folders)
            else:
                ensure_foreign(footer, struct.fields, in_folders)
            found = file_columns(footer.schema.to_arrow_schema(), mapping, file.path)
            _ensure_called_so(found.names or (), called)
        except (NotTaken, MalformedIcebergFile, pa.ArrowException) as error:
            reason = f"{storage.root}/{file.path}: {error}"
            raise IcebergProcedureRefused(plan.table.label, plan.name, reason) from error

    with ThreadPoolExecutor(_READERS, "footers") as threads:
        for _ in threads.map(check_footer, files):
            pass


def _ensure_called_so(names: Iterable[tuple[int, str]], called: Mapping[int, str]) -> None:
    """Checks that files use the columns' current names, by which types, nulls and bounds are checked. Raises
    `NotTaken`.
    """
    for id, name in names:
        if called.get(id, name) != name:
            raise NotTaken(f"its column {name} would be read as {called[id]}, which was called so before")


def _describe(storage: Storage, files: list[DataFile], definition: IcebergDefinition) -> IcebergNewFiles:
    root = storage.root
    schema = FileSchema(
        location=root if "://" in root else f"file://{root}",
        schema=definition.iceberg_schema,
        spec=definition.spec,
        properties=definition.properties,
    )
    return describe_files(storage, schema, files)


def _begin(plan: CallPlan, definition: IcebergDefinition, mapping: tuple[MappedName, ...]) -> IcebergTransaction:
    """Starts a transaction that sets this name mapping."""
    description = CommitDescription(name=f"CALL {plan.name}", operation=TableOperation.APPEND)
    plan.snapshot.ensure_supported(description.operation)
    transaction = plan.table.own.begin(plan.snapshot, description, plan.table.label)
    assert isinstance(transaction, IcebergTransaction)
    known = definition.properties.get(NAME_MAPPING)
    if known is None or parse_name_mapping(known) != mapping:
        text = json.dumps(mapping_json(mapping))
        transaction.define(definition, [SetProperty(key=NAME_MAPPING, value=text)])
        transaction.read_whole_table()  # the mapping applies to its existing files
    return transaction


def _mapping(plan: CallPlan, definition: IcebergDefinition) -> tuple[MappedName, ...]:
    """Returns the name mapping to set; existing files are read as before. Raises `IcebergProcedureRefused`."""
    fields = definition.iceberg_schema.struct.fields
    known = definition.properties.get(NAME_MAPPING)
    if known is None:
        return parse_name_mapping(json.dumps(name_mapping(fields)))
    before = parse_name_mapping(known)
    try:
        after = extended_mapping(before, fields)
    except NotTaken as error:
        raise IcebergProcedureRefused(plan.table.label, plan.name, str(error)) from error
    if after == before:
        return before
    snapshot = plan.snapshot
    paths = snapshot.files["path"].to_pylist()
    try:
        footers = [read_footers(snapshot.storage, paths, mapping, snapshot.decoded) for mapping in (before, after)]
    except MalformedIcebergFile as error:
        raise IcebergProcedureRefused(plan.table.label, plan.name, error.message) from error
    for path, was, is_ in zip(paths, *footers, strict=True):
        if (was.ids, was.names) != (is_.ids, is_.names):
            reason = f"{path} has a column that was none of the table's when it was added, and would become one"
            raise IcebergProcedureRefused(plan.table.label, plan.name, reason)
    return after


def _ensure_new(plan: CallPlan, new: IcebergNewFiles) -> None:
    places = plan.snapshot.places.paths(new.entries["file_path"])
    known = pc.is_in(places, value_set=plan.snapshot.files["path"].combine_chunks())
    if pc.any(known).as_py():
        first = new.entries["file_path"].filter(known)[0].as_py()
        reason = f"the table has {pc.sum(known).as_py()} of the files already, {first} being the first"
        raise IcebergProcedureRefused(plan.table.label, plan.name, reason)
