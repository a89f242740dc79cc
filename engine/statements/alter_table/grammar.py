"""Parses ALTER TABLE, with a table of the words that begin each change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from catalog.conditions import ColumnChangedTwice, StatementNotSupported
from catalog.grants.privileges import Kind
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.names import read_table
from engine.statements.alter_table.grammar_references import read_dropped_reference, read_new_reference
from engine.statements.alter_table.statement import (
    AddColumns,
    AlterColumn,
    AlterTable,
    DropColumns,
    DropFeature,
    ReferenceAction,
    RenameTable,
    ReplaceColumns,
    SetLocation,
    SetProperties,
    SyncIdentity,
    TableChange,
    UnsetProperties,
)
from engine.statements.create_table.grammar_clauses import (
    read_clustering,
    read_column,
    read_default,
    read_dotted_list,
    read_name_list,
    read_properties,
    read_property_key,
    read_type,
    take_constraint,
    take_if_exists,
    take_position,
)
from engine.statements.create_table.grammar_partitions import read_term, read_write_order
from engine.statements.create_table.statement import AddKey, Check, ColumnDef, DropKey
from engine.statements.grants.grammar import take_owner
from engine.statements.grants.statement import AlterOwner, SecurableName
from engine.statements.policies.grammar import take_policy, take_tags
from engine.statements.policies.statement import AlterTags, PolicyStatement
from engine.tables.definition_changes import (
    AddConstraint,
    ChangeIdentifiers,
    ChangePartitioning,
    ClusterBy,
    DropConstraint,
    RenameColumn,
    SortBy,
)
from engine.types.partition_terms import PartitionTerm

_ColumnChange: TypeAlias = SyncIdentity | AlterColumn


def parse_alter_table(cursor: Cursor) -> AlterTable | AlterOwner | AlterTags | PolicyStatement:
    """Parses the text after ALTER TABLE."""
    table = read_table(cursor)
    policy = take_policy(cursor, table)
    if policy is not None:
        return policy
    tags = take_tags(cursor, Kind.TABLE, table)
    if tags is not None:
        return tags
    owner = take_owner(cursor)
    if owner is not None:
        return AlterOwner(securable=SecurableName(kind=Kind.TABLE, parts=table), owner=owner)
    added = _take_added(cursor)
    if added is not None:
        return AlterTable(table_parts=table, changes=(added,))
    for words, read in _CHANGES.items():
        if cursor.take(*words):
            return AlterTable(table_parts=table, changes=read(cursor))
    for words in _OTHER_CHANGES:
        if cursor.take(*words):
            raise unsupported_statement(f"ALTER TABLE … {' '.join(words)}")
    if not next(iter(cursor.words(1)), "").isalpha():
        raise cursor.fail("what to change is expected")
    raise cursor.fail_among((*_CHANGES, *_OTHER_CHANGES))


def _add_columns(cursor: Cursor) -> tuple[TableChange, ...]:
    return (AddColumns(columns=_read_columns(cursor)),)


def _replace_columns(cursor: Cursor) -> tuple[TableChange, ...]:
    return (ReplaceColumns(columns=_read_columns(cursor)),)


def _read_columns(cursor: Cursor) -> tuple[ColumnDef, ...]:
    """Reads column definitions, in parentheses or bare."""
    is_wrapped = cursor.take("(")
    columns = [read_column(cursor)]
    while cursor.take(","):
        columns.append(read_column(cursor))
    if is_wrapped:
        cursor.read(")")
    return tuple(columns)


def _rename_column(cursor: Cursor) -> tuple[TableChange, ...]:
    parts = cursor.read_names()
    cursor.read("TO")
    return (RenameColumn(path=parts, name=cursor.read_name()),)


def _drop_columns(cursor: Cursor) -> tuple[TableChange, ...]:
    if_exists = take_if_exists(cursor)
    if cursor.words(1) == ["("]:
        return (DropColumns(columns=read_dotted_list(cursor), if_exists=if_exists),)
    columns = [cursor.read_names()]
    while cursor.take(","):
        columns.append(cursor.read_names())
    return (DropColumns(columns=tuple(columns), if_exists=if_exists),)


def _alter_columns(cursor: Cursor) -> tuple[TableChange, ...]:
    """Reads `column change, column change, …`; Hive's `CHANGE old new type` is a rename and a change."""
    cursor.take("COLUMN")
    altered = [_alter_column(cursor)]
    while cursor.take(","):
        altered.append(_alter_column(cursor))
    names = [".".join(changes[0].parts) for changes in altered]
    folded = [name.casefold() for name in names]
    for at, name in enumerate(names):
        if folded[at] in folded[:at]:
            raise ColumnChangedTwice(name)
    return tuple(change for changes in altered for change in changes)


