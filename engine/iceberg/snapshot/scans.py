"""Builds a snapshot's scan: its files in groups that are read alike, and the query that combines them.

Most tables have one group: files that are read by field ids, with deletion vectors. More groups are needed if

- files have different partition specs, or partition values with types that have no Spark constants: a column with an
  identity transform has the partition's value whether files contain the column or, as in migrated tables, do not; files
  with different specs that all contain it, by their metrics, are read alike;
- files have no ids, and a name mapping identifies columns, unless all files use the same names;
- files are in ORC or Avro, which Spark reads by name, partially, and without row indexes;
- files lack fields whose default only SQL can fill in;
- equality deletes apply to some files: an anti-join with the deleted keys removes the rows. A key deletes rows only in
  older files, so the newest sequence number per key is kept, and compared with the row's file's.

Columns with types that Spark does not have are computed (`value_sql`).

Source: Iceberg table specification, "Column Projection", "Scan Planning", "Equality Delete Files".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.conditions import IcebergFeatureNotSupported, IcebergRowsNotChangeable, MalformedIcebergFile
from engine.iceberg.definition.column_types import backquote, file_field, has_sql_default, scanned_field
from engine.iceberg.definition.value_sql import shown_columns, shown_sql
from engine.iceberg.manifests.manifest import SPEC_ID
from engine.iceberg.manifests.metrics import metric
from engine.iceberg.partitions.partition_values import constant_texts, is_constant, partition_sql, partition_texts
from engine.iceberg.snapshot.column_names import OwnNames, with_constants
from engine.iceberg.snapshot.file_kinds import unread_part
from engine.iceberg.snapshot.footers import FileColumns, common_names
from engine.iceberg.snapshot.hidden_columns import NO_HIDDEN_COLUMNS, HiddenColumns
from engine.iceberg.snapshot.live_files import PARTITION
from engine.iceberg.spec.partitions import PartitionField, PartitionSpec, TransformKind
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, StructOfType, walk
from engine.storage.confinement import FilePlaces
from engine.tables.scan import (
    PLACE_FILE,
    PLACE_ROW,
    PUSHED_NAME,
    UNREAD,
    ComposedScan,
    FileFormat,
    FileKind,
    FileLayout,
    RowTracking,
    Scan,
    ScanPart,
)
from engine.types.schema import PrimitiveType, StructField, StructType

Codes = npt.NDArray[np.int64]
_FLOATING = frozenset([Kind.FLOAT, Kind.DOUBLE])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSource:
    """A snapshot's input for its scans.

    `files` and `data` are aligned, row by row; `files` has the `Scan.files` columns. `equality` are equality delete
    entries, `equality_files` the same rows as `Scan.files`. `footers` belong to `data`, if they were read; `pushed` are
    `pushable_names`.
    """

    root: str
    schema: IcebergSchema
    schemas: Mapping[int, IcebergSchema]
    specs: Mapping[int, PartitionSpec]
    files: pa.Table
    data: pa.Table
    equality: pa.Table
    equality_files: pa.Table
    footers: Sequence[FileColumns] | None
    pushed: Mapping[int, str]
    file_places: FilePlaces
    credentials_id: str | None = None
    hidden: HiddenColumns = NO_HIDDEN_COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Files that are read alike: `rows` are their positions."""

    rows: Codes
    kind: FileKind = FileKind.PARQUET
    # The files' field names; None: they have ids.
    names: Mapping[int, str] | None = None
    # Columns that have the file's partition value, and that files may lack.
    constants: tuple[PartitionField, ...] = ()
    # Nested fields with a default that the files lack.
    missing: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    """A column by which rows are deleted: its path in the table's columns or, for a dropped column, in an older
    schema.
    """

    id: int
    column: IcebergField
    path: tuple[str, ...]
    is_dropped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deletes:
    """Equality deletes on the same columns, either global or per partition: `rows` are the entries'."""

    keys: tuple[_Key, ...]
    is_global: bool
    rows: Codes


def requires_footers(schema: IcebergSchema, has_mapping: bool) -> bool:
    """Returns True if reading the table requires its files' footers."""
    return has_mapping or any(has_sql_default(column) for column in schema.fields)


