"""Parses clauses that several statements share: column definitions, property lists, checks, positions.

Types and expressions remain text: Spark parses them where they are used. Clauses in Spark's grammar that no Delta table
supports (UNIQUE, collations, bucketing) are rejected with an error that names them.
"""

from __future__ import annotations

from catalog.conditions import DuplicateColumnClause, DuplicateIdentityOption, UnsupportedClause
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure
from engine.sql.dialect.type_text import NoType, ensure_is_type
from engine.sql.query.values import Properties
from engine.statements.create_table.grammar_keys import take_key
from engine.statements.create_table.statement import Check, ColumnDef, Identity
from engine.statements.functions.grammar_calls import read_mask
from engine.tables.definition_changes import ClusterBy
from engine.tables.keys import KeyDef
from engine.types.schema_changes import After, First, Position

_NO_UNIQUE = "It would not be enforced; declare a PRIMARY KEY, which tells as much to those who read it."
_KEYS = (("PRIMARY", "KEY"), ("FOREIGN", "KEY"), ("UNIQUE",), ("REFERENCES",))
# Words that end a column's type, and its default.
_COLUMN_CLAUSES = (
    *(("NOT", "NULL"), ("DEFAULT",), ("GENERATED",), ("COMMENT",), ("CONSTRAINT",), ("CHECK",), ("FIRST",), ("AFTER",)),
    ("MASK",),
    *_KEYS,
)
_SPELLED = {
    "nullable": "NOT NULL",
    "default": "DEFAULT",
    "comment": "COMMENT",
    "generated": "GENERATED ALWAYS AS",
    "identity": "GENERATED … AS IDENTITY",
    "position": "FIRST or AFTER",
    "mask": "MASK",
}
_IDENTITY_OPTIONS = frozenset({"START", "INCREMENT"})


def read_type(cursor: Cursor) -> str:
    """Reads a type as written."""
    start = cursor.offset
    text = cursor.read_text(*_COLUMN_CLAUSES, is_type=True, what="a type")
    try:
        ensure_is_type(text)
    except NoType as wrong:
        raise SyntaxFailure(wrong.reason, start + wrong.offset) from None
    return text


def read_default(cursor: Cursor) -> str:
    """Reads the expression after DEFAULT."""
    return cursor.read_text(*_COLUMN_CLAUSES)


def read_column(cursor: Cursor, *, may_mask: bool = False) -> ColumnDef:
    """Reads `name type [NOT NULL | DEFAULT e | GENERATED … | COMMENT 'c' | CHECK (e) | MASK f | FIRST | AFTER c]…`,
    each clause once.
    """
    parts = cursor.read_names()
    column: dict[str, object] = {"sql_type": read_type(cursor)}
    checks: list[Check] = []
    keys: list[KeyDef] = []
    while not cursor.is_done and cursor.words(1) not in ([","], [")"]):
        constraint = take_constraint(cursor, parts[-1])
        if constraint is not None:
            if isinstance(constraint, Check):
                checks.append(constraint)
            else:
                keys.append(constraint)
            continue
        is_mask = cursor.take("MASK")
        if is_mask and not may_mask:
            raise UnsupportedClause("MASK here", "Set it with ALTER TABLE … ALTER COLUMN … SET MASK.")
        key, value = ("mask", read_mask(cursor, parts[-1])) if is_mask else _read_column_clause(cursor)
        if key in column:
            raise DuplicateColumnClause(".".join(parts), _SPELLED[key])
        column[key] = value
    return ColumnDef(parts=parts, checks=tuple(checks), keys=tuple(keys), **column)  # type: ignore[arg-type]


def _read_column_clause(cursor: Cursor) -> tuple[str, object]:
    if cursor.take("NOT", "NULL"):
        return "nullable", False
    if cursor.take("DEFAULT"):
        return "default", read_default(cursor)
    if cursor.take("COMMENT"):
        return "comment", cursor.read_string()
    if cursor.take("GENERATED"):
        return _read_generated(cursor)
    position = take_position(cursor)
    if position is None:
        raise cursor.fail("a clause of a column, a comma or ')' is expected")
    return "position", position


