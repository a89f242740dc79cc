"""Expressions of PostgreSQL as expressions of Spark.

Each construct with another meaning is corrected here, or rejected with its position.
"""

from __future__ import annotations

import re
from typing import NoReturn

from sqlglot import exp

from catalog.conditions import PostgresNotSupported
from engine.sql.postgres.functions import FIELDS, REFUSED, REFUSED_PREFIXES, TEMPLATES
from engine.sql.postgres.literals import (
    array_members,
    date_pattern,
    interval_sql,
    java_pattern,
    similar_pattern,
)
from engine.sql.postgres.reader import last_name, start_of
from engine.sql.postgres.templates import call, fill
from engine.sql.postgres.types import type_name
from engine.sql.query.source_text import position_in

_CASTS = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INT",
    "int8": "BIGINT",
    "oid": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP_NTZ",
    "timestamptz": "TIMESTAMP",
    "bytea": "BINARY",
    **dict.fromkeys(("text", "name", "varchar", "bpchar", "json", "jsonb", "uuid", "xml", "inet"), "STRING"),
}
_INTEGERS = ("int2", "int4", "int8")
_TEXTS = ("text", "name", "varchar", "bpchar")
_REFUSED_NODES: dict[type[exp.Expr], str] = {
    exp.ArrayContainsAll: "The operator @>",
    exp.ArrayContainedBy: "The operator <@",
    exp.JSONBContains: "The operator ?",
    exp.JSONBContainsTopKey: "The operator ?",
    exp.JSONBContainsAnyTopKeys: "The operator ?|",
    exp.JSONBContainsAllTopKeys: "The operator ?&",
    exp.JSONBDeleteAtPath: "The operator #-",
    exp.JSONBPathExists: "The operator @?",
    exp.MatchAgainst: "The operator @@",
    exp.Operator: "OPERATOR(…)",
    exp.Overlaps: "OVERLAPS",
    exp.National: "A national string",
}
_JSON_OPERATORS: dict[type[exp.Expr], str] = {
    exp.JSONExtract: "pg_json_get",
    exp.JSONExtractScalar: "pg_json_get_text",
    exp.JSONBExtract: "pg_json_path",
    exp.JSONBExtractScalar: "pg_json_path_text",
}
_JSONB_CALLS = frozenset({"pg_jsonb", "pg_json_get", "pg_json_path"})
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_ITEM = "pg_item"


