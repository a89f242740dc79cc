"""The scan of a snapshot: its files in groups that are read alike, and the query that makes the table's rows of them.

Most tables are one group: files that are read by field ids, with deletion vectors. There are more where

- files lack a column, and its value is that of their partition (an identity transform: tables that were migrated);
- files have no ids, and a name mapping says which columns are which;
- files lack fields inside of columns that have a default;
- equality deletes apply to some files: their rows are those without a match among the deleted keys. A key deletes rows
  of older files alone, so of each key the newest sequence number is kept, and compared with that of a row's file.

Columns of types that Spark does not have are made of what was read (`column_types`).

Source: Iceberg table specification, "Column Projection", "Scan Planning", "Equality Delete Files".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.iceberg.manifests.manifest import metric
from engine.iceberg.snapshot.column_types import (
    file_field,
    has_nested_default,
    quoted,
    scanned_field,
    shown_sql,
)
from engine.iceberg.snapshot.footers import FileColumns
from engine.iceberg.snapshot.live_files import PARTITION, SPEC_ID
from engine.iceberg.snapshot.partition_values import partition_sql, partition_texts
from engine.iceberg.spec.errors import IcebergFeatureNotSupported, MalformedIcebergFile
from engine.iceberg.spec.partitions import PartitionField, PartitionSpec, TransformKind
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, StructOfType, walk
from engine.table.scan import ComposedScan, FileLayout, Scan, ScanPart
from engine.types.schema import PrimitiveType, StructField, StructType

Codes = npt.NDArray[np.int64]
_FLOATING = frozenset([Kind.FLOAT, Kind.DOUBLE])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSource:
    """What a snapshot gives to its scans. `files` and `data` are row for row of the same data files; `files` has the
    columns of `Scan.files`. `equality` are entries of equality deletes, `equality_files` row for row the same as
    `Scan.files`. `footers` are those of `data`, where they were asked for.
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
    allowed_roots: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Files that are read alike: `rows` are their positions."""

    rows: Codes
    names: Mapping[int, str] | None = None
    """What the files call the fields; None: they have ids."""
    filled: tuple[PartitionField, ...] = ()
    """Columns that the files may lack, with the value of their partition."""
    missing: frozenset[int] = frozenset()
    """Fields inside of columns that the files lack, which have a default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    """A column by which rows are deleted: where it is in the columns of the table or, of one that was dropped, of an
    older schema.
    """

    id: int
    column: IcebergField
    path: tuple[str, ...]
    is_dropped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deletes:
    """Equality deletes on the same columns, of all partitions or each of its own: `rows` of the entries."""

    keys: tuple[_Key, ...]
    is_global: bool
    rows: Codes


def needs_footers(schema: IcebergSchema, has_mapping: bool) -> bool:
    """Whether reading the table takes a look at what its files say of their columns."""
    return has_mapping or any(has_nested_default(column) for column in schema.fields)


def build_scan(source: ScanSource, relation: str, label: str) -> Scan | ComposedScan:
    """Raises `IcebergFeatureNotSupported`, `MalformedIcebergFile`."""
    return _Builder(source, relation, label).build()


