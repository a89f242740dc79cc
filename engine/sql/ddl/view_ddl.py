"""ALTER VIEW, as Spark and Databricks write it."""

from __future__ import annotations

from catalog.privileges import Kind
from engine.sql.ddl.alter_ddl import read_unset_properties
from engine.sql.ddl.clauses import read_properties
from engine.sql.ddl.object_ddl import read_schema_mode
from engine.sql.ddl.tag_ddl import parse_alter_object
from engine.sql.dialect.cursor import Cursor
from engine.sql.query.names import read_table
from engine.sql.query.query import parse_query
from engine.statements.alters import RenameTable, SetProperties
from engine.statements.catalog import AlterView, CreateView
from engine.statements.rights import AlterOwner, AlterTags

_CHANGES = (("AS",), ("RENAME", "TO"), ("SET", "TBLPROPERTIES"), ("UNSET", "TBLPROPERTIES"), ("WITH", "SCHEMA"))


def parse_alter_view(cursor: Cursor) -> CreateView | AlterView | AlterOwner | AlterTags:
    """Parses what follows ALTER VIEW."""
    ahead = cursor.copy()
    read_table(ahead)
    words = next((words for words in _CHANGES if ahead.take(*words)), None)
    if words is None:
        return parse_alter_object(cursor, Kind.VIEW)
    view = read_table(cursor)
    cursor.read(*words)
    match words[0]:
        case "AS":
            return CreateView(view_parts=view, query=parse_query(cursor), or_replace=True, alters=True)
        case "RENAME":
            return AlterView(view_parts=view, change=RenameTable(table_parts=read_table(cursor)))
        case "SET":
            return AlterView(view_parts=view, change=SetProperties(properties=read_properties(cursor)))
        case "UNSET":
            return AlterView(view_parts=view, change=read_unset_properties(cursor))
        case _:
            read_schema_mode(cursor, "ALTER VIEW")
            return AlterView(view_parts=view, change=None)
