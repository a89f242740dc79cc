"""Commands that write, as SQL: `df.write`, `df.writeTo` and `mergeInto`, and temporary views. Pure.

`source` is the name of the temporary view with the rows. Modes have the meaning that they have for Delta tables in
Spark. An option that is not one of the known ones is rejected with an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid
from catalog.names import quote
from engine.runtime.settings import TXN_APP_ID, TXN_VERSION, parse_setting
from engine.sql.string_literals import spark_string
from gateway.connect.expressions import expression_sql
from gateway.connect.inputs import quote_name
from gateway.connect.proto import pb2

_FORMATS = frozenset({"delta", "iceberg"})
_Mode = pb2.WriteOperation.SaveMode
_Mode2 = pb2.WriteOperationV2.Mode
_Action = pb2.MergeAction.ActionType
_INSERT_INTO = pb2.WriteOperation.SaveTable.TableSaveMethod.TABLE_SAVE_METHOD_INSERT_INTO


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A write of a DataFrame: `target` is quoted; the texts are SQL."""

    target: str
    mode: str
    format: str = ""
    location: str = ""
    partitions: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    is_by_position: bool = False
    # A missing table is created, as by saveAsTable.
    creates_missing: bool = False
    evolves: bool = False
    replaces_definition: bool = False
    condition: str = ""
    # Values of session settings for this write.
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def depends_on_existence(self) -> bool:
        """Returns True if the statement is another one for a table that exists."""
        return self.creates_missing and self.mode in ("append", "overwrite")

    def text(self, source: str, *, exists: bool) -> str:
        """Returns the statement."""
        rows = f"SELECT * FROM {source}"
        creates = {
            "error": "CREATE TABLE",
            "ignore": "CREATE TABLE IF NOT EXISTS",
            "create_or_replace": "CREATE OR REPLACE TABLE",
            "replace": "REPLACE TABLE",
        }
        if self.mode in creates:
            return f"{creates[self.mode]} {self.target}{self._definition()} AS {rows}"
        if not exists:
            return f"CREATE TABLE {self.target}{self._definition()} AS {rows}"
        if self.replaces_definition and self.mode == "overwrite":
            return f"CREATE OR REPLACE TABLE {self.target}{self._definition()} AS {rows}"
        evolution = "WITH SCHEMA EVOLUTION " if self.evolves else ""
        names = "" if self.is_by_position else " BY NAME"
        if self.condition:
            return f"INSERT {evolution}INTO {self.target}{names} REPLACE WHERE {self.condition} {rows}"
        if self.mode == "overwrite":
            return f"INSERT {evolution}OVERWRITE TABLE {self.target}{names} {rows}"
        return f"INSERT {evolution}INTO {self.target}{names} {rows}"

    def _definition(self) -> str:
        clauses = [f" USING {self.format or 'delta'}"]
        if self.partitions:
            clauses.append(f" PARTITIONED BY ({', '.join(self.partitions)})")
        if self.clusters:
            clauses.append(f" CLUSTER BY ({', '.join(self.clusters)})")
        if self.location:
            clauses.append(f" LOCATION {spark_string(self.location)}")
        if self.properties:
            pairs = [f"{spark_string(key)} = {spark_string(value)}" for key, value in sorted(self.properties.items())]
            clauses.append(f" TBLPROPERTIES ({', '.join(pairs)})")
        return "".join(clauses)


_MODES = {
    _Mode.SAVE_MODE_UNSPECIFIED: "error",
    _Mode.SAVE_MODE_ERROR_IF_EXISTS: "error",
    _Mode.SAVE_MODE_IGNORE: "ignore",
    _Mode.SAVE_MODE_APPEND: "append",
    _Mode.SAVE_MODE_OVERWRITE: "overwrite",
}