@dataclass(frozen=True, slots=True)
class _Builder:
    source: ScanSource
    relation: str
    label: str
    parts: list[ScanPart] = field(default_factory=list)

    def build(self) -> Scan | ComposedScan:
        source = self.source
        groups, deletes = list(_groups(source)), list(_equality(source, self.label))
        is_plain = len(groups) == 1 and not deletes and not groups[0].filled
        if is_plain and all(shown_sql("x", column, groups[0].missing) is None for column in source.schema.fields):
            return self._scan(self.relation, source.schema.fields, source.files, groups[0])
        texts = [text for group in groups for text in self._texts(group, deletes)]
        return ComposedScan(
            relation=self.relation, label=self.label, parts=tuple(self.parts), text="\nUNION ALL\n".join(texts)
        )

    def _texts(self, group: _Group, deletes: Sequence[_Deletes]) -> Iterator[str]:
        """The files of a group to which equality deletes apply are read apart from the others."""
        applied = [(each, _applies(self.source, group.rows, each)) for each in deletes]
        touched = np.zeros(len(group.rows), bool)
        for _, mask in applied:
            touched |= mask
        if not touched.all() or not len(touched):
            yield self._rows(replace(group, rows=group.rows[~touched]), ())
        if touched.any():
            found = tuple(each for each, mask in applied if mask.any())
            yield self._rows(replace(group, rows=group.rows[touched]), found)

    def _rows(self, group: _Group, deletes: Sequence[_Deletes]) -> str:
        """The rows of a group's files without those that `deletes` match."""
        names = _OwnNames(self.source.schema)
        columns, files = self.source.schema.fields, self.source.files.take(pa.array(group.rows))
        constants: dict[str, Any] = {}
        shown = {column.id: self._shown(column, group, names, constants) for column in columns}
        dropped = {key.id: key for each in deletes for key in each.keys if key.is_dropped}
        extra = [replace(key.column, name=names.key(key.id)) for key in dropped.values()]
        if deletes:
            constants[names.sequence] = self.source.data["sequence_number"]
            constants[names.partition] = self.source.data[PARTITION]
        files = _with_constants(files, {name: values.take(pa.array(group.rows)) for name, values in constants.items()})
        scan = self._scan(f"{self.relation}_{len(self.parts)}", (*columns, *extra), files, group, tuple(constants))
        self.parts.append(ScanPart(scan=scan, rows=pa.array(group.rows)))
        listed = [f"{shown[column.id] or quoted(column.name)} AS {quoted(column.name)}" for column in columns]
        if not deletes:
            return f"SELECT {', '.join(listed)} FROM {scan.relation}"
        listed += [
            f"{shown_sql(quoted(each.name), each) or quoted(each.name)} AS {quoted(each.name)}" for each in extra
        ]
        listed += [f"CAST({quoted(name)} AS BIGINT) AS {quoted(name)}" for name in (names.sequence, names.partition)]
        joins = [self._without(each, names, number) for number, each in enumerate(deletes)]
        selected = ", ".join(f"d.{quoted(column.name)}" for column in columns)
        return "\n".join([f"SELECT {selected} FROM (SELECT {', '.join(listed)} FROM {scan.relation}) AS d", *joins])

    def _shown(self, column: IcebergField, group: _Group, names: _OwnNames, constants: dict[str, Any]) -> str | None:
        """What the table shows of a column; one that comes from the partition becomes a constant of the files."""
        filled = next((each for each in group.filled if each.source_id == column.id), None)
        if filled is None:
            return shown_sql(quoted(column.name), column, group.missing)
        assert isinstance(column.type, SimpleType)
        name = names.filled(column.id)
        constants[name] = partition_texts(self.source.data, filled, column.type)
        return partition_sql(quoted(name), column.type)

    def _without(self, deletes: _Deletes, names: _OwnNames, number: int) -> str:
        """The join that leaves out the rows that these deletes match."""
        columns = {key.column.id: key.column for key in deletes.keys}
        files = self.source.equality_files.take(pa.array(deletes.rows))
        entries = self.source.equality.take(pa.array(deletes.rows))
        constants = {names.sequence: entries["sequence_number"], names.partition: entries[PARTITION]}
        files = _with_constants(files, constants)
        relation = f"{self.relation}_{len(self.parts)}"
        scan = self._scan(
            relation, tuple(columns.values()), files, _Group(rows=np.empty(0, np.int64)), tuple(constants)
        )
        self.parts.append(ScanPart(scan=scan, rows=None))
        listed = [
            f"{shown_sql(quoted(column.name), column) or quoted(column.name)} AS {quoted(column.name)}"
            for column in columns.values()
        ]
        listed += [f"CAST({quoted(name)} AS BIGINT) AS {quoted(name)}" for name in constants]
        keys = [(f"k{position}", _path_sql(key.path)) for position, key in enumerate(deletes.keys)]
        keys += [] if deletes.is_global else [("p", quoted(names.partition))]
        grouped = ", ".join(f"{expression} AS {name}" for name, expression in keys)
        by = ", ".join(expression for _, expression in keys)
        newest = f"SELECT {grouped}, max({quoted(names.sequence)}) AS s"
        found = f"{newest} FROM (SELECT {', '.join(listed)} FROM {relation}) GROUP BY {by}"
        alias = f"e{number}"
        own = [
            f"d.{quoted(names.key(key.id)) if key.is_dropped else _path_sql(key.path)} <=> {alias}.k{position}"
            for position, key in enumerate(deletes.keys)
        ]
        own += [] if deletes.is_global else [f"d.{quoted(names.partition)} <=> {alias}.p"]
        own.append(f"d.{quoted(names.sequence)} < {alias}.s")
        return f"LEFT ANTI JOIN ({found}) AS {alias} ON {' AND '.join(own)}"

    def _scan(
        self,
        relation: str,
        columns: Sequence[IcebergField],
        files: pa.Table,
        group: _Group,
        constants: tuple[str, ...] = (),
    ) -> Scan:
        own = tuple(StructField(name, PrimitiveType.STRING) for name in constants)
        stored = tuple(file_field(column, group.names, is_column=True) for column in columns)
        return Scan(
            relation=relation,
            label=self.label,
            table_root=self.source.root,
            schema=StructType((*map(scanned_field, columns), *own)),
            layout=FileLayout(schema=StructType((*stored, *own)), partition_keys=constants, by_id=group.names is None),
            partition_columns=constants,
            files=files,
            allowed_roots=self.source.allowed_roots,
        )


class _OwnNames:
    """Names of columns that no column of the table has."""

    def __init__(self, schema: IcebergSchema) -> None:
        taken = "\n".join(column.name.casefold() for column in schema.fields)
        stem = "__own"
        while stem in taken:
            stem += "_"
        self._stem = stem
        self.sequence, self.partition = f"{stem}_sequence", f"{stem}_partition"

    def filled(self, id: int) -> str:
        return f"{self._stem}_{id}"

    def key(self, id: int) -> str:
        return f"{self._stem}_key_{id}"


