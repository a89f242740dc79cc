"""PostgreSQL's internal type names, and the types of expressions that are common to several."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

_Type = exp.DataType.Type
_NAMES = {
    _Type.BOOLEAN: "bool",
    _Type.SMALLINT: "int2",
    _Type.INT: "int4",
    _Type.BIGINT: "int8",
    _Type.FLOAT: "float4",
    _Type.DOUBLE: "float8",
    _Type.DECIMAL: "numeric",
    _Type.TEXT: "text",
    _Type.VARCHAR: "varchar",
    _Type.CHAR: "bpchar",
    _Type.BPCHAR: "bpchar",
    _Type.NAME: "name",
    _Type.DATE: "date",
    _Type.TIME: "time",
    _Type.TIMETZ: "timetz",
    _Type.TIMESTAMP: "timestamp",
    _Type.TIMESTAMPNTZ: "timestamp",
    _Type.TIMESTAMPTZ: "timestamptz",
    _Type.INTERVAL: "interval",
    _Type.JSON: "json",
    _Type.JSONB: "jsonb",
    _Type.UUID: "uuid",
    _Type.VARBINARY: "bytea",
    _Type.XML: "xml",
    _Type.MONEY: "money",
    _Type.INET: "inet",
    _Type.BIT: "bit",
}
_SPELLED = {"decimal": "numeric", "float": "float8", "integer": "int4", "int": "int4", "boolean": "bool"}
_NUMBERS = ("int2", "int4", "int8", "oid", "numeric", "float4", "float8")


def type_name(data_type: exp.Expr) -> str:
    """Returns the internal name of a type in a cast, in lower case: `int4` for INTEGER, `_text` for `text[]`."""
    if not isinstance(data_type, exp.DataType):
        return data_type.name.lower() or data_type.sql("postgres").lower()
    kind = data_type.this
    if kind == _Type.ARRAY:
        return f"_{type_name(data_type.expressions[0]).removeprefix('_')}" if data_type.expressions else "_text"
    if kind == _Type.INTERVAL or isinstance(kind, exp.Interval):
        return "interval"
    if kind in _NAMES:
        return "char" if data_type.args.get("kind") == "char" else _NAMES[kind]
    spelled = str(data_type.args.get("kind") or data_type.sql("postgres"))
    spelled = spelled.rpartition(".")[2].strip('"').partition("(")[0].lower()
    return _SPELLED.get(spelled, spelled)


def common_type(types: Iterable[str]) -> str:
    """Returns the type of COALESCE and UNION over values with these types: the widest number, or else the first one.

    CASE has the value of ELSE in front.
    """
    known = [name for name in types if name not in ("unknown", "void")]
    if not known:
        return "text"
    if all(name in _NUMBERS for name in known):
        return max(known, key=_NUMBERS.index)
    return known[0]
