"""Registers ALTER TABLE: each action's first words, names to bind, required privileges and effect on a protected table.

`planning.py` converts an action into changes to the definition, unless it is a `WrittenChange`, which is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, assert_never

from catalog.grants.conditions import RequiredPrivilege, Requirement
from catalog.grants.privileges import Kind, Privilege
from catalog.names import PATH_SCHEMA, TableName, path_of
from engine.authorization.policies import Effect, PolicyEffect
from engine.authorization.required_privileges import on_table, on_target, schema_of
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement, BoundTable
from engine.binding.visibility import free_path_owners
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.plan import Plan
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.names import read_table
from engine.statements.alter_table.grammar import (
    read_add_columns,
    read_alter_columns,
    read_drop_columns,
    read_drop_constraint,
    read_drop_foreign_key,
    read_drop_primary_key,
    read_rename_column,
    read_replace_columns,
    read_unset_properties,
    take_added,
)
from engine.statements.alter_table.grammar_references import read_dropped_reference, read_new_reference
from engine.statements.alter_table.planning import plan_alter
from engine.statements.alter_table.statement import (
    AddColumns,
    AlterColumn,
    AlterTable,
    ChangeReference,
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
from engine.statements.create_table.grammar_clauses import read_clustering, read_properties
from engine.statements.create_table.grammar_partitions import read_term, read_write_order
from engine.statements.create_table.planning_keys import dropped_primary_key
from engine.statements.create_table.statement import AddKey, DropKey
from engine.statements.format_planning import FormatPlanners, plan_by_format
from engine.statements.grants.grammar import take_owner
from engine.statements.grants.statement import AlterOwner, SecurableName
from engine.statements.policies.grammar import take_policy, take_tags
from engine.statements.policies.statement import AlterTags, PolicyStatement
from engine.statements.spec import Repetition, StatementSpec, change_spec
from engine.tables.definition_changes import (
    AddConstraint,
    ChangeIdentifiers,
    ChangePartitioning,
    ClusterBy,
    DropConstraint,
    RenameColumn,
    RenameConstraint,
    SortBy,
)
from engine.types.partition_terms import PartitionTerm


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
    added = take_added(cursor)
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


def _rename_constraint(cursor: Cursor) -> tuple[TableChange, ...]:
    name = cursor.read_name()
    cursor.read("TO")
    return (RenameConstraint(name=name, new_name=cursor.read_name()),)


def _drop_feature(cursor: Cursor) -> tuple[TableChange, ...]:
    feature = cursor.take_string() or cursor.read_name()
    return (DropFeature(feature=feature, truncate_history=cursor.take("TRUNCATE", "HISTORY")),)


def _cluster_by(cursor: Cursor) -> tuple[TableChange, ...]:
    return (read_clustering(cursor),)


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
        ("ADD", "COLUMN"): read_add_columns,
        ("ADD", "COLUMNS"): read_add_columns,
        ("REPLACE", "COLUMNS"): read_replace_columns,
        ("RENAME", "COLUMN"): read_rename_column,
        ("RENAME", "CONSTRAINT"): _rename_constraint,
        ("RENAME", "TO"): lambda cursor: (RenameTable(table_parts=read_table(cursor)),),
        ("DROP", "COLUMN"): read_drop_columns,
        ("DROP", "COLUMNS"): read_drop_columns,
        ("DROP", "CONSTRAINT"): read_drop_constraint,
        ("DROP", "PRIMARY", "KEY"): read_drop_primary_key,
        ("DROP", "FOREIGN", "KEY"): read_drop_foreign_key,
        ("DROP", "FEATURE"): _drop_feature,
        ("ALTER",): read_alter_columns,
        ("CHANGE",): read_alter_columns,
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
    *(("ADD", "IF", "NOT", "EXISTS", "PARTITION"), ("DROP", "IF", "EXISTS", "PARTITION")),
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


_WHAT = "ALTER TABLE"
_CHECKS_ROWS = (PolicyEffect.CHECKS_STORED_ROWS, "A constraint that stored rows are checked for")


def _bind(statement: AlterTable, binder: Binder) -> BoundNames:
    """Binds the table, and other tables that the change must check."""
    table = binder.table(statement.table_parts)
    match statement.changes[0]:  # several changes are all ALTER COLUMN
        case SetLocation(location=location):
            free_path_owners(binder.view, binder.view.ensure_location(location))
            return BoundNames(target=table, relations=(binder.table((PATH_SCHEMA, location)),))
        case AddKey(key=key):
            return BoundNames(target=table, relations=binder.parents((), (key,)))
        case DropConstraint() | DropKey(columns=()):
            return BoundNames(target=table, relations=binder.children(table))
        case AddColumns() | ReplaceColumns() | RenameColumn() | DropColumns() | AlterColumn() | DropKey():
            return BoundNames(target=table)
        case SyncIdentity() | AddConstraint() | SetProperties() | UnsetProperties() | RenameTable() | ClusterBy():
            return BoundNames(target=table)
        case DropFeature() | ChangePartitioning() | SortBy() | ChangeIdentifiers() | ChangeReference():
            return BoundNames(target=table)
        case RenameConstraint():
            return BoundNames(target=table)
        case _:
            assert_never(statement.changes[0])


def _require(bound: BoundStatement, statement: AlterTable) -> Iterable[Requirement]:
    for change in statement.changes:
        yield from _require_change(bound, change)


def _require_change(bound: BoundStatement, change: TableChange) -> Iterable[Requirement]:
    match change:
        case RenameTable(table_parts=parts):
            yield from on_target(bound, Privilege.MANAGE)
            if path_of(parts) is None:
                yield RequiredPrivilege(
                    Privilege.CREATE_TABLE, schema_of(bound, TableName.from_parts(parts, bound.state.current))
                )
        case SetLocation():
            yield from on_target(bound, Privilege.MANAGE)
            for relation in bound.tables:
                yield from (RequiredPrivilege(Privilege.CREATE_EXTERNAL_TABLE, owner) for owner in relation.owners)
        case DropFeature():
            yield from on_target(bound, Privilege.MANAGE)
        case AddConstraint() | AlterColumn(nullable=False):  # the outcome reveals something about the rows
            yield from on_target(bound, Privilege.MODIFY)
            yield from on_target(bound, Privilege.SELECT)
        case DropKey():
            yield from on_target(bound, Privilege.MODIFY)
            yield from _require_cascade(bound, change)
        case AddColumns() | ReplaceColumns() | RenameColumn() | DropColumns() | AlterColumn() | AddKey():
            yield from on_target(bound, Privilege.MODIFY)
        case DropConstraint():
            yield from on_target(bound, Privilege.MODIFY)
            yield from _require_cascade(bound, change)
        case SyncIdentity() | RenameConstraint() | SetProperties() | UnsetProperties() | ClusterBy():
            yield from on_target(bound, Privilege.MODIFY)
        case ChangePartitioning() | SortBy() | ChangeIdentifiers() | ChangeReference():
            yield from on_target(bound, Privilege.MODIFY)
        case _:
            assert_never(change)


def _require_cascade(bound: BoundStatement, change: DropConstraint | DropKey) -> Iterable[Requirement]:
    """Requires MODIFY on the tables whose foreign keys are dropped with the primary key."""
    table = bound.target
    if change.cascade and isinstance(table, BoundTable) and dropped_primary_key(table, change) is not None:
        for child in bound.tables:
            yield from on_table(child, Privilege.MODIFY)


def _effects(bound: BoundStatement, statement: AlterTable) -> Iterable[Effect]:
    for change in statement.changes:
        yield from _effects_of(change, bound)


def _effects_of(change: TableChange, bound: BoundStatement) -> Iterable[Effect]:
    match change:
        case DropColumns(columns=columns):
            yield _changes_columns(parts[0] for parts in columns)
        case RenameColumn(path=parts):
            yield _changes_columns((parts[0],))
        case AlterColumn(parts=parts):
            if change.sql_type is not None:
                yield _changes_columns((parts[0],))
            yield Effect(*_CHECKS_ROWS) if change.nullable is False else Effect(PolicyEffect.NONE, _WHAT)
        case AddColumns(columns=added):  # struct fields change their column
            yield _changes_columns(each.parts[0] for each in added if len(each.parts) > 1)
        case ReplaceColumns():
            yield _changes_columns(bound.target.snapshot.schema.names if isinstance(bound.target, BoundTable) else ())
        case AddConstraint():
            yield Effect(*_CHECKS_ROWS)
        case SyncIdentity() | AddKey() | DropConstraint() | DropKey() | SetProperties() | UnsetProperties():
            yield Effect(PolicyEffect.NONE, _WHAT)
        case (
            ClusterBy() | ChangePartitioning() | SortBy() | ChangeIdentifiers() | ChangeReference() | RenameConstraint()
        ):
            yield Effect(PolicyEffect.NONE, _WHAT)
        case RenameTable() | SetLocation() | DropFeature():
            yield Effect(PolicyEffect.ADMINISTERS, _WHAT)
        case _:
            assert_never(change)


def _changes_columns(names: Iterable[str]) -> Effect:
    return Effect(PolicyEffect.CHANGES_COLUMNS, _WHAT, tuple(names))


def _plan(analyzed: AnalyzedStatement, statement: AlterTable, planners: FormatPlanners) -> Plan:
    own = plan_by_format(planners, analyzed.bound, statement)
    return plan_alter(analyzed.bound, statement) if own is None else own


def _repetition(statement: AlterTable) -> Repetition:
    is_in_catalog = isinstance(statement.changes[0], RenameTable | SetLocation)
    return Repetition.CATALOG if is_in_catalog else Repetition.DEFINITION


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        AlterTable,
        "ALTER TABLE",
        syntax="ALTER TABLE table {ADD COLUMNS (…) | DROP COLUMNS (…) | RENAME COLUMN a TO b | ALTER COLUMN a … | "
        "REPLACE COLUMNS (…) | ADD CONSTRAINT … | "
        "DROP {CONSTRAINT [IF EXISTS] name | PRIMARY KEY [IF EXISTS]} [RESTRICT | CASCADE] | "
        "DROP FOREIGN KEY [IF EXISTS] (…) | RENAME CONSTRAINT a TO b | "
        "SET TBLPROPERTIES (…) | UNSET TBLPROPERTIES (…) | RENAME TO name | SET LOCATION 'path' | "
        "CLUSTER BY {(…) | AUTO | NONE} | "
        "DROP FEATURE feature [TRUNCATE HISTORY] | ADD PARTITION FIELD … | WRITE ORDERED BY … | "
        "SET IDENTIFIER FIELDS … | {CREATE | REPLACE | DROP} {BRANCH | TAG} …}",
        example="ALTER TABLE orders ADD COLUMNS (note STRING)",
        bind=_bind,
        required_privileges=_require,
        policy_effects=_effects,
        plan=_plan,
        repetition=_repetition,
        answers_rows=False,
        reports_work=False,
    ),
)