def _path_sql(path: Sequence[str]) -> str:
    return ".".join(map(quoted, path))


def _with_constants(files: pa.Table, constants: Mapping[str, Any]) -> pa.Table:
    """Files whose partition values are these texts or numbers, by name."""
    if not constants:
        return files
    names = list(constants)
    columns = [
        pa.chunked_array(values).combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        for values in constants.values()
    ]
    texts = [_one(values).cast(pa.string()) for values in columns]
    count, width = files.num_rows, len(names)
    order = pa.array(np.arange(count * width).reshape(width, count).T.ravel())
    items = pa.concat_arrays(texts).take(order) if count else pa.array([], pa.string())
    keys = pa.array(names * count, pa.string())
    offsets = pa.array(np.arange(count + 1) * width, pa.int32())
    at = files.schema.get_field_index("partition_values")
    return files.set_column(at, files.schema.field(at), pa.MapArray.from_arrays(offsets, keys, items))


def _one(values: Any) -> pa.Array:
    return pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values


def _groups(source: ScanSource) -> Iterator[_Group]:
    """Every file in one group; at least one group."""
    rows = np.arange(source.files.num_rows)
    kinds: dict[Any, list[int]] = {}
    if source.footers is None:
        for filled, members in _filled(source, rows):
            yield _Group(rows=members, filled=filled)
        return
    nested = frozenset(
        each.id for column in source.schema.fields for _, each in walk(column.type) if each.initial_default is not None
    ) | frozenset(
        column.id
        for column in source.schema.fields
        if has_nested_default(column) and column.initial_default is not None
    )
    identities = _identities(source)
    for at, (found, spec) in enumerate(zip(source.footers, source.data[SPEC_ID].to_pylist(), strict=True)):
        filled = tuple(each for each in identities.get(spec, ()) if each.source_id not in found.ids)
        kinds.setdefault((found.names, filled, nested - found.ids), []).append(at)
    if not kinds:
        yield _Group(rows=rows)
    for (names, filled, missing), places in kinds.items():
        yield _Group(
            rows=np.array(places, np.int64),
            names=None if names is None else dict(names),
            filled=filled,
            missing=missing,
        )


def _identities(source: ScanSource) -> Mapping[int, tuple[PartitionField, ...]]:
    """By spec, the columns of the table that are its partition values."""
    simple = {column.id for column in source.schema.fields if isinstance(column.type, SimpleType)}
    return {
        spec.spec_id: tuple(
            each for each in spec.fields if each.transform.kind is TransformKind.IDENTITY and each.source_id in simple
        )
        for spec in source.specs.values()
    }


def _filled(source: ScanSource, rows: Codes) -> Iterator[tuple[tuple[PartitionField, ...], Codes]]:
    """Files by the columns that they may lack: those whose metrics do not tell that they have them."""
    data = source.data
    masks: dict[int, npt.NDArray[np.bool_]] = {}
    specs = data[SPEC_ID].to_numpy()
    possible = [each for fields in _identities(source).values() for each in fields]
    for each in possible:
        if each.source_id not in masks:
            masks[each.source_id] = _may_lack(data, each.source_id)
    lacking: dict[tuple[PartitionField, ...], list[Codes]] = {}
    for spec, fields in _identities(source).items():
        members = rows[specs == spec]
        if not len(members):
            continue
        table = (
            np.column_stack([masks[each.source_id][members] for each in fields])
            if fields
            else np.zeros((len(members), 0), bool)
        )
        for pattern in np.unique(table, axis=0):
            chosen = tuple(each for each, is_lacking in zip(fields, pattern, strict=True) if is_lacking)
            lacking.setdefault(chosen, []).append(members[(table == pattern).all(axis=1)])
    unknown = rows[~np.isin(specs, list(source.specs))]
    if len(unknown):
        raise MalformedIcebergFile(
            "The manifest list", f"the partition spec {specs[unknown[0]]} is not in the metadata"
        )
    if not lacking:
        yield (), rows
    for lacked, pieces in lacking.items():
        yield lacked, np.sort(np.concatenate(pieces))


def _may_lack(data: pa.Table, id: int) -> npt.NDArray[np.bool_]:
    unknown = [metric(data, name, id).is_null() for name in ("value_counts", "null_value_counts", "lower_bounds")]
    mask: npt.NDArray[np.bool_] = pc.and_(pc.and_(*unknown[:2]), unknown[2]).to_numpy(zero_copy_only=False)
    return mask


def _equality(source: ScanSource, label: str) -> Iterator[_Deletes]:
    """Equality deletes by their columns and whether they apply to all partitions."""
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
    """Fields of structs: no key is inside of a list or a map."""
    if isinstance(column.type, StructOfType):
        for each in column.type.fields:
            yield (column.name, each.name), each
            for path, found in _below(each):
                yield (column.name, *path), found


def _applies(source: ScanSource, rows: Codes, deletes: _Deletes) -> npt.NDArray[np.bool_]:
    """Which of these data files are older than a delete of their partition."""
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