def write_of(command: pb2.WriteOperation) -> Write:
    """Returns the write of `df.write`."""
    if command.sort_column_names or command.HasField("bucket_by"):
        raise ConnectFeatureNotSupported("Writing buckets (bucketBy, sortBy)", "Use clusterBy.")
    kind = _format(command.source)
    options = {key.lower(): value for key, value in command.options.items()}
    location = options.pop("path", "")
    is_by_position = False
    match command.WhichOneof("save_type"):
        case "table":
            target = quote_name(command.table.table_name)
            is_by_position = command.table.save_method == _INSERT_INTO
        case "path":
            target, location = f"{kind or 'delta'}.{quote(command.path)}", ""
        case _ if location:  # a member of a protobuf oneof, or none
            target, location = f"{kind or 'delta'}.{quote(location)}", ""
        case _:  # a member of a protobuf oneof, or none
            raise ConnectPlanInvalid("a write has neither a table nor a path")
    mode = _MODES.get(command.mode)
    if mode is None:
        raise ConnectPlanInvalid("the mode of a write is unknown")
    if is_by_position and mode != "overwrite":
        mode = "append"
    write = Write(
        target=target,
        mode=mode,
        format=kind,
        location=location,
        partitions=tuple(map(quote, command.partitioning_columns)),
        clusters=tuple(map(quote, command.clustering_columns)),
        is_by_position=is_by_position,
        creates_missing=not is_by_position,
        evolves=_flag(options, "mergeschema") or command.with_schema_evolution,
        replaces_definition=_flag(options, "overwriteschema"),
        condition=options.pop("replacewhere", ""),
        settings=_settings(options),
    )
    _ensure_known(options)
    return _checked(write)


_V2_MODES = {
    _Mode2.MODE_CREATE: "error",
    _Mode2.MODE_REPLACE: "replace",
    _Mode2.MODE_CREATE_OR_REPLACE: "create_or_replace",
    _Mode2.MODE_APPEND: "append",
    _Mode2.MODE_OVERWRITE: "overwrite",
    _Mode2.MODE_OVERWRITE_PARTITIONS: "overwrite",
}


def write_v2_of(command: pb2.WriteOperationV2) -> Write:
    """Returns the write of `df.writeTo`."""
    mode = _V2_MODES.get(command.mode)
    if mode is None:
        raise ConnectPlanInvalid("the mode of a write is unknown")
    options = {key.lower(): value for key, value in command.options.items()}
    is_by_partition = command.mode == _Mode2.MODE_OVERWRITE_PARTITIONS
    condition = expression_sql(command.overwrite_condition) if command.mode == _Mode2.MODE_OVERWRITE else ""
    if is_by_partition:
        options[_OVERWRITE_MODE] = "dynamic"
    write = Write(
        target=quote_name(command.table_name),
        mode="append" if condition else mode,
        format=_format(command.provider),
        partitions=tuple(map(expression_sql, command.partitioning_columns)),
        clusters=tuple(map(quote, command.clustering_columns)),
        properties=dict(command.table_properties),
        evolves=_flag(options, "mergeschema") or command.with_schema_evolution,
        condition=condition,
        settings=_settings(options),
    )
    _ensure_known(options)
    return _checked(write)


def merge_text(command: pb2.MergeIntoTableCommand, source: str) -> str:
    """Returns the MERGE of `df.mergeInto`; the source's columns are also known by its alias."""
    relation = command.source_table_plan
    alias = relation.subquery_alias.alias if relation.WhichOneof("rel_type") == "subquery_alias" else "source"
    evolution = "WITH SCHEMA EVOLUTION " if command.with_schema_evolution else ""
    target = quote_name(command.target_table_name)
    condition = expression_sql(command.merge_condition, alias)
    clauses = [
        *_clauses("WHEN MATCHED", command.match_actions, alias),
        *_clauses("WHEN NOT MATCHED", command.not_matched_actions, alias),
        *_clauses("WHEN NOT MATCHED BY SOURCE", command.not_matched_by_source_actions, alias),
    ]
    head = f"MERGE {evolution}INTO {target} USING {source} AS {quote(alias)} ON {condition}"
    return " ".join([head, *clauses])