def build_scan(source: ScanSource, relation: str, label: str) -> Scan | ComposedScan:
    """Builds the scan. Raises `IcebergFeatureNotSupported`, `MalformedIcebergFile`."""
    return _Builder(source, relation, label).build()


def build_deleted_rows_query(source: ScanSource, relation: str, label: str) -> ComposedScan | None:
    """Builds a query for the positions that equality deletes match; None if none can match.

    Raises like `build_scan`, and `IcebergRowsNotChangeable` if they match rows in ORC or Avro files, which have no
    positions.
    """
    return _Builder(source, relation, label).build_deleted_rows_query()


def with_partition_values(source: ScanSource) -> pa.Table:
    """Returns a source's files as a scan with one group has them."""
    groups = list(_groups(source))
    return _Builder(source, "", "")._with_partition(source.files, groups[0])[0] if len(groups) == 1 else source.files


@dataclass(frozen=True, slots=True)
class _Builder:
    source: ScanSource
    relation: str
    label: str
    parts: list[ScanPart] = field(default_factory=list)

    def build(self) -> Scan | ComposedScan:
        source = self.source
        groups = list(_groups(source))
        deletes = applied_deletes(source, self.label)
        # A single scan keeps all of Spark's pushdown; the composed form is a UNION that the
        # optimizer must see through.
        if len(groups) == 1 and not deletes and self._is_plain(groups[0]) and source.hidden.are_of_scans:
            files, keys = self._with_partition(source.files, groups[0])
            scan = self._scan(self.relation, source.schema.fields, files, groups[0], keys=keys)
            return self._shown_scan(scan, groups[0])
        texts = [text for group in groups for text in self._texts(group, deletes)]
        return ComposedScan(
            relation=self.relation,
            label=self.label,
            parts=tuple(self.parts),
            text="\nUNION ALL\n".join(texts),
            hidden_columns=source.hidden.names,
        )

    def build_deleted_rows_query(self) -> ComposedScan | None:
        source = self.source
        deletes = applied_deletes(self.source, self.label)
        texts = []
        for group in _groups(source) if deletes else ():
            applied = [(each, _applies(source, group.rows, each)) for each in deletes]
            for each, mask in applied:
                if mask.any():
                    if group.kind is not FileKind.PARQUET:
                        # Spark's ORC and Avro readers give no row index, so that a match
                        # cannot become a position delete.
                        raise IcebergRowsNotChangeable(self.label)
                    texts.append(self._matched_positions(replace(group, rows=group.rows[mask]), each))
        if not texts:
            return None
        text = "\nUNION ALL\n".join(texts)
        return ComposedScan(relation=self.relation, label=self.label, parts=tuple(self.parts), text=text)

    def _is_plain(self, group: _Group) -> bool:
        """Returns True if a single scan has the table's columns, which Spark finds ignoring case."""
        columns = self.source.schema.fields
        # Two columns that differ in case alone are legal in Iceberg; Spark's resolution
        # would call every reference ambiguous.
        if group.kind is not FileKind.PARQUET or len({each.name.casefold() for each in columns}) < len(columns):
            return False
        return all(is_constant(_type_of(self.source.schema, each)) for each in group.constants)

    def _shown_scan(self, scan: Scan, group: _Group) -> Scan:
        keys = frozenset(scan.partition_columns)
        schema, read_as = shown_columns(self.source.schema.fields, scan.schema, keys, group.missing)
        return replace(scan, schema=schema, read_as=read_as)

    def _with_partition(self, files: pa.Table, group: _Group) -> tuple[pa.Table, tuple[str, ...]]:
        """Adds partition values as Spark constants; returns the files and these columns' names."""
        found = [(each, _type_of(self.source.schema, each)) for each in group.constants]
        data = self.source.data.take(pa.array(group.rows)) if found else self.source.data
        names = OwnNames(self.source.schema)
        constants = {
            names.column(column): constant_texts(data, each, kind)
            for each, kind in found
            if is_constant(kind) and (column := self.source.schema.struct.field(each.source_id)) is not None
        }
        return with_constants(files, constants), tuple(constants)

    def _texts(self, group: _Group, deletes: Sequence[_Deletes]) -> Iterator[str]:
        """Yields SQL for a group; files to which equality deletes apply are read separately."""
        applied = [(each, _applies(self.source, group.rows, each)) for each in deletes]
        touched = np.zeros(len(group.rows), bool)
        for _, mask in applied:
            touched |= mask
        # Without any file there must still be one SELECT, whose schema the UNION has.
        if not touched.all() or not len(touched):
            yield self._rows(replace(group, rows=group.rows[~touched]), ())
        if touched.any():
            found = tuple(each for each, mask in applied if mask.any())
            yield self._rows(replace(group, rows=group.rows[touched]), found)

    def _rows(self, group: _Group, deletes: Sequence[_Deletes]) -> str:
        """Returns SQL for a group's rows except those that `deletes` match."""
        names = OwnNames(self.source.schema)
        columns = self.source.schema.fields
        scan, listed = self._scan_of_group(group, deletes)
        self.parts.append(ScanPart(scan=scan, rows=pa.array(group.rows)))
        if not deletes:
            return f"SELECT {', '.join(listed)} FROM {scan.relation}"
        joins = [self._join("LEFT ANTI JOIN", each, names, number) for number, each in enumerate(deletes)]
        shown = (*(column.name for column in columns), *self.source.hidden.names)
        selected = ", ".join(f"d.{backquote(name)}" for name in shown)
        return "\n".join([f"SELECT {selected} FROM (SELECT {', '.join(listed)} FROM {scan.relation}) AS d", *joins])

    def _matched_positions(self, group: _Group, deletes: _Deletes) -> str:
        """Returns SQL for the row positions in a group's files that `deletes` match."""
        names = OwnNames(self.source.schema)
        scan, listed = self._scan_of_group(group, (deletes,))
        files, positions = scan.files, pa.array(group.rows)
        # The file's number travels to the executors in the constants that row tracking has
        # for each file; it identifies the file without shipping paths.
        for name in ("base_row_id", "default_row_commit_version"):
            files = files.set_column(files.schema.get_field_index(name), name, positions)
        tracking = RowTracking(row_id_column=None, row_commit_version_column=None)
        scan = replace(scan, files=files, metadata=names.place, row_tracking=tracking)
        self.parts.append(ScanPart(scan=scan, rows=None))
        listed += [f"{names.place}.base_row_id AS {names.file}", f"{names.place}.row_index AS {names.row}"]
        join = self._join("LEFT SEMI JOIN", deletes, names, 0)
        rows = f"(SELECT {', '.join(listed)} FROM {scan.relation}) AS d"
        return f"SELECT d.{names.file} AS {PLACE_FILE}, d.{names.row} AS {PLACE_ROW} FROM {rows}\n{join}"

    def _scan_of_group(self, group: _Group, deletes: Sequence[_Deletes]) -> tuple[Scan, list[str]]:
        """Returns a scan for a group's files, and its select list: the columns, and the join keys for `deletes`."""
        names = OwnNames(self.source.schema)
        columns = self.source.schema.fields
        files, keys = self._with_partition(self.source.files.take(pa.array(group.rows)), group)
        added: dict[str, Any] = {}
        listed = []
        for column in columns:
            shown = self._column_sql(column, group, names, added) or backquote(names.column(column))
            listed.append(f"{shown} AS {backquote(column.name)}")
        dropped = {key.id: key for each in deletes for key in each.keys if key.is_dropped}
        extra = [replace(key.column, name=names.key(key.id)) for key in dropped.values()]
        if deletes:
            data = self.source.data.take(pa.array(group.rows))
            added[names.sequence], added[names.partition] = data["sequence_number"], data[PARTITION]
        hidden = self.source.hidden
        added |= hidden.constants(self.source.data.take(pa.array(group.rows)), names)
        listed += hidden.select_items(names)
        files = with_constants(files, added)
        scan = self._scan(
            f"{self.relation}_{len(self.parts)}", (*columns, *extra), files, group, tuple(added), keys=keys
        )
        scan = replace(scan, path_columns=hidden.path_constants(names))
        if hidden.names and group.kind is FileKind.PARQUET:
            scan = replace(scan, metadata=names.place, row_tracking=hidden.row_tracking)
        if deletes:
            listed += [
                f"{shown_sql(backquote(each.name), each) or backquote(each.name)} AS {backquote(each.name)}"
                for each in extra
            ]
            listed += [
                f"CAST({backquote(name)} AS BIGINT) AS {backquote(name)}" for name in (names.sequence, names.partition)
            ]
        return scan, listed

    def _column_sql(self, column: IcebergField, group: _Group, names: OwnNames, added: dict[str, Any]) -> str | None:
        """Returns SQL for a column's exposed value. Partition values without Spark constants arrive as text."""
        name = backquote(names.column(column))
        field = next((each for each in group.constants if each.source_id == column.id), None)
        shown = shown_sql(name, column, group.missing)
        if field is None or not isinstance(column.type, SimpleType):
            return shown
        if is_constant(column.type):
            return None
        own = names.filled_name(column.id)
        added[own] = partition_texts(self.source.data.take(pa.array(group.rows)), field, column.type)
        return f"coalesce({partition_sql(backquote(own), column.type)}, {shown or name})"

    def _join(self, kind: str, deletes: _Deletes, names: OwnNames, number: int) -> str:
        """Returns the join that excludes, or finds, the rows that these deletes match."""
        columns = {key.column.id: key.column for key in deletes.keys}
        files = self.source.equality_files.take(pa.array(deletes.rows))
        entries = self.source.equality.take(pa.array(deletes.rows))
        constants = {names.sequence: entries["sequence_number"], names.partition: entries[PARTITION]}
        files = with_constants(files, constants)
        relation = f"{self.relation}_{len(self.parts)}"
        scan = self._scan(
            relation, tuple(columns.values()), files, _Group(rows=np.empty(0, np.int64)), tuple(constants)
        )
        self.parts.append(ScanPart(scan=scan, rows=None))
        scanned = [(column, backquote(names.column(column))) for column in columns.values()]
        listed = [f"{shown_sql(name, column) or name} AS {backquote(column.name)}" for column, name in scanned]
        listed += [f"CAST({backquote(name)} AS BIGINT) AS {backquote(name)}" for name in constants]
        keys = [(f"k{position}", _path_sql(key.path)) for position, key in enumerate(deletes.keys)]
        keys += [] if deletes.is_global else [("p", backquote(names.partition))]
        grouped = ", ".join(f"{expression} AS {name}" for name, expression in keys)
        by = ", ".join(expression for _, expression in keys)
        newest = f"SELECT {grouped}, max({backquote(names.sequence)}) AS s"
        # "Equality Delete Files": a delete applies to data files with a lower sequence
        # number, so that among equal keys only the newest decides. One row per key also
        # bounds the join's build side.
        found = f"{newest} FROM (SELECT {', '.join(listed)} FROM {relation}) GROUP BY {by}"
        alias = f"e{number}"
        own = [
            # "Equality Delete Files": a null in the delete matches a null in the row,
            # unlike SQL's equality.
            f"d.{backquote(names.key(key.id)) if key.is_dropped else _path_sql(key.path)} <=> {alias}.k{position}"
            for position, key in enumerate(deletes.keys)
        ]
        # "Scan Planning": equality deletes with an unpartitioned spec are global; others
        # apply within their partition only.
        own += [] if deletes.is_global else [f"d.{backquote(names.partition)} <=> {alias}.p"]
        # Strictly less: a writer that deletes and inserts a key in one snapshot (Flink's
        # upsert) keeps the row that it inserts.
        own.append(f"d.{backquote(names.sequence)} < {alias}.s")
        return f"{kind} ({found}) AS {alias} ON {' AND '.join(own)}"

    def _scan(
        self,
        relation: str,
        columns: Sequence[IcebergField],
        files: pa.Table,
        group: _Group,
        added: tuple[str, ...] = (),
        keys: tuple[str, ...] = (),
    ) -> Scan:
        """Returns the scan. `added` are text constants that are not columns; `keys` are columns that are constants."""
        names = OwnNames(self.source.schema)
        own = tuple(StructField(name, PrimitiveType.STRING) for name in added)
        scanned = tuple(scanned_field(column, names.column(column)) for column in columns)
        stored = tuple(self._stored_field(column, group) for column in columns)
        return Scan(
            relation=relation,
            label=self.label,
            table_root=self.source.root,
            schema=StructType((*scanned, *own)),
            layout=FileLayout(
                schema=StructType((*stored, *own)), partition_keys=(*keys, *added), by_id=group.names is None
            ),
            partition_columns=(*keys, *added),
            files=files,
            empty_is_null=False,
            format=None if group.kind is FileKind.PARQUET else FileFormat(kind=group.kind),
            file_places=self.source.file_places,
            credentials_id=self.source.credentials_id,
        )

    def _stored_field(self, column: IcebergField, group: _Group) -> StructField:
        found = file_field(column, group.names, is_column=True)
        said = {PUSHED_NAME: self.source.pushed.get(column.id) if group.names is None else None}
        if group.kind is not FileKind.PARQUET and self.source.footers is not None:
            footers = [self.source.footers[row] for row in group.rows.tolist()]
            said[UNREAD] = unread_part(group.kind, column, self.source.data.take(pa.array(group.rows)), footers)
        return replace(found, metadata={**found.metadata, **{key: text for key, text in said.items() if text}})


