"""`DeltaTable` of Delta's client as SQL: each message is the statement with the same meaning. Pure.

The client sends changes of a table as relations (delete, update, merge, optimize, restore, convert), and the others as
commands. A change runs once, when its relation is the whole plan; within another plan it is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid
from catalog.names import quote
from engine.sql.string_literals import spark_string
from gateway.connect.delta_messages import decode_delta, kind_of
from gateway.connect.expressions import Qualifiers, expression_sql
from gateway.connect.inputs import Input, name_parts, quote_name
from gateway.connect.proto import pb2
from gateway.connect.types import ddl_type
from gateway.connect.writes import assigned_column

_NAME = "The DeltaTable call"
_READS = {"scan", "describe_history"}
_DETAIL = "describe_detail"
_CHECK = "is_delta_table"
_CREATES = {1: "CREATE TABLE", 2: "CREATE TABLE IF NOT EXISTS", 3: "REPLACE TABLE", 4: "CREATE OR REPLACE TABLE"}
_TARGET, _SOURCE = "target", "source"


@dataclass(frozen=True, slots=True)
class Change:
    """A statement that changes a table. `source` is the DataFrame of a merge, whose name is between `text` and `rest`.

    `returned`: the one row for the client, in place of the statement's rows.
    """

    text: str
    rest: str = ""
    source: pb2.Relation | None = None
    returned: str | None = None


def delta_input(extension: AnyMessage) -> Input | None:
    """Returns the text of `DeltaTable.toDF()` and `history()`; None for an extension that is not Delta's.

    Raises `ConnectFeatureNotSupported` for a call that is no query.
    """
    relation = _decoded(extension)
    if relation is None:
        return None
    kind = kind_of(relation)
    if kind not in _READS:
        raise ConnectFeatureNotSupported(f"{_NAME} {kind or 'of a newer client'} within a query", "Run it on its own.")
    table = getattr(relation, kind).table
    name = _table(table)
    if kind == "scan":
        is_named = table.HasField("table_or_view_name")
        return Input(f"SELECT * FROM {name}", alias=name_parts(table.table_or_view_name) if is_named else ())
    return Input(f"SELECT * FROM (DESCRIBE HISTORY {name})")


def described_table(extension: AnyMessage) -> tuple[str, ...] | None:
    """Returns the parts of the table's name in `DeltaTable.detail()`; None for another call."""
    relation = _decoded(extension)
    if relation is None or kind_of(relation) != _DETAIL:
        return None
    return name_parts(_table(relation.describe_detail.table))


def checked_path(extension: AnyMessage) -> str | None:
    """Returns the path of `DeltaTable.isDeltaTable`; None for another call."""
    relation = _decoded(extension)
    if relation is None or kind_of(relation) != _CHECK:
        return None
    return str(relation.is_delta_table.path)


def delta_change(extension: AnyMessage) -> Change | None:
    """Returns the statement of a relation that changes a table; None for one that reads."""
    relation = _decoded(extension)
    if relation is None:
        return None
    kind = kind_of(relation)
    found: Any = getattr(relation, kind) if kind else None
    match kind:
        case "delete_from_table":
            target = _Target.of(found.target)
            return Change(f"DELETE FROM {target}{_where(found, target.qualifiers())}")
        case "update_table":
            target = _Target.of(found.target)
            pairs = ", ".join(_pairs(found.assignments, target.qualifiers()))
            return Change(f"UPDATE {target} SET {pairs}{_where(found, target.qualifiers())}")
        case "merge_into_table":
            return _merge(found)
        case "restore_table":
            version = found.WhichOneof("_version"), found.WhichOneof("_timestamp")
            at = f"VERSION AS OF {found.version}" if version[0] else f"TIMESTAMP AS OF {spark_string(found.timestamp)}"
            return Change(f"RESTORE TABLE {_table(found.table)} TO {at}")
        case "optimize_table":
            filters = " AND ".join(f"({text})" for text in found.partition_filters)
            order = ", ".join(map(quote_name, found.zorder_columns))
            text = f"OPTIMIZE {_table(found.table)}{f' WHERE {filters}' if filters else ''}"
            return Change(f"{text}{f' ZORDER BY ({order})' if order else ''}")
        case "convert_to_delta":
            return _convert(found)
        case _:  # a call that reads, or of a newer client
            return None