def _clauses(head: str, actions: Iterable[pb2.Expression], alias: str) -> Iterable[str]:
    for action in actions:
        if action.WhichOneof("expr_type") != "merge_action":
            raise ConnectPlanInvalid("a merge has a clause that is not an action")
        found = action.merge_action
        also = f" AND {expression_sql(found.condition, alias)}" if found.HasField("condition") else ""
        yield f"{head}{also} THEN {_action(found, alias)}"


def _action(action: pb2.MergeAction, alias: str) -> str:
    pairs = [(assigned_column(one.key), expression_sql(one.value, alias)) for one in action.assignments]
    match action.action_type:
        case _Action.ACTION_TYPE_DELETE:
            return "DELETE"
        case _Action.ACTION_TYPE_UPDATE_STAR:
            return "UPDATE SET *"
        case _Action.ACTION_TYPE_INSERT_STAR:
            return "INSERT *"
        case _Action.ACTION_TYPE_UPDATE:
            return f"UPDATE SET {', '.join(f'{key} = {value}' for key, value in pairs)}"
        case _Action.ACTION_TYPE_INSERT:
            return f"INSERT ({_joined([key for key, _ in pairs])}) VALUES ({_joined([value for _, value in pairs])})"
        case _:  # a member of a protobuf oneof, or none
            raise ConnectPlanInvalid("a merge has an unknown action")


def assigned_column(key: pb2.Expression) -> str:
    """Returns the assigned column, which clients also send as text."""
    match key.WhichOneof("expr_type"):
        case "expression_string":
            return quote_name(key.expression_string.expression)
        case "unresolved_attribute":
            return quote_name(key.unresolved_attribute.unparsed_identifier)
        case _:  # a member of a protobuf oneof, or none
            raise ConnectPlanInvalid("a merge assigns a value to something else than a column")


def _joined(texts: Sequence[str]) -> str:
    return ", ".join(texts)


def _format(name: str) -> str:
    kind = name.lower()
    if kind and kind not in _FORMATS:
        raise ConnectFeatureNotSupported(f"Writing the format {name}", "Write Delta or Iceberg tables.")
    return kind


_OVERWRITE_MODE = "partitionoverwritemode"
# Options of Delta's and Spark's writers → the session settings with the same meaning.
_SETTINGS = {
    _OVERWRITE_MODE: "spark.sql.sources.partitionOverwriteMode",
    "txnappid": TXN_APP_ID,
    "txnversion": TXN_VERSION,
}


def _settings(options: dict[str, str]) -> Mapping[str, str]:
    """Takes the options that are settings. Raises `InvalidSettingValue`."""
    given = {_SETTINGS[key]: options.pop(key) for key in tuple(options) if key in _SETTINGS}
    return {setting.key: value for setting, value in (parse_setting(*pair) for pair in given.items())}


def _checked(write: Write) -> Write:
    """Returns the write. Raises `ConnectFeatureNotSupported` for options that exclude each other, as in Delta.

    A dynamic overwrite that replaced the table would lose the partitions without new rows.
    """
    is_dynamic = write.settings.get(_SETTINGS[_OVERWRITE_MODE]) == "DYNAMIC"
    excluded = "overwriteSchema" if write.replaces_definition else "replaceWhere" if write.condition else None
    if is_dynamic and excluded is not None:
        raise ConnectFeatureNotSupported(
            f"The option partitionOverwriteMode = dynamic with {excluded}", "Leave one of them out."
        )
    return write


def _flag(options: dict[str, str], name: str) -> bool:
    return options.pop(name, "false").lower() == "true"


def _ensure_known(options: Mapping[str, str]) -> None:
    if options:
        raise ConnectFeatureNotSupported(
            f"The option {min(options)} of a write",
            "The options are mergeSchema, overwriteSchema, partitionOverwriteMode, replaceWhere, txnAppId, txnVersion "
            "and path.",
        )