class ExpressionTranslator:
    """Translates expressions in place; `source` is the text that positions of errors refer to."""

    def __init__(self, source: str) -> None:
        self._source = source

    def refuse(self, feature: str, node: exp.Expr, advice: str = "") -> NoReturn:
        """Raises the error for a construct without an equivalent."""
        self.refuse_at(feature, start_of(node), advice)

    def refuse_at(self, feature: str, offset: int, advice: str = "") -> NoReturn:
        """Raises the error for a construct at an offset in the text."""
        error = PostgresNotSupported(feature, advice)
        error.position = position_in(self._source, offset)
        raise error

    def translate(self, root: exp.Expr) -> exp.Expr:
        """Returns the tree with all expressions in it translated, those in subqueries too."""
        # Children first: a template then contains no node that is still PostgreSQL's.
        for node in list(root.walk(bfs=False))[::-1]:
            made = self._translated(node)
            if made is not node:
                if node is root:
                    return made
                node.replace(made)
        return root

    def _translated(self, node: exp.Expr) -> exp.Expr:
        if type(node) in _REFUSED_NODES:
            self.refuse(_REFUSED_NODES[type(node)], node)
        match node:
            case exp.Anonymous():
                return self._function(node)
            case exp.Cast():
                return self._cast(node)
            case exp.Div() | exp.Add() | exp.Sub():
                return self._arithmetic(node)
            case exp.Extract():
                return self._extract(node.name, node.expression, node)
            case exp.Parameter():
                return exp.Placeholder(this=f"p{node.name}")
            case exp.Bracket():
                return self._subscript(node)
            case exp.RegexpLike() | exp.RegexpILike() | exp.SimilarTo():
                return self._pattern(node)
            case exp.AtTimeZone():
                return fill("pg_at_time_zone(_1, _2)", node.args["zone"], node.this)
            case exp.Interval():
                return self._interval(node)
            case exp.JSONExtract() | exp.JSONExtractScalar() | exp.JSONBExtract() | exp.JSONBExtractScalar():
                return fill(f"{_JSON_OPERATORS[type(node)]}(_1, _2)", node.this, node.expression)
            case exp.DPipe() if _is_jsonb(node.this) or _is_jsonb(node.expression):
                self.refuse("The operator || of jsonb", node, "Use ->> for a text.")
            case exp.WithinGroup():
                return self._within_group(node)
            case exp.Dot() if isinstance(node.expression, exp.Anonymous) and node.name != "pg_catalog":
                return node
            case _:  # a sqlglot node
                return self._other(node)

    def _other(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Any | exp.All) and isinstance(node.parent, _COMPARISONS):
            return node
        if isinstance(node, _COMPARISONS) and isinstance(node.expression, exp.Any | exp.All):
            return self._quantified(node, node.expression)
        if isinstance(node, exp.ByteString | exp.RawString):
            return exp.Literal.string(node.name)
        if isinstance(node, exp.UnicodeString):
            return exp.Literal.string(re.sub(r"\\([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), node.name))
        if isinstance(node, exp.BitString | exp.HexString):
            self.refuse("A bit string", node)
        if isinstance(node, exp.Substring):
            return self._substring(node)
        if isinstance(node, exp.ArrayOverlaps):
            return call("arrays_overlap", node.this, node.expression)
        if isinstance(node, exp.StrPosition):
            return call("instr", node.this, node.args["substr"])
        if isinstance(node, exp.CurrentTime | exp.Localtime):
            return call("current_time")
        if isinstance(node, exp.CurrentSchema):
            return call("current_schema")
        if isinstance(node, exp.CurrentCatalog):
            return call("current_catalog")
        if isinstance(node, exp.Localtimestamp):
            return call("localtimestamp")
        if isinstance(node, exp.Pow):
            return call("power", node.this, node.expression)
        if isinstance(node, exp.Array):
            return call("array", *node.expressions)
        if isinstance(node, exp.Window) and node.args.get("spec") is not None and node.args["spec"].args.get("exclude"):
            self.refuse("EXCLUDE in a window's frame", node)
        return node

    # ------------------------------------------------------------------------------------------------------ arithmetic

    def _arithmetic(self, node: exp.Expr) -> exp.Expr:
        left, right = node.this, node.expression
        if isinstance(node, exp.Sub) and _is_jsonb(left):
            self.refuse("The operator - of jsonb", node)
        if isinstance(node, exp.Div):
            return fill("pg_divide(_1, _2)", left, right)
        is_number = isinstance(left, exp.Literal) and not left.is_string
        if is_number and isinstance(right, exp.Literal) and not right.is_string:
            return node
        return fill("pg_add(_1, _2)" if isinstance(node, exp.Add) else "pg_subtract(_1, _2)", left, right)

    def _quantified(self, node: exp.Expr, right: exp.Expr) -> exp.Expr:
        inner = right.this
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.Subquery | exp.Query):
            query = inner if isinstance(inner, exp.Subquery) else exp.Subquery(this=inner)
            if isinstance(node, exp.EQ) and isinstance(right, exp.Any):
                return exp.In(this=node.this, query=query)
            if isinstance(node, exp.NEQ) and isinstance(right, exp.All):
                return exp.Not(this=exp.In(this=node.this, query=query))
            self.refuse("ANY and ALL over a query with this operator", node, "Compare with min or max of the query.")
        if isinstance(inner, exp.Literal) and inner.is_string:
            inner = self._array_of_text(inner.name, node)
        variable = exp.Identifier(this=_ITEM)
        body = type(node)(this=node.this.copy(), expression=exp.Column(this=variable.copy()))
        name = "exists" if isinstance(right, exp.Any) else "forall"
        return call(name, inner, exp.Lambda(this=body, expressions=[variable]))

    def _subscript(self, node: exp.Bracket) -> exp.Expr:
        index = node.expressions[0]
        if len(node.expressions) > 1 or not isinstance(node.this, exp.Expr):
            self.refuse("A subscript with several values", node)
        if isinstance(index, exp.Slice):
            if index.this is None or index.expression is None:
                self.refuse("A slice without a bound", node)
            return fill("slice(_1, _2, greatest(_3 - _2 + 1, 0))", node.this, index.this, index.expression)
        if isinstance(index, exp.Literal) and index.is_int:
            return call("get", node.this, exp.Literal.number(int(index.name) - 1))
        return fill("get(_1, _2 - 1)", node.this, index)

    # ----------------------------------------------------------------------------------------------------------- casts

    def _cast(self, node: exp.Cast) -> exp.Expr:
        name, value = type_name(node.to), node.this
        text = value.name if isinstance(value, exp.Literal) and value.is_string else None
        if name.startswith("_"):
            return self._array_cast(node, name[1:], text)
        if name == "interval":
            found = None if text is None else interval_sql(text)
            if found is None:
                self.refuse("A cast to INTERVAL of anything but a usual constant", node)
            return fill(found)
        if name == "numeric":
            return self._numeric(node, text)
        target = _CASTS.get(name)
        if target is None:
            self.refuse(f"The type {name}", node)
        if name in _TEXTS:
            return self._text_cast(node, name, text)
        if name in ("json", "jsonb", "uuid"):
            return fill(f"pg_{name}(_1)", value)
        is_plain = isinstance(value, exp.Literal | exp.Null | exp.Placeholder | exp.Parameter) and "." not in value.name
        if name in _INTEGERS and not is_plain:
            value = fill("pg_integer(_1)", value)
        if name == "bytea" and text is not None and text.startswith("\\x"):
            return fill("unhex(_1)", exp.Literal.string(text[2:]))
        return _cast_to(value, target)

    def _text_cast(self, node: exp.Cast, name: str, text: str | None) -> exp.Expr:
        value = node.this if text is not None else fill("pg_text(_1)", node.this)
        if isinstance(node.this, exp.Null | exp.Placeholder):
            value = _cast_to(node.this, "STRING")
        length = next((size.name for size in node.to.expressions), "1" if name == "bpchar" else "")
        if name not in ("varchar", "bpchar") or not length:
            return value
        cut = fill("left(_1, _2)", value, exp.Literal.number(length))
        return fill("rpad(_1, _2, ' ')", cut, exp.Literal.number(length)) if name == "bpchar" else cut

    def _numeric(self, node: exp.Cast, text: str | None) -> exp.Expr:
        sizes = [size.name for size in node.to.expressions]
        if sizes:
            return _cast_to(node.this, f"DECIMAL({sizes[0]}, {sizes[1] if len(sizes) > 1 else 0})")
        if text is None:
            return fill("pg_numeric(_1)", node.this)
        digits = len(text.partition(".")[2])
        return _cast_to(node.this, f"DECIMAL(38, {min(digits, 30)})")

    def _array_cast(self, node: exp.Cast, inner: str, text: str | None) -> exp.Expr:
        target = _CASTS.get(inner) or ("DECIMAL(38, 10)" if inner == "numeric" else None)
        if target is None:
            self.refuse(f"The type {inner}[]", node)
        value = node.this if text is None else self._array_of_text(text, node)
        return _cast_to(value, f"ARRAY<{target}>")

    def _array_of_text(self, text: str, node: exp.Expr) -> exp.Expr:
        members = array_members(text)
        if members is None:
            self.refuse("The text of an array with bounds or several dimensions", node)
        return call("array", *(exp.Null() if one is None else exp.Literal.string(one) for one in members))

    def _interval(self, node: exp.Interval) -> exp.Expr:
        unit = node.args.get("unit")
        value = node.this.name if isinstance(node.this, exp.Literal) else None
        found = None if value is None else interval_sql(f"{value} {unit.name if unit is not None else ''}".strip())
        if found is None:
            self.refuse("This form of INTERVAL", node, "Write INTERVAL '1 day 02:00:00', for example.")
        return fill(found)

    # ------------------------------------------------------------------------------------------------ text and patterns

    def _pattern(self, node: exp.Expr) -> exp.Expr:
        pattern = node.expression
        text = pattern.name if isinstance(pattern, exp.Literal) and pattern.is_string else None
        if isinstance(node, exp.SimilarTo):
            if text is None:
                self.refuse("SIMILAR TO with a pattern that is no constant", node)
            return exp.RegexpLike(this=node.this, expression=exp.Literal.string(similar_pattern(text)))
        ignores_case = isinstance(node, exp.RegexpILike)
        if text is not None:
            found: exp.Expr = exp.Literal.string(("(?i)" if ignores_case else "") + java_pattern(text))
        else:
            found = fill("concat('(?i)', _1)", pattern) if ignores_case else pattern
        return exp.RegexpLike(this=node.this, expression=found)

    def _substring(self, node: exp.Substring) -> exp.Expr:
        start, length = node.args.get("start"), node.args.get("length")
        if isinstance(start, exp.Literal) and start.is_string:
            if length is not None:
                self.refuse("SUBSTRING with an escape character", node)
            pattern = java_pattern(start.name)
            group = 1 if re.search(r"(?<!\\)\((?!\?)", pattern) else 0
            arguments = (node.this, exp.Literal.string(pattern), exp.Literal.number(group))
            return fill("CASE WHEN _1 RLIKE _2 THEN regexp_extract(_1, _2, _3) END", *arguments)
        start = exp.Literal.number(1) if start is None else start
        return self._templated("substring", [node.this, start, *([length] if length is not None else [])], node)

    # ------------------------------------------------------------------------------------------------------- functions

    def _extract(self, field: str, value: exp.Expr, node: exp.Expr) -> exp.Expr:
        template = FIELDS.get(field.lower().strip("'"))
        if template is None:
            self.refuse(f"EXTRACT({field.upper()} …)", node)
        return fill(template, value)

    def _function(self, node: exp.Anonymous) -> exp.Expr:
        name, arguments = last_name(node), node.expressions
        if name in ("all", "any", "some") and isinstance(node.parent, _COMPARISONS) and len(arguments) == 1:
            return exp.All(this=arguments[0]) if name == "all" else exp.Any(this=arguments[0])
        special = getattr(self, f"_call_{name}", None) if name in _SPECIAL else None
        if special is not None:
            found: exp.Expr = special(node, arguments)
            return found
        if name in REFUSED or (name.startswith(REFUSED_PREFIXES) and name not in TEMPLATES):
            self.refuse(f"The function {name}", node)
        if name in TEMPLATES and TEMPLATES[name]:
            return self._templated(name, arguments, node)
        return node

    def _templated(self, name: str, arguments: list[exp.Expr], node: exp.Expr) -> exp.Expr:
        plain = [argument for argument in arguments[1:] if isinstance(argument, exp.Literal) and argument.is_int]
        if name in ("substring", "left", "right") and len(plain) == len(arguments) - 1 and plain[0].name != "0":
            return call(name, *arguments)
        template = TEMPLATES[name].get(len(arguments))
        if template is None:
            self.refuse(f"The function {name} with {len(arguments)} arguments", node)
        return fill(template, *arguments)

    def _call_substr(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        return self._templated("substring", arguments, node)

    def _call_concat(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        return call("concat_ws", exp.Literal.string(""), *map(_output, arguments))

    def _call_concat_ws(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        return call("concat_ws", *map(_output, arguments))

    def _call_format(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        template = arguments[0]
        text = template.name if isinstance(template, exp.Literal) else "%"
        if re.sub(r"%s|%%", "", text).count("%"):
            self.refuse("format with placeholders other than %s", node)
        return call("format_string", template, *map(_output, arguments[1:]))

    def _call_date_part(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        if len(arguments) != 2 or not isinstance(arguments[0], exp.Literal):
            self.refuse("date_part with a field that is no constant", node)
        return _cast_to(self._extract(arguments[0].name, arguments[1], node), "DOUBLE")

    def _call_to_char(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        return self._formatted("date_format", node, arguments)

    def _call_to_date(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        return self._formatted("to_date", node, arguments)

    def _call_to_timestamp(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        if len(arguments) == 1:
            return self._templated("to_timestamp", arguments, node)
        return self._formatted("to_timestamp", node, arguments)

    def _formatted(self, name: str, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        text = arguments[1].name if len(arguments) == 2 and isinstance(arguments[1], exp.Literal) else None
        pattern = None if text is None else date_pattern(text)
        if pattern is None:
            self.refuse(f"{last_name(node)} with this format", node)
        return call(name, arguments[0], exp.Literal.string(pattern))

    def _call_regexp_replace(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        """Replaces the first match only, unless the flags have `g`: the match is put behind a shortest prefix."""
        if not 3 <= len(arguments) <= 4 or not all(isinstance(one, exp.Literal) for one in arguments[1:]):
            self.refuse("regexp_replace with a pattern, a replacement or flags that are no constants", node)
        pattern, replacement = java_pattern(arguments[1].name), arguments[2].name
        flags = arguments[3].name if len(arguments) == 4 else ""
        if set(flags) - set("gi"):
            self.refuse(f"The flags {flags} of regexp_replace", node)
        ignores = "(?i)" if "i" in flags else ""
        shift = 0 if "g" in flags else 1
        made = replacement.replace("$", "\\$")
        made = re.sub(r"\\(\d)", lambda found: f"${int(found[1]) + (shift if found[1] != '0' else 0)}", made)
        made = made.replace("\\&", "$0" if "g" in flags else "$0")
        if "g" not in flags:
            pattern, made = f"(?s)^(.*?){pattern if _is_simple(pattern) else f'(?:{pattern})'}", f"$1{made}"
            if "\\&" in replacement:
                self.refuse("\\& in the replacement of a first match", node)
        literals = (exp.Literal.string(ignores + pattern), exp.Literal.string(made))
        return call("regexp_replace", arguments[0], *literals)

    def _call_regexp_match(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        if len(arguments) != 2 or not isinstance(arguments[1], exp.Literal):
            self.refuse("regexp_match with a pattern that is no constant, or with flags", node)
        pattern = java_pattern(arguments[1].name)
        count = len(re.findall(r"(?<!\\)\((?!\?)", pattern))
        groups = range(1, count + 1) if count else range(1)
        literal = exp.Literal.string(pattern)
        parts = ", ".join(f"regexp_extract(_1, _2, {group})" for group in groups)
        return fill(f"CASE WHEN _1 RLIKE _2 THEN array({parts}) END", arguments[0], literal)

    def _call_string_agg(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        if len(arguments) == 1:
            arguments = _distinct_arguments(arguments[0])
        if len(arguments) != 2:
            self.refuse("string_agg with this number of arguments", node)
        value, separator = arguments
        order = separator if isinstance(separator, exp.Order) else None
        separator = separator.this if order is not None else separator
        distinct = value if isinstance(value, exp.Distinct) else None
        inner = value.expressions[0] if distinct is not None else value
        found: exp.Expr = call(
            "listagg", exp.Distinct(expressions=[inner]) if distinct is not None else inner, separator
        )
        if order is None:
            return found
        return exp.WithinGroup(this=found, expression=exp.Order(expressions=order.expressions))

    def _call_array_agg(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        """Collects structures, which are no NULL, and sorts them by their keys."""
        value = arguments[0]
        order = value if isinstance(value, exp.Order) else None
        value = value.this if order is not None else value
        if isinstance(value, exp.Distinct):
            if order is not None:
                self.refuse("array_agg with DISTINCT and ORDER BY", node)
            distinct = self._filtered(node, call("collect_set", value.expressions[0]))
            return fill("nullif(array_sort(_1), array())", distinct)
        keys = order.expressions if order is not None else []
        fields = "".join(f", 'k{place}', _{place + 2}" for place in range(len(keys)))
        structure = fill(f"named_struct('v', _1{fields})", value, *(key.this for key in keys))
        collected: exp.Expr = self._filtered(node, call("collect_list", structure))
        if keys:
            branches = [_compared(place, key) for place, key in enumerate(keys)]
            body = "CASE " + " ".join(branches) + " ELSE 0 END"
            collected = fill(f"array_sort(_1, (l, r) -> {body})", collected)
        return fill("nullif(transform(_1, e -> e.v), array())", collected)

    def _filtered(self, node: exp.Expr, aggregate: exp.Expr) -> exp.Expr:
        """Moves a FILTER clause around `node` to the aggregate inside of its translation."""
        parent = node.parent
        if isinstance(parent, exp.Window):
            self.refuse("array_agg as a window function", node)
        if not isinstance(parent, exp.Filter):
            return aggregate
        condition = parent.expression.copy()
        parent.meta["is_moved"] = True
        return exp.Filter(this=aggregate, expression=condition)

    def _call_generate_series(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        return call("explode", series(arguments))

    def _call_string_to_array(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        if len(arguments) != 2 or not isinstance(arguments[1], exp.Literal):
            self.refuse("string_to_array with a separator that is no constant", node)
        pattern = exp.Literal.string(re.escape(arguments[1].name))
        return fill(
            "CASE WHEN _1 = '' THEN CAST(array() AS ARRAY<STRING>) ELSE split(_1, _2) END", arguments[0], pattern
        )

    def _call_encode(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        return self._coded(node, arguments, {"hex": "lower(hex(_1))", "base64": "base64(_1)"})

    def _call_decode(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        return self._coded(node, arguments, {"hex": "unhex(_1)", "base64": "unbase64(_1)"})

    def _coded(self, node: exp.Anonymous, arguments: list[exp.Expr], forms: dict[str, str]) -> exp.Expr:
        form = forms.get(arguments[1].name.lower()) if len(arguments) == 2 else None
        if form is None:
            self.refuse(f"{last_name(node)} with this format", node)
        return fill(form, arguments[0])

    def _call_row(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        return call("struct", *arguments)

    def _call_array(self, node: exp.Anonymous, arguments: list[exp.Expr]) -> exp.Expr:
        if len(arguments) == 1 and isinstance(arguments[0], exp.Query):
            self.refuse("ARRAY(SELECT …)", node, "Use (SELECT array_agg(…) …).")
        return node

    def _within_group(self, node: exp.WithinGroup) -> exp.Expr:
        if isinstance(node.this, exp.Anonymous) and last_name(node.this).startswith("percentile"):
            if isinstance(node.this.expressions[0], exp.Anonymous):
                self.refuse("percentiles of an array", node)
        return node


_SPECIAL = frozenset(
    "substr concat concat_ws format date_part to_char to_date to_timestamp regexp_replace regexp_match string_agg "
    "array_agg generate_series string_to_array encode decode row array".split()
)


def series(arguments: list[exp.Expr]) -> exp.Expr:
    """Returns the array of generate_series, which is empty if the end is on the other side of the start."""
    if len(arguments) == 2:
        return fill("CASE WHEN _1 <= _2 THEN sequence(_1, _2) ELSE array() END", *arguments)
    step = arguments[2]
    text = _constant_of(step)
    is_negative = isinstance(step, exp.Neg) or (text is not None and text.startswith("-"))
    sign = ">=" if is_negative else "<="
    if text is not None or isinstance(step, exp.Neg):
        return fill(f"CASE WHEN _1 {sign} _2 THEN sequence(_1, _2, _3) ELSE array() END", *arguments)
    return fill("CASE WHEN (_3 > 0) = (_1 <= _2) OR _1 = _2 THEN sequence(_1, _2, _3) ELSE array() END", *arguments)


def _constant_of(node: exp.Expr) -> str | None:
    while isinstance(node, exp.Cast | exp.Interval | exp.Paren):
        node = node.this
    return str(node.name) if isinstance(node, exp.Literal) else None


def _compared(place: int, key: exp.Ordered) -> str:
    """Returns the branches of a comparison of two structures by one key."""
    left, right = f"l.k{place}", f"r.k{place}"
    first, last = ("1", "-1") if key.args.get("desc") else ("-1", "1")
    null_first = "-1" if key.args.get("nulls_first") else "1"
    null_last = "1" if key.args.get("nulls_first") else "-1"
    return (
        f"WHEN {left} IS NULL AND {right} IS NOT NULL THEN {null_first} "
        f"WHEN {left} IS NOT NULL AND {right} IS NULL THEN {null_last} "
        f"WHEN {left} < {right} THEN {first} WHEN {left} > {right} THEN {last}"
    )


def _cast_to(value: exp.Expr, target: str) -> exp.Expr:
    return fill(f"CAST(_1 AS {target})", value)


def _output(node: exp.Expr) -> exp.Expr:
    return node if isinstance(node, exp.Literal) and node.is_string else fill("pg_output(_1)", node)


def _distinct_arguments(node: exp.Expr) -> list[exp.Expr]:
    """Returns the arguments of a call with DISTINCT, each with its part of the clauses."""
    order = node if isinstance(node, exp.Order) else None
    inner = node.this if order is not None else node
    if not isinstance(inner, exp.Distinct):
        return [node]
    value, *others = inner.expressions
    if order is not None and others:
        others[-1] = exp.Order(this=others[-1], expressions=order.expressions)
    return [exp.Distinct(expressions=[value]), *others]


def _is_jsonb(node: exp.Expr) -> bool:
    """Returns True for a translated value that may be `jsonb`, whose operators differ from the operators of texts."""
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Anonymous) and last_name(node) in _JSONB_CALLS


def _is_simple(pattern: str) -> bool:
    return "|" not in pattern
