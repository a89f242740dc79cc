"""Which texts change something: the first words of a statement → what reads the rest as a `WriteStatement`.

Statements that are in the table of refusals and not here stay refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from catalog.privileges import Kind
from engine.sql.dialect.cursor import Cursor
from engine.statements.alter_table.grammar import parse_alter_table
from engine.statements.comments.grammar import parse_comment_on
from engine.statements.containers.grammar import (
    parse_alter_catalog,
    parse_create_catalog,
    parse_create_schema,
    parse_drop_catalog,
    parse_drop_schema,
)
from engine.statements.copy_into.grammar import parse_copy_into
from engine.statements.create_table.grammar import parse_create_external_table, parse_create_table, parse_drop_table
from engine.statements.create_table.grammar_convert import parse_convert
from engine.statements.create_table.statement import CreateMode
from engine.statements.functions.grammar import parse_create_function, parse_drop_function
from engine.statements.grants.grammar import (
    parse_alter_group,
    parse_create_group,
    parse_create_location,
    parse_deny,
    parse_drop_group,
    parse_drop_location,
    parse_grant,
    parse_revoke,
    parse_role,
)
from engine.statements.insert.grammar import is_led_insert, parse_insert, parse_led_insert
from engine.statements.insert.statement import Insert, MultiInsert
from engine.statements.maintenance.grammar import (
    parse_analyze,
    parse_fsck,
    parse_generate,
    parse_optimize,
    parse_reorg,
    parse_restore,
    parse_vacuum,
)
from engine.statements.merge.grammar import parse_merge
from engine.statements.merge.statement import Merge
from engine.statements.policies.grammar import parse_alter_object, parse_create_policy, parse_drop_policy
from engine.statements.procedures.grammar import parse_call
from engine.statements.row_changes.grammar import parse_delete, parse_truncate_table, parse_update
from engine.statements.row_changes.statement import Delete, Update
from engine.statements.select.statement import Span
from engine.statements.statement import WriteStatement
from engine.statements.tokens.grammar import parse_create_token, parse_revoke_token
from engine.statements.views.grammar import parse_alter_view, parse_create_view, parse_drop_view
from engine.statements.volumes.grammar import (
    parse_alter_volume,
    parse_create_volume,
    parse_drop_volume,
    parse_put,
    parse_remove,
)

_TEMPORARY: tuple[tuple[str, ...], ...] = ((), ("TEMP",), ("TEMPORARY",))
_CREATE: tuple[tuple[str, ...], ...] = (("CREATE",), ("CREATE", "OR", "REPLACE"))
_OWNED = (Kind.SCHEMA, Kind.FUNCTION, Kind.LOCATION)

_WRITES: Mapping[tuple[str, ...], Callable[[Cursor], WriteStatement]] = MappingProxyType(
    {
        ("ALTER", "TABLE"): parse_alter_table,
        **{("ALTER", *kind.value.split()): partial(parse_alter_object, kind=kind) for kind in _OWNED},
        ("ALTER", "CATALOG"): parse_alter_catalog,
        ("ALTER", "DATABASE"): partial(parse_alter_object, kind=Kind.SCHEMA),
        ("ALTER", "GROUP"): parse_alter_group,
        ("ALTER", "VIEW"): parse_alter_view,
        ("ALTER", "VOLUME"): parse_alter_volume,
        ("CALL",): parse_call,
        ("COMMENT", "ON"): parse_comment_on,
        ("CONVERT", "TO", "DELTA"): parse_convert,
        ("COPY", "INTO"): parse_copy_into,
        ("CREATE", "CATALOG"): parse_create_catalog,
        ("CREATE", "EXTERNAL", "LOCATION"): parse_create_location,
        ("CREATE", "EXTERNAL", "TABLE"): parse_create_external_table,
        **{
            (*create, *temporary, "FUNCTION"): partial(
                parse_create_function, or_replace="REPLACE" in create, temporary=bool(temporary)
            )
            for create in _CREATE
            for temporary in _TEMPORARY
        },
        ("CREATE", "EXTERNAL", "VOLUME"): partial(parse_create_volume, external=True),
        ("CREATE", "GROUP"): parse_create_group,
        ("CREATE", "POLICY"): partial(parse_create_policy, or_replace=False),
        ("CREATE", "OR", "REPLACE", "POLICY"): partial(parse_create_policy, or_replace=True),
        ("CREATE", "ROLE"): parse_role,
        ("CREATE", "DATABASE"): parse_create_schema,
        ("CREATE", "NAMESPACE"): parse_create_schema,
        ("CREATE", "SCHEMA"): parse_create_schema,
        ("CREATE", "TABLE"): partial(parse_create_table, mode=CreateMode.CREATE),
        ("CREATE", "OR", "REPLACE", "TABLE"): partial(parse_create_table, mode=CreateMode.CREATE_OR_REPLACE),
        ("REPLACE", "TABLE"): partial(parse_create_table, mode=CreateMode.REPLACE),
        ("CREATE", "TOKEN"): parse_create_token,
        ("CREATE", "VIEW"): partial(parse_create_view, or_replace=False, temporary=False),
        ("CREATE", "OR", "REPLACE", "VIEW"): partial(parse_create_view, or_replace=True, temporary=False),
        ("CREATE", "TEMP", "VIEW"): partial(parse_create_view, or_replace=False, temporary=True),
        ("CREATE", "TEMPORARY", "VIEW"): partial(parse_create_view, or_replace=False, temporary=True),
        ("CREATE", "OR", "REPLACE", "TEMP", "VIEW"): partial(parse_create_view, or_replace=True, temporary=True),
        ("CREATE", "OR", "REPLACE", "TEMPORARY", "VIEW"): partial(parse_create_view, or_replace=True, temporary=True),
        **{
            (*create, "GLOBAL", *temporary, "VIEW"): partial(
                parse_create_view, or_replace="REPLACE" in create, temporary=True, shared=True
            )
            for create in _CREATE
            for temporary in _TEMPORARY[1:]
        },
        ("CREATE", "VOLUME"): parse_create_volume,
        ("DELETE", "FROM"): parse_delete,
        ("DENY",): parse_deny,
        ("DROP", "EXTERNAL", "LOCATION"): parse_drop_location,
        **{
            ("DROP", *temporary, "FUNCTION"): partial(parse_drop_function, temporary=bool(temporary))
            for temporary in _TEMPORARY
        },
        ("DROP", "GROUP"): parse_drop_group,
        ("DROP", "POLICY"): parse_drop_policy,
        ("DROP", "ROLE"): parse_role,
        ("DROP", "CATALOG"): parse_drop_catalog,
        ("DROP", "DATABASE"): parse_drop_schema,
        ("DROP", "NAMESPACE"): parse_drop_schema,
        ("DROP", "SCHEMA"): parse_drop_schema,
        ("DROP", "TABLE"): parse_drop_table,
        ("DROP", "VIEW"): parse_drop_view,
        ("DROP", "VOLUME"): parse_drop_volume,
        ("GRANT",): parse_grant,
        ("INSERT",): parse_insert,
        ("MERGE",): parse_merge,
        ("OPTIMIZE",): parse_optimize,
        ("PUT",): parse_put,
        ("REMOVE",): parse_remove,
        ("REORG", "TABLE"): parse_reorg,
        ("TRUNCATE", "TABLE"): parse_truncate_table,
        ("ANALYZE", "TABLE"): parse_analyze,
        ("FSCK", "REPAIR", "TABLE"): parse_fsck,
        ("GENERATE",): parse_generate,
        ("RESTORE",): parse_restore,
        ("REVOKE", "TOKEN"): parse_revoke_token,
        ("REVOKE",): parse_revoke,
        ("VACUUM",): parse_vacuum,
        ("UPDATE",): parse_update,
    }
)

_AFTER_WITH: Mapping[tuple[str, ...], Callable[[Cursor, Span | None], Delete | Merge | Update]] = MappingProxyType(
    {("DELETE", "FROM"): parse_delete, ("MERGE",): parse_merge, ("UPDATE",): parse_update}
)
"""Those that may follow a WITH clause, besides INSERT."""


WRITE_HEADS: tuple[tuple[str, ...], ...] = tuple(_WRITES)
"""Their first words."""


def parse_write(cursor: Cursor) -> WriteStatement | MultiInsert | None:
    """The statement at `cursor` if it is one that changes something; it is read to its end."""
    if is_led_insert(cursor):
        return parse_led_insert(cursor)
    body = cursor.place_after_with()
    if body is not None:
        return _parse_after_with(cursor, body)
    for words, parse in _WRITES.items():
        if cursor.take(*words):
            statement = parse(cursor)
            cursor.ensure_done()
            return statement
    return None


def parse_explained(cursor: Cursor) -> Insert | Delete | Update | Merge | None:
    """The statement at `cursor` if it is one that changes rows, which EXPLAIN is for; it is read to its end."""
    if cursor.take("INSERT"):
        return parse_insert(cursor)
    statement = _parse_after_with(cursor, cursor.place_after_with())
    if statement is not None:
        cursor.read_rest()
    return statement


def _parse_after_with(cursor: Cursor, body: int | None) -> Delete | Merge | Update | None:
    """The statement at `body`, or at `cursor` without a WITH clause; if it is none of those it is a query."""
    after = cursor.copy()
    if body is not None:
        after.skip_to(body)
    for words, parse in _AFTER_WITH.items():
        if after.take(*words):
            statement = parse(after, None if body is None else Span(cursor.offset, body))
            after.ensure_done()
            return statement
    return None