def _read_generated(cursor: Cursor) -> tuple[str, object]:
    always = cursor.take("ALWAYS")
    if not always:
        cursor.read("BY", "DEFAULT")
    cursor.read("AS")
    if not cursor.take("IDENTITY"):
        if not always:
            raise cursor.fail("IDENTITY is expected")
        return "generated", cursor.read_parenthesized()
    options: dict[str, int] = {}
    if cursor.take("("):
        while not cursor.take(")"):
            option = "START" if cursor.take("START", "WITH") else "INCREMENT"
            if option == "INCREMENT":
                cursor.read("INCREMENT", "BY")
            if option in options:
                raise DuplicateIdentityOption(option)
            options[option] = _read_integer(cursor)
            if options.keys() < _IDENTITY_OPTIONS:
                cursor.take(",")
    return "identity", Identity(always=always, start=options.get("START", 1), step=options.get("INCREMENT", 1))


def _read_integer(cursor: Cursor) -> int:
    sign = -1 if cursor.take("-") else 1
    text = cursor.take_number_text()
    if text is None or not text.isdecimal():
        raise cursor.fail("a whole number is expected")
    return sign * int(text)


def take_constraint(cursor: Cursor, column: str | None = None) -> Check | KeyDef | None:
    """Reads `[CONSTRAINT name] CHECK (e) | PRIMARY KEY … | FOREIGN KEY …`, in the definition of `column` or for the
    table.
    """
    name = cursor.read_name() if cursor.take("CONSTRAINT") else None
    if cursor.take("UNIQUE"):
        raise UnsupportedClause("UNIQUE", _NO_UNIQUE)
    if cursor.take("CHECK"):
        return Check(name=name, expression=cursor.read_parenthesized())
    key = take_key(cursor, name, column)
    if key is None and name is not None:
        raise cursor.fail("CHECK, PRIMARY KEY or FOREIGN KEY is expected")
    return key


def take_position(cursor: Cursor) -> Position:
    """Reads `FIRST`, `AFTER column`."""
    if cursor.take("FIRST"):
        return First()
    return After(cursor.read_name()) if cursor.take("AFTER") else None


def read_name_list(cursor: Cursor) -> tuple[str, ...]:
    """Reads `(a, b)`."""
    cursor.read("(")
    names = [cursor.read_name()]
    while cursor.take(","):
        names.append(cursor.read_name())
    cursor.read(")")
    return tuple(names)


def read_dotted_list(cursor: Cursor) -> tuple[tuple[str, ...], ...]:
    """Reads `(a, b.c)`."""
    cursor.read("(")
    names = [cursor.read_names()]
    while cursor.take(","):
        names.append(cursor.read_names())
    cursor.read(")")
    return tuple(names)


def read_clustering(cursor: Cursor) -> ClusterBy:
    """Parses the text after CLUSTER BY: `(a, b.c)`, `AUTO` or `NONE`."""
    if cursor.take("AUTO"):
        return ClusterBy(is_automatic=True)
    return ClusterBy(columns=() if cursor.take("NONE") else read_dotted_list(cursor))


def read_properties(cursor: Cursor) -> Properties:
    """Reads `('key' = 'value', 'key' 'value', key.with.dots = 5, …)`, in order; values are text, as in Spark."""
    cursor.read("(")
    properties: dict[str, str] = {}
    while True:
        strings = cursor.take_strings()
        if len(strings) > 1 and cursor.words(1) != ["="]:
            key, *rest = strings
            value: str | None = "".join(rest)
        else:
            key = "".join(strings) if strings else ".".join(cursor.read_names())
            value = None
        if key in properties:
            raise cursor.fail(f"the property {key} before this is given twice")
        if value is None:
            cursor.take("=")
            value = _read_property_value(cursor)
        properties[key] = value
        if not cursor.take(","):
            break
    cursor.read(")")
    return tuple(properties.items())


def read_property_key(cursor: Cursor) -> str:
    """Reads a string or a dotted name."""
    string = cursor.take_string()
    return string if string is not None else ".".join(cursor.read_names())


def _read_property_value(cursor: Cursor) -> str:
    sign = "-" if cursor.take("-") else ""
    value = cursor.take_number_text() if sign else cursor.take_string()
    if value is None:
        value = cursor.take_number_text()
    if value is None:
        boolean = cursor.take_any("TRUE", "FALSE")
        value = boolean.lower() if boolean else None
    if value is None:
        raise cursor.fail("a value (a string, a number, true or false) is expected")
    return sign + value


def take_if_not_exists(cursor: Cursor) -> bool:
    """Reads `IF NOT EXISTS`; returns False, reading nothing, for other text."""
    return cursor.take("IF", "NOT", "EXISTS")


def take_if_exists(cursor: Cursor) -> bool:
    """Reads `IF EXISTS`; returns False, reading nothing, for other text."""
    return cursor.take("IF", "EXISTS")
