"""Column expressions of Spark Connect as SQL, for the clauses of commands: conditions, assignments and partitions.

A query's expressions stay in its plan; only a command has clauses that its SQL statement must contain as text. Kinds
and operators are allow-lists; other functions are called by their name, which the statement's own checks look up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid
from catalog.names import quote
from engine.sql.string_literals import spark_string
from gateway.connect.inputs import quote_name
from gateway.connect.literals import parameter_of
from gateway.connect.proto import pb2
from gateway.connect.types import ddl_type

_BINARY = {
    "==": "=",
    "!=": "<>",
    "<=>": "<=>",
    **{operator: operator for operator in ("<", ">", "<=", ">=", "+", "-", "*", "/", "%", "&", "|", "^")},
    "and": "AND",
    "or": "OR",
    "like": "LIKE",
    "rlike": "RLIKE",
    "ilike": "ILIKE",
}
_PREFIX = {"not": "NOT", "negative": "-", "~": "~"}
_SUFFIX = {"isNull": "IS NULL", "isNotNull": "IS NOT NULL", "isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEPTH_MAX = 200

# The alias of a column that belongs to a DataFrame: the same for all, or by the id of the DataFrame. Empty: none.
Qualifiers: TypeAlias = str | Mapping[int, str]


def expression_sql(expression: pb2.Expression, qualifiers: Qualifiers = "", depth: int = 0) -> str:
    """Returns an expression's SQL. A column that belongs to a DataFrame, and not to a name, has one of `qualifiers`.

    Raises `ConnectFeatureNotSupported`.
    """
    if depth > _DEPTH_MAX:
        raise ConnectPlanInvalid("an expression has too many levels")
    kind = expression.WhichOneof("expr_type")
    found: Any = getattr(expression, kind) if kind else None
    match kind:
        case "literal":
            return _literal_sql(expression)
        case "unresolved_attribute":
            name = quote_name(found.unparsed_identifier)
            qualifier = _qualifier(found.plan_id, qualifiers) if found.HasField("plan_id") else ""
            return f"{quote(qualifier)}.{name}" if qualifier else name
        case "expression_string":
            return f"({found.expression})"
        case "alias":
            return expression_sql(found.expr, qualifiers, depth + 1)
        case "cast":
            target = found.type_str if found.WhichOneof("cast_to_type") == "type_str" else ddl_type(found.type)
            word = "TRY_CAST" if found.eval_mode == pb2.Expression.Cast.EVAL_MODE_TRY else "CAST"
            return f"{word}({expression_sql(found.expr, qualifiers, depth + 1)} AS {target})"
        case "unresolved_function" | "call_function":
            arguments = [expression_sql(one, qualifiers, depth + 1) for one in found.arguments]
            return _call_sql(found.function_name, arguments)
        case "unresolved_extract_value":
            child = expression_sql(found.child, qualifiers, depth + 1)
            return f"{child}[{expression_sql(found.extraction, qualifiers, depth + 1)}]"
        case _:  # a member of a protobuf oneof, or none
            raise ConnectFeatureNotSupported(
                f"An expression of the kind {kind or 'of a newer client'} in a command", "Use expr with its SQL text."
            )


def _qualifier(plan_id: int, qualifiers: Qualifiers) -> str:
    return qualifiers if isinstance(qualifiers, str) else qualifiers.get(plan_id, "")


def _literal_sql(expression: pb2.Expression) -> str:
    value = parameter_of(expression)
    if value.members is not None:
        raise ConnectFeatureNotSupported("An array or map literal in a command", "Use expr with its SQL text.")
    if value.value is None:
        return f"CAST(NULL AS {value.sql_type})"
    return f"CAST({spark_string(value.value)} AS {value.sql_type})"


def _call_sql(name: str, arguments: Sequence[str]) -> str:
    if name in _BINARY and len(arguments) == 2:
        return f"({arguments[0]} {_BINARY[name]} {arguments[1]})"
    if name in _PREFIX and len(arguments) == 1:
        return f"({_PREFIX[name]} {arguments[0]})"
    if name in _SUFFIX and len(arguments) == 1:
        return f"({arguments[0]} {_SUFFIX[name]})"
    if name == "in" and len(arguments) > 1:
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    if name == "when" and len(arguments) > 1:
        pairs = [f"WHEN {arguments[at]} THEN {arguments[at + 1]}" for at in range(0, len(arguments) - 1, 2)]
        otherwise = f" ELSE {arguments[-1]}" if len(arguments) % 2 else ""
        return f"CASE {' '.join(pairs)}{otherwise} END"
    if not _FUNCTION.fullmatch(name):
        raise ConnectFeatureNotSupported(f"The function {name} in a command", "Use expr with its SQL text.")
    return f"{name}({', '.join(arguments)})"