def _alter_column(cursor: Cursor) -> tuple[_ColumnChange, *tuple[RenameColumn, ...]]:
    parts = cursor.read_names()
    if cursor.take("SYNC", "IDENTITY"):
        return (SyncIdentity(parts=parts),)
    if cursor.take("TYPE"):
        return (AlterColumn(parts=parts, sql_type=read_type(cursor)),)
    if cursor.take("COMMENT"):
        return (AlterColumn(parts=parts, comment=cursor.read_string()),)
    if cursor.take("SET", "NOT", "NULL"):
        return (AlterColumn(parts=parts, nullable=False),)
    if cursor.take("DROP", "NOT", "NULL"):
        return (AlterColumn(parts=parts, nullable=True),)
    if cursor.take("SET", "DEFAULT"):
        return (AlterColumn(parts=parts, default=read_default(cursor)),)
    if cursor.take("DROP", "DEFAULT"):
        return (AlterColumn(parts=parts, drop_default=True),)
    position = take_position(cursor)
    if position is not None:
        return (AlterColumn(parts=parts, position=position),)
    return _change_column(cursor, parts)


def _change_column(cursor: Cursor, parts: tuple[str, ...]) -> tuple[_ColumnChange, *tuple[RenameColumn, ...]]:
    """Reads Hive's `old new type [COMMENT 'c'] [FIRST|AFTER c]`; the rename comes last, so that the old name is valid
    until then.
    """
    name = cursor.read_name()
    sql_type = read_type(cursor)
    comment = cursor.read_string() if cursor.take("COMMENT") else None
    change = AlterColumn(parts=parts, sql_type=sql_type, comment=comment, position=take_position(cursor))
    return (change,) if name == parts[-1] else (change, RenameColumn(path=parts, name=name))


def _take_added(cursor: Cursor) -> AddConstraint | AddKey | None:
    if cursor.words(2) not in (["ADD", word] for word in ("CONSTRAINT", "CHECK", "PRIMARY", "FOREIGN")):
        return None
    cursor.read("ADD")
    added = take_constraint(cursor)
    if added is None:
        raise cursor.fail("KEY is expected")
    if not isinstance(added, Check):
        return AddKey(key=added)
    if added.name is None:
        raise StatementNotSupported("ALTER TABLE … ADD CHECK without a name")
    return AddConstraint(name=added.name, expression=added.expression)


def _drop_constraint(cursor: Cursor) -> tuple[TableChange, ...]:
    if_exists = take_if_exists(cursor)
    change = DropConstraint(name=cursor.read_name(), if_exists=if_exists)
    _take_reach(cursor)
    return (change,)


def _drop_primary_key(cursor: Cursor) -> tuple[TableChange, ...]:
    change = DropKey(if_exists=take_if_exists(cursor))
    _take_reach(cursor)
    return (change,)


def _drop_foreign_key(cursor: Cursor) -> tuple[TableChange, ...]:
    if_exists = take_if_exists(cursor)
    return (DropKey(columns=read_name_list(cursor), if_exists=if_exists),)


def _take_reach(cursor: Cursor) -> None:
    """Reads CASCADE or RESTRICT. A referenced primary key cannot be dropped in either case: the foreign keys are in
    other tables' logs.
    """
    cursor.take_any("RESTRICT", "CASCADE")


def read_unset_properties(cursor: Cursor) -> UnsetProperties:
    """Reads the text after UNSET TBLPROPERTIES."""
    if_exists = take_if_exists(cursor)
    cursor.read("(")
    keys = [read_property_key(cursor)]
    while cursor.take(","):
        keys.append(read_property_key(cursor))
    cursor.read(")")
    return UnsetProperties(keys=tuple(keys), if_exists=if_exists)


def _drop_feature(cursor: Cursor) -> tuple[TableChange, ...]:
    feature = cursor.take_string() or cursor.read_name()
    return (DropFeature(feature=feature, truncate_history=cursor.take("TRUNCATE", "HISTORY")),)


def _cluster_by(cursor: Cursor) -> tuple[TableChange, ...]:
    return (ClusterBy(columns=read_clustering(cursor)),)


def _add_partition_field(cursor: Cursor) -> tuple[TableChange, ...]:
    return (ChangePartitioning(added=_read_named_term(cursor)),)


def _replace_partition_field(cursor: Cursor) -> tuple[TableChange, ...]:
    dropped = read_term(cursor)
    cursor.read("WITH")
    return (ChangePartitioning(dropped=dropped, added=_read_named_term(cursor)),)