def _type_of(schema: IcebergSchema, field: PartitionField) -> SimpleType:
    """Returns the partition field's source column type."""
    column = schema.struct.field(field.source_id)
    assert column is not None and isinstance(column.type, SimpleType)
    return column.type


def _path_sql(path: Sequence[str]) -> str:
    return ".".join(map(backquote, path))


def _groups(source: ScanSource) -> Iterator[_Group]:
    """Yields the groups, at least one; every file is in exactly one group."""
    rows = np.arange(source.files.num_rows)
    specs = source.data[SPEC_ID].to_numpy()
    present = sorted(source.data[SPEC_ID].unique().to_pylist())
    unknown = [spec for spec in present if spec not in source.specs]
    if unknown:
        raise MalformedIcebergFile("The manifest list", f"the partition spec {unknown[0]} is not in the metadata")
    constants = {spec.spec_id: identities(source.schema, spec) for spec in source.specs.values()}
    types = {_type_of(source.schema, each) for fields in constants.values() for each in fields}
    # "Column Projection": an identity partition value replaces a column that the file
    # lacks. Files that contain the column can be read from it, which saves a group.
    if len({constants[spec] for spec in present}) > 1 or not all(map(is_constant, types)):
        constants = {spec: _not_in_files(source, specs == spec, constants[spec]) for spec in present}
    kinds: dict[Any, list[Codes]] = {}
    for spec in present:
        members = rows if len(present) == 1 else rows[specs == spec]
        if source.footers is None:
            kinds.setdefault((FileKind.PARQUET, None, constants[spec], frozenset()), []).append(members)
            continue
        for row in members.tolist():
            found = source.footers[row]
            key = (found.kind, found.names, constants[spec], _sql_defaults(source.schema) - found.ids)
            kinds.setdefault(key, []).append(np.array([row]))
    if not kinds:
        yield _Group(rows=rows)
    alike: dict[Any, dict[Any, Codes]] = {}
    for (kind, names, constant, missing), pieces in kinds.items():
        ascending = pieces[0] if len(pieces) == 1 else np.sort(np.concatenate(pieces))
        alike.setdefault((kind, constant, missing), {})[names] = ascending
    for (kind, constant, missing), by_names in alike.items():
        for given, matching_rows in _by_common_names(source, kind, by_names):
            yield _Group(rows=matching_rows, kind=kind, names=given, constants=constant, missing=missing)