def delta_command(extension: AnyMessage) -> str | None:
    """Returns the statement of a command; None for an extension that is not Delta's."""
    command = _decoded(extension)
    if command is None:
        return None
    kind = kind_of(command)
    found: Any = getattr(command, kind) if kind else None
    match kind:
        case "vacuum_table":
            hours = f" RETAIN {found.retention_hours:g} HOURS" if found.HasField("retention_hours") else ""
            return f"VACUUM {_table(found.table)}{hours}"
        case "generate":
            return f"GENERATE {quote_name(found.mode)} FOR TABLE {_table(found.table)}"
        case "upgrade_table_protocol":
            versions = {"delta.minReaderVersion": found.reader_version, "delta.minWriterVersion": found.writer_version}
            return f"ALTER TABLE {_table(found.table)} SET{_properties(versions)}"
        case "add_feature_support":
            supported = {f"delta.feature.{found.feature_name}": "supported"}
            return f"ALTER TABLE {_table(found.table)} SET{_properties(supported)}"
        case "drop_feature_support":
            last = " TRUNCATE HISTORY" if found.truncate_history else ""
            return f"ALTER TABLE {_table(found.table)} DROP FEATURE {quote(found.feature_name)}{last}"
        case "clone_table":
            return _clone(found)
        case "create_delta_table":
            return _create(found)
        case _:  # of a newer client
            raise ConnectFeatureNotSupported(f"{_NAME} {kind or 'of a newer client'}")


# --------------------------------------------------------------------------------------------------------------- parts


@dataclass(frozen=True, slots=True)
class _Target:
    """The changed table with its alias; `plans` are the ids of its DataFrames, by which columns may name it."""

    name: str
    alias: str
    plans: tuple[int, ...]

    @classmethod
    def of(cls, relation: pb2.Relation) -> _Target:
        """Returns the table of a scan, below any number of aliases. Raises `ConnectPlanInvalid`."""
        alias, plans = "", []
        while relation.HasField("subquery_alias"):
            alias = alias or relation.subquery_alias.alias
            plans.append(relation.common.plan_id)
            relation = relation.subquery_alias.input
        plans.append(relation.common.plan_id)
        found = _decoded(relation.extension) if relation.HasField("extension") else None
        if found is None or kind_of(found) != "scan":
            raise ConnectPlanInvalid("a change by DeltaTable has no table")
        return cls(_table(found.scan.table), alias, tuple(plans))

    def __str__(self) -> str:
        return f"{self.name} AS {quote(self.alias)}" if self.alias else self.name

    def qualifiers(self) -> dict[int, str]:
        return dict.fromkeys(self.plans, self.alias)


def _merge(merge: Any) -> Change:
    target = _Target.of(merge.target)
    source = merge.source
    alias = source.subquery_alias.alias if source.HasField("subquery_alias") else _unused(_SOURCE, target.alias)
    if not target.alias:
        # A column of a DataFrame over the target is named by the target's alias.
        target = _Target(target.name, _unused(_TARGET, alias), target.plans) if _names_plans(merge) else target
    qualifiers = {**dict.fromkeys(_plan_ids(source), alias), **target.qualifiers()}
    evolution = "WITH SCHEMA EVOLUTION " if merge.with_schema_evolution else ""
    clauses = [
        *_clauses("WHEN MATCHED", merge.matched_actions, qualifiers),
        *_clauses("WHEN NOT MATCHED", merge.not_matched_actions, qualifiers),
        *_clauses("WHEN NOT MATCHED BY SOURCE", merge.not_matched_by_source_actions, qualifiers),
    ]
    condition = expression_sql(merge.condition, qualifiers)
    rest = " ".join([f" AS {quote(alias)} ON {condition}", *clauses])
    return Change(f"MERGE {evolution}INTO {target} USING ", rest, source)


def _clauses(head: str, actions: Iterable[Any], qualifiers: Qualifiers) -> Iterator[str]:
    for action in actions:
        also = f" AND {expression_sql(action.condition, qualifiers)}" if action.HasField("condition") else ""
        yield f"{head}{also} THEN {_action(action, qualifiers)}"


def _action(action: Any, qualifiers: Qualifiers) -> str:
    if action.HasField("delete_action"):
        return "DELETE"
    if action.HasField("update_star_action"):
        return "UPDATE SET *"
    if action.HasField("insert_star_action"):
        return "INSERT *"
    if action.HasField("update_action"):
        return f"UPDATE SET {', '.join(_pairs(action.update_action.assignments, qualifiers))}"
    if action.HasField("insert_action"):
        assigned = action.insert_action.assignments
        names = ", ".join(assigned_column(one.field) for one in assigned)
        return f"INSERT ({names}) VALUES ({', '.join(expression_sql(one.value, qualifiers) for one in assigned)})"
    raise ConnectPlanInvalid("a merge has an unknown action")


def _pairs(assignments: Iterable[Any], qualifiers: Qualifiers) -> Iterator[str]:
    for one in assignments:
        yield f"{assigned_column(one.field)} = {expression_sql(one.value, qualifiers)}"


def _where(change: Any, qualifiers: Qualifiers) -> str:
    return f" WHERE {expression_sql(change.condition, qualifiers)}" if change.HasField("condition") else ""