def _read_named_term(cursor: Cursor) -> PartitionTerm:
    term = read_term(cursor)
    return replace(term, name=cursor.read_name()) if cursor.take("AS") else term


def _write_ordered(cursor: Cursor) -> tuple[TableChange, ...]:
    terms, distribution = read_write_order(cursor)
    return (SortBy(terms=terms, distribution=distribution),)


def _identifier_fields(cursor: Cursor, *, dropped: bool) -> tuple[TableChange, ...]:
    columns = [cursor.read_names()]
    while cursor.take(","):
        columns.append(cursor.read_names())
    return (ChangeIdentifiers(columns=tuple(columns), dropped=dropped),)


_CHANGES: Mapping[tuple[str, ...], Callable[[Cursor], tuple[TableChange, ...]]] = MappingProxyType(
    {
        ("ADD", "PARTITION", "FIELD"): _add_partition_field,
        ("DROP", "PARTITION", "FIELD"): lambda cursor: (ChangePartitioning(dropped=read_term(cursor)),),
        ("REPLACE", "PARTITION", "FIELD"): _replace_partition_field,
        ("WRITE",): _write_ordered,
        ("SET", "IDENTIFIER", "FIELDS"): lambda cursor: _identifier_fields(cursor, dropped=False),
        ("DROP", "IDENTIFIER", "FIELDS"): lambda cursor: _identifier_fields(cursor, dropped=True),
        **{("CREATE", kind): partial(read_new_reference, is_branch=kind == "BRANCH") for kind in ("BRANCH", "TAG")},
        **{
            ("CREATE", "OR", "REPLACE", kind): partial(
                read_new_reference, is_branch=kind == "BRANCH", action=ReferenceAction.CREATE_OR_REPLACE
            )
            for kind in ("BRANCH", "TAG")
        },
        **{
            ("REPLACE", kind): partial(read_new_reference, is_branch=kind == "BRANCH", action=ReferenceAction.REPLACE)
            for kind in ("BRANCH", "TAG")
        },
        **{("DROP", kind): partial(read_dropped_reference, is_branch=kind == "BRANCH") for kind in ("BRANCH", "TAG")},
        ("ADD", "COLUMN"): _add_columns,
        ("ADD", "COLUMNS"): _add_columns,
        ("REPLACE", "COLUMNS"): _replace_columns,
        ("RENAME", "COLUMN"): _rename_column,
        ("RENAME", "TO"): lambda cursor: (RenameTable(table_parts=read_table(cursor)),),
        ("DROP", "COLUMN"): _drop_columns,
        ("DROP", "COLUMNS"): _drop_columns,
        ("DROP", "CONSTRAINT"): _drop_constraint,
        ("DROP", "PRIMARY", "KEY"): _drop_primary_key,
        ("DROP", "FOREIGN", "KEY"): _drop_foreign_key,
        ("DROP", "FEATURE"): _drop_feature,
        ("ALTER",): _alter_columns,
        ("CHANGE",): _alter_columns,
        ("SET", "TBLPROPERTIES"): lambda cursor: (SetProperties(properties=read_properties(cursor)),),
        ("UNSET", "TBLPROPERTIES"): lambda cursor: (read_unset_properties(cursor),),
        ("SET", "LOCATION"): lambda cursor: (SetLocation(location=cursor.read_string()),),
        ("CLUSTER", "BY"): _cluster_by,
    }
)

# Known changes that are not supported.
_OTHER_CHANGES = (
    *(("ADD", word) for word in ("CHECK", "CONSTRAINT", "FOREIGN", "PARTITION", "PRIMARY")),
    *(("ALTER", "COLUMN"), ("COMPACT",), ("DEFAULT", "COLLATION"), ("DROP", "PARTITION")),
    ("DROP", "IF", "EXISTS", "PARTITION"),
    *(("DROP", "ROW", "FILTER"), ("PARTITION",), ("RECOVER", "PARTITIONS"), ("RENAME", "PARTITION")),
    *(("SET", word) for word in ("FILEFORMAT", "MANAGED", "ROW", "SERDE", "SERDEPROPERTIES", "TAGS")),
    *((word,) for word in ("ARCHIVE", "CLUSTERED", "CONCATENATE", "NOT", "SKEWED", "SORTED", "STORED", "TOUCH")),
    *(("SET", "SKEWED"), ("UNARCHIVE",)),
    *(("EXCHANGE", "PARTITION"), ("UNSET", "SERDEPROPERTIES"), ("UNSET", "TAGS")),
    *(("DISABLE", "PREDICTIVE"), ("ENABLE", "PREDICTIVE"), ("INHERIT", "PREDICTIVE")),
)


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {("ALTER", "TABLE"): parse_alter_table}
)