def _by_common_names(
    source: ScanSource, kind: FileKind, by_names: Mapping[Any, Codes]
) -> Iterator[tuple[Mapping[int, str] | None, Codes]]:
    """Groups files with different columns or without ids by their field names."""
    if len(by_names) > 1 and kind is FileKind.PARQUET and source.footers is not None:
        rows = np.sort(np.concatenate(list(by_names.values())))
        names = common_names([source.footers[row] for row in rows.tolist()], source.schema)
        if names is not None:
            yield names, rows
            return
    for each, rows in by_names.items():
        yield None if each is None else dict(each), rows


def _not_in_files(
    source: ScanSource, members: npt.NDArray[np.bool_], fields: tuple[PartitionField, ...]
) -> tuple[PartitionField, ...]:
    """Removes columns that all these files contain by their metrics; their values equal the partition's."""
    data = source.data.filter(pa.array(members))
    return tuple(each for each in fields if metric(data, "value_counts", each.source_id).null_count)


def _sql_defaults(schema: IcebergSchema) -> frozenset[int]:
    """Returns the fields whose default only SQL can fill in."""
    columns = [column for column in schema.fields if has_sql_default(column)]
    inner = (each for column in columns for _, each in walk(column.type))
    return frozenset(each.id for each in (*columns, *inner) if each.initial_default is not None)