def _convert(convert: Any) -> Change:
    name = quote_name(convert.identifier)
    columns = convert.partition_schema_string
    if convert.HasField("partition_schema_struct"):
        fields = convert.partition_schema_struct.struct.fields
        columns = ", ".join(f"{quote(one.name)} {ddl_type(one.data_type)}" for one in fields)
    kind, *rest = name_parts(convert.identifier)
    returned = f"delta.{quote(rest[0])}" if kind.lower() == "parquet" and len(rest) == 1 else name
    return Change(f"CONVERT TO DELTA {name}{f' PARTITIONED BY ({columns})' if columns else ''}", returned=returned)


def _clone(clone: Any) -> str:
    verb = "CREATE OR REPLACE TABLE" if clone.replace else "CREATE TABLE"
    text = f"{verb} {quote_name(clone.target)} {'SHALLOW' if clone.is_shallow else 'DEEP'} CLONE {_table(clone.table)}"
    if clone.HasField("version"):
        text += f" VERSION AS OF {clone.version}"
    elif clone.HasField("timestamp"):
        text += f" TIMESTAMP AS OF {spark_string(clone.timestamp)}"
    return text + _properties(clone.properties)


def _create(create: Any) -> str:
    if create.mode not in _CREATES:
        raise ConnectPlanInvalid("the mode of a new table is unknown")
    location = create.location
    if create.table_name:
        name = quote_name(create.table_name)
    elif location:
        name, location = f"delta.{quote(location)}", ""
    else:
        raise ConnectPlanInvalid("a new table has neither a name nor a location")
    text = f"{_CREATES[create.mode]} {name}"
    if create.columns:
        text += f" ({', '.join(map(_column, create.columns))})"
    text += " USING delta"
    for word, names in (("PARTITIONED", create.partitioning_columns), ("CLUSTER", create.clustering_columns)):
        if names:
            text += f" {word} BY ({', '.join(map(quote_name, names))})"
    if location:
        text += f" LOCATION {spark_string(location)}"
    if create.comment:
        text += f" COMMENT {spark_string(create.comment)}"
    return text + _properties(create.properties)


def _column(column: Any) -> str:
    text = f"{quote(column.name)} {ddl_type(column.data_type)}{'' if column.nullable else ' NOT NULL'}"
    if column.HasField("generated_always_as"):
        text += f" GENERATED ALWAYS AS ({column.generated_always_as})"
    if column.HasField("identity_info"):
        identity = column.identity_info
        kind = "BY DEFAULT" if identity.allow_explicit_insert else "ALWAYS"
        text += f" GENERATED {kind} AS IDENTITY (START WITH {identity.start} INCREMENT BY {identity.step})"
    return f"{text} COMMENT {spark_string(column.comment)}" if column.HasField("comment") else text


def _properties(properties: Mapping[str, object]) -> str:
    pairs = [f"{spark_string(key)} = {spark_string(str(value))}" for key, value in sorted(properties.items())]
    return f" TBLPROPERTIES ({', '.join(pairs)})" if pairs else ""


def _table(table: Any) -> str:
    """Returns a table's name in SQL. Options of Hadoop would reach other storage than the server's settings permit."""
    if table.HasField("path"):
        if table.path.hadoop_conf:
            raise ConnectFeatureNotSupported("Hadoop options of DeltaTable.forPath", "Storage is set up at the server.")
        return f"delta.{quote(table.path.path)}"
    return quote_name(table.table_or_view_name)


def _decoded(extension: AnyMessage) -> Any:
    message = decode_delta(extension)
    if message is not None:
        _ensure_known(message)
    return message


def _ensure_known(message: Message) -> None:
    """Raises an error for fields of a newer protocol, in Delta's messages and all that they contain."""
    if len(UnknownFieldSet(message)):
        raise ConnectFeatureNotSupported(f"{_NAME} with a field that this server does not know")
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None or descriptor.message_type.GetOptions().map_entry:
            continue
        for inner in value if descriptor.is_repeated else (value,):
            _ensure_known(inner)


def _plan_ids(message: Message) -> Iterator[int]:
    """Yields the ids of the DataFrames in a relation."""
    if isinstance(message, pb2.RelationCommon):
        yield message.plan_id
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None and not descriptor.message_type.GetOptions().map_entry:
            for inner in value if descriptor.is_repeated else (value,):
                yield from _plan_ids(inner)


def _names_plans(message: Message) -> bool:
    """Returns True if a column is named by a DataFrame."""
    if isinstance(message, pb2.Relation):
        return False
    if isinstance(message, pb2.Expression) and message.HasField("unresolved_attribute"):
        return bool(message.unresolved_attribute.HasField("plan_id"))
    return any(
        _names_plans(inner)
        for descriptor, value in message.ListFields()
        if descriptor.message_type is not None and not descriptor.message_type.GetOptions().map_entry
        for inner in (value if descriptor.is_repeated else (value,))
    )


def _unused(name: str, other: str) -> str:
    return f"{name}_" if other.lower() == name else name