def identities(schema: IcebergSchema, spec: PartitionSpec) -> tuple[PartitionField, ...]:
    """Returns the table columns with an identity partition field; for a column with two, the first."""
    simple = {column.id for column in schema.fields if isinstance(column.type, SimpleType)}
    found: dict[int, PartitionField] = {}
    for each in spec.fields:
        if each.transform.kind is TransformKind.IDENTITY and each.source_id in simple:
            found.setdefault(each.source_id, each)
    return tuple(found.values())


def applied_deletes(source: ScanSource, label: str) -> list[_Deletes]:
    """Returns equality deletes that may apply: not older than all files, nor in partitions without older files."""
    rows = np.arange(source.files.num_rows)
    return [each for each in _equality(source, label) if _applies(source, rows, each).any()]


def _equality(source: ScanSource, label: str) -> Iterator[_Deletes]:
    """Yields equality deletes by their columns and by whether they are global."""
    entries = source.equality
    kinds: dict[tuple[tuple[int, ...], bool], list[int]] = {}
    for at, (ids, spec) in enumerate(
        zip(entries["equality_ids"].to_pylist(), entries[SPEC_ID].to_pylist(), strict=True)
    ):
        found = source.specs.get(spec)
        if found is None:
            raise MalformedIcebergFile("The manifest list", f"the partition spec {spec} is not in the metadata")
        kinds.setdefault((tuple(sorted(set(ids))), found.is_unpartitioned), []).append(at)
    for (ids, is_global), rows in kinds.items():
        keys = tuple(_key(source, id, label) for id in ids)
        yield _Deletes(keys=keys, is_global=is_global, rows=np.array(rows, np.int64))


def _key(source: ScanSource, id: int, label: str) -> _Key:
    # A delete may be keyed by a column that was dropped since; older files still have its
    # values, and the delete still applies to them.
    newest = sorted(source.schemas.values(), key=lambda each: -each.schema_id)
    for schema in (source.schema, *newest):
        for column in schema.fields:
            for path, found in ((column.name,), column), *_below(column):
                if found.id != id:
                    continue
                if not isinstance(found.type, SimpleType) or found.type.kind in _FLOATING:
                    raise MalformedIcebergFile("An equality delete", f"the column {found.name} is no key of deletes")
                is_dropped = source.schema.struct.field(column.id) is None
                if is_dropped and len(path) > 1:
                    raise IcebergFeatureNotSupported(label, f"equality deletes on {'.'.join(path)}, which was dropped")
                return _Key(id=id, column=column, path=path, is_dropped=is_dropped)
    raise MalformedIcebergFile("An equality delete", f"its column {id} is in no schema of the table")


def _below(column: IcebergField) -> Iterator[tuple[tuple[str, ...], IcebergField]]:
    """Yields struct fields; list elements and map entries cannot be keys."""
    if isinstance(column.type, StructOfType):
        for each in column.type.fields:
            yield (column.name, each.name), each
            for path, found in _below(each):
                yield (column.name, *path), found


def _applies(source: ScanSource, rows: Codes, deletes: _Deletes) -> npt.NDArray[np.bool_]:
    """Returns a mask for data files that are older than a delete in their partition."""
    data = source.data.select(["sequence_number", PARTITION]).take(pa.array(rows))
    entries = source.equality.select(["sequence_number", PARTITION]).take(pa.array(deletes.rows))
    newest, own = entries["sequence_number"].to_numpy(), data["sequence_number"].to_numpy()
    if deletes.is_global:
        return np.asarray(own < newest.max(initial=-1))
    codes, partitions = entries[PARTITION].to_numpy(), data[PARTITION].to_numpy()
    size = int(max(codes.max(initial=0), partitions.max(initial=0))) + 1
    limits = np.full(size, -1)
    np.maximum.at(limits, codes, newest)
    return np.asarray(own < limits[partitions])
