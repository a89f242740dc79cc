"""Expressions of catalog queries: functions of the allow-list, casts to the `reg…` types, and PostgreSQL's types."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from catalog.conditions import FunctionNotFound, PostgresNotSupported, SystemColumnNotFound, SystemSettingNotFound
from engine.sql.postgres.labels import folded
from engine.sql.postgres.reader import last_name
from engine.sql.postgres.scopes import CatalogNames, CatalogSession, Columns, Scope
from engine.sql.postgres.types import common_type, type_name

_TYPE = "pg_type"  # in a node's `meta`
# In a scope of ORDER BY and GROUP BY, which may also name the columns of the result.
OUTPUT = ""
# Types that are oids in the database, and names for clients.
REG_TYPES = (
    "regclass regproc regprocedure regtype regnamespace regrole regoper regoperator regcollation regconfig "
    "regdictionary"
).split()
_VECTORS = ("int2vector", "oidvector")
# The database's types.
_STORED = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "oid": "BIGINT",
    "xid": "BIGINT",
    "cid": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "numeric": "DECIMAL(38, 9)",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "interval": "INTERVAL",
    "int2vector": "SMALLINT[]",
    "oidvector": "BIGINT[]",
    "unknown": "VARCHAR",
    **dict.fromkeys(REG_TYPES, "BIGINT"),
}
_OPERATORS: dict[str, Callable[[exp.Expr, exp.Expr], exp.Expr]] = {
    "~": lambda a, b: exp.RegexpLike(this=a, expression=b),
    "~*": lambda a, b: exp.RegexpILike(this=a, expression=b),
    "!~": lambda a, b: exp.Not(this=exp.RegexpLike(this=a, expression=b)),
    "!~*": lambda a, b: exp.Not(this=exp.RegexpILike(this=a, expression=b)),
    "~~": lambda a, b: exp.Like(this=a, expression=b),
    "!~~": lambda a, b: exp.Not(this=exp.Like(this=a, expression=b)),
    "~~*": lambda a, b: exp.ILike(this=a, expression=b),
    "=": lambda a, b: exp.EQ(this=a, expression=b),
    "<>": lambda a, b: exp.NEQ(this=a, expression=b),
    "||": lambda a, b: exp.DPipe(this=a, expression=b),
    "+": lambda a, b: exp.Add(this=a, expression=b),
    "-": lambda a, b: exp.Sub(this=a, expression=b),
}
_PLACEHOLDERS = re.compile(r"(%[sIL])")
_FORMATS = {"%s": "", "%I": "pgf_quote_ident", "%L": "pgf_quote_literal"}
_TRUTHS = (exp.Predicate, exp.And, exp.Or, exp.Not, exp.Exists, exp.Boolean, exp.RegexpLike, exp.RegexpILike)
_USERS = (exp.CurrentUser, exp.SessionUser, exp.CurrentRole)
# Functions of the session and of the catalog that make a query without relations one of the system catalog.
_SYSTEM_NAMES = frozenset(
    "version current_database current_schemas current_setting set_config format_type to_regclass to_regtype "
    "obj_description col_description shobj_description has_schema_privilege has_table_privilege current_schema "
    "has_database_privilege has_any_column_privilege has_column_privilege has_function_privilege txid_current".split()
)


_QUANTIFIERS: dict[str, type[exp.Expr]] = {"all": exp.All, "any": exp.Any, "some": exp.Any}


def _is_call(node: object) -> bool:
    return isinstance(node, exp.Anonymous)


def is_system_function(node: exp.Expr) -> bool:
    """Returns True for a function, a keyword or a cast that only the system catalog has."""
    if isinstance(node, exp.Anonymous):
        name = last_name(node)
        return name in _SYSTEM_NAMES or name.startswith("pg_")
    if isinstance(node, exp.Cast):
        return type_name(node.to) in REG_TYPES
    return isinstance(node, exp.CurrentSchema | exp.CurrentCatalog | exp.CurrentVersion)


def _constant(node: exp.Expr) -> str | None:
    """Returns the text of a string constant, which may be cast; None for any other expression."""
    while isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    return str(node.name) if isinstance(node, exp.Literal) and node.is_string else None


def stored_type(name: str) -> str:
    """Returns the database's type for a type of PostgreSQL."""
    if name.startswith("_"):
        return f"{_STORED.get(name[1:], 'VARCHAR')}[]"
    return _STORED.get(name, "VARCHAR")


def _cast(node: exp.Expr, name: str) -> exp.Expr:
    target = exp.DataType.build(stored_type(name), dialect="duckdb")
    return _typed(exp.Cast(this=node, to=target), name)


def _typed(node: exp.Expr, name: str) -> exp.Expr:
    node.meta[_TYPE] = name
    return node


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def array_members(text: str) -> list[str | None]:
    """Returns the members of an array in PostgreSQL's text form, such as `{a,"b c",NULL}`."""
    members: list[str | None] = []
    member, is_quoted, in_quotes, at = "", False, False, 1
    while at < len(text):
        char = text[at]
        if in_quotes and char == "\\":
            at += 1
            member += text[at : at + 1]
        elif char == '"':
            in_quotes, is_quoted = not in_quotes, True
        elif not in_quotes and char in ",}":
            if member.strip() or is_quoted or members or char == ",":
                members.append(None if member.strip().upper() == "NULL" and not is_quoted else member.strip())
            member, is_quoted = "", False
        else:
            member += char
        at += 1
    return members


class ExpressionRewriter:
    """Rewrites expressions in place; `query` rewrites a subquery and returns its columns."""

    def __init__(
        self,
        names: CatalogNames,
        session: CatalogSession,
        declared: Sequence[str],
        values: Sequence[str | None] | None,
        query: Callable[[exp.Expr, Scope], list[tuple[str, str]]],
    ) -> None:
        self._names = names
        self._session = session
        self._declared = declared
        self._values = values
        self._query = query
        self.parameter_types: dict[int, str] = {}
        self.settings: list[tuple[str, str]] = []
        self.functions: set[str] = set()

    def type_of(self, node: exp.Expr) -> str:
        """Returns the type of a rewritten expression."""
        return str(node.meta.get(_TYPE, "text"))

    def as_result(self, node: exp.Expr, kind: str) -> exp.Expr:
        """Returns the expression with names instead of the oids of `reg…` types."""
        return self._text_of(node, kind) if kind in REG_TYPES else node

    def rewrite(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """Returns the rewritten expression, with its type."""
        if isinstance(node, exp.Subquery | exp.Select | exp.SetOperation):
            columns = self._query(node, scope)
            return _typed(node, columns[0][1] if columns else "text")
        if isinstance(node, exp.Column):
            return self._column(node, scope)
        if isinstance(node, exp.Dot):
            return self._dot(node, scope)
        if isinstance(node, exp.Collate):
            return self.rewrite(node.this, scope)
        if isinstance(node, exp.DataType | exp.Identifier | exp.Var):
            return node
        quantifier = _QUANTIFIERS.get(last_name(node.expression)) if _is_call(node.args.get("expression")) else None
        if quantifier is not None and len(node.expression.expressions) == 1:
            node.set("expression", quantifier(this=node.expression.expressions[0]))
        for key, value in list(node.args.items()):
            if isinstance(value, exp.Expr):
                node.set(key, self.rewrite(value, scope))
            elif isinstance(value, list):
                node.set(key, [self.rewrite(one, scope) if isinstance(one, exp.Expr) else one for one in value])
        return self._rewritten(node)

    def _rewritten(self, node: exp.Expr) -> exp.Expr:
        match node:
            case exp.Literal():
                return _typed(node, self._literal_type(node))
            case exp.ByteString() | exp.RawString() | exp.UnicodeString() | exp.National():
                return _typed(exp.Literal.string(node.name), "unknown")
            case exp.Parameter():
                return self._parameter(node, "")
            case exp.DPipe() if self.type_of(node.this).startswith("_"):
                return _typed(_call("list_concat", node.this, node.expression), self.type_of(node.this))
            case exp.Anonymous():
                return self._function(node)
            case exp.Cast():
                return self._casted(node)
            case exp.Operator():
                return self._operator(node)
            case exp.EQ() | exp.NEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE() | exp.Add() | exp.Sub() | exp.In():
                return self._comparison(node)
            case exp.Limit() | exp.Offset():
                node.set("expression", self.with_type(node.expression, "int8"))
                return node
            case _:  # a sqlglot node
                return self._keyword(node) or _typed(node, self._other_type(node))

    def _literal_type(self, node: exp.Literal) -> str:
        if node.is_string:
            return "unknown"
        if not node.is_int:
            return "numeric"
        return "int4" if abs(int(node.this)) < 1 << 31 else "int8"

    def _keyword(self, node: exp.Expr) -> exp.Expr | None:
        if isinstance(node, _USERS):
            return _cast(exp.Literal.string(self._session.user), "name")
        if isinstance(node, exp.CurrentCatalog):
            return _cast(exp.Literal.string(self._session.database), "name")
        if isinstance(node, exp.CurrentSchema):
            return _cast(exp.Literal.string(self._session.schema), "name")
        if isinstance(node, exp.CurrentTimestamp):
            return _typed(_call("now"), "timestamptz")
        if isinstance(node, exp.Bracket) and self.type_of(node.this) in _VECTORS:
            place = node.expressions[0]
            node.set("expressions", [exp.Add(this=exp.Paren(this=place), expression=exp.Literal.number(1))])
        if (
            isinstance(node, exp.Substring)
            and isinstance(node.args.get("start"), exp.Literal)
            and node.args["start"].is_string
        ):
            found = _call("regexp_extract", node.this, node.args["start"])
            return _typed(_call("nullif", found, exp.Literal.string("")), "text")
        return None

    def _other_type(self, node: exp.Expr) -> str:
        match node:
            case exp.Paren() | exp.Window() | exp.Filter() | exp.Neg() | exp.WithinGroup() | exp.Alias():
                return self.type_of(node.this)
            case exp.Order() if node.args.get("this") is not None:
                return self.type_of(node.this)
            case exp.Distinct() if node.expressions:
                return self.type_of(node.expressions[0])
            case exp.Case():
                values = [one.args["true"] for one in node.args["ifs"]]
                values = [node.args["default"], *values] if node.args.get("default") is not None else values
                return common_type(self.type_of(value) for value in values)
            case exp.Null():
                return "unknown"
            case exp.Bracket():
                inner = self.type_of(node.this)
                return {"int2vector": "int2", "oidvector": "oid"}.get(inner, inner.removeprefix("_"))
            case exp.Array():
                return f"_{common_type(map(self.type_of, node.expressions))}"
            case exp.Mul() | exp.Div() | exp.Mod() | exp.BitwiseAnd() | exp.BitwiseOr():
                return common_type((self.type_of(node.this), self.type_of(node.expression)))
            case exp.DPipe():
                inner = self.type_of(node.this)
                return inner if inner.startswith("_") else "text"
            case exp.StrPosition():
                return "int4"
            case exp.Extract():
                return "numeric"
            case exp.CurrentDate():
                return "date"
            case _:  # a sqlglot node
                return "bool" if isinstance(node, _TRUTHS) else "text"

    def _column(self, node: exp.Column, scope: Scope) -> exp.Expr:
        if isinstance(node.this, exp.Star):
            return node
        name = folded(node.this)
        if not node.table and not node.this.args.get("quoted") and name == "user" and scope.column(name) is None:
            return _cast(exp.Literal.string(self._session.user), "name")
        if not node.table:
            found = scope.column(name)
            if found is None:
                system = self._system_column(name, next(iter(scope.sources), ""), scope)
                if system is None and OUTPUT not in scope.sources:
                    raise SystemColumnNotFound(name)
                return system or _typed(node, "text")
            return _typed(node, found[1])
        alias = folded(node.args["table"])
        source = scope.source(alias)
        if source is None:
            raise SystemColumnNotFound(f"{alias}.{name}")
        if name not in source:
            system = self._system_column(name, alias, scope)
            if system is None:
                raise SystemColumnNotFound(f"{alias}.{name}")
            return system
        table = exp.Identifier(this=alias, quoted=True)
        return _typed(exp.Column(this=exp.Identifier(this=name, quoted=True), table=table), source[name])

    def _system_column(self, name: str, alias: str, scope: Scope) -> exp.Expr | None:
        """Returns the value of a column that each table of PostgreSQL has, which here is constant."""
        if name == "tableoid":
            return _cast(exp.Literal.number(scope.oid(alias)), "oid")
        return _cast(exp.Literal.number(1), "xid") if name in ("xmin", "xmax") else None

    def _dot(self, node: exp.Dot, scope: Scope) -> exp.Expr:
        last = node.expression
        if isinstance(last, exp.Anonymous):  # a function with its schema
            return self.rewrite(last, scope)
        inner = node.this
        if isinstance(inner, exp.Column) and not isinstance(last, exp.Star):
            return self._column(exp.Column(this=last, table=inner.this), scope)
        found = self.rewrite(inner, scope)
        while isinstance(found, exp.Paren):
            found = found.this
        field = _call("struct_extract", found, exp.Literal.string(folded(last)))
        return _typed(field, "int4" if folded(last) == "n" else "text")

    def _parameter(self, node: exp.Parameter, kind: str) -> exp.Expr:
        number = int(node.name) if node.name.isdecimal() else 0
        if not 1 <= number <= 65535:
            raise PostgresNotSupported(f"The parameter ${node.name}")
        declared = self._declared[number - 1] if number <= len(self._declared) else ""
        known = declared or self.parameter_types.get(number, "")
        kind = known or kind
        if not kind:
            return node
        self.parameter_types[number] = kind
        return self._value(number, kind)

    def _value(self, number: int, kind: str) -> exp.Expr:
        value = self._values[number - 1] if self._values is not None and number <= len(self._values) else None
        if value is None:
            return _cast(exp.Null(), kind)
        return self._literal(value, kind)

    def _literal(self, value: str, kind: str) -> exp.Expr:
        """Returns a constant of a type from PostgreSQL's text of it."""
        if kind.startswith("_") or kind in _VECTORS:
            texts = array_members(value) if value.startswith("{") else list(value.split())
            members = [exp.Null() if member is None else exp.Literal.string(member) for member in texts]
            return _cast(exp.Array(expressions=members), kind)
        if kind in REG_TYPES and not value.isdecimal():
            name = value.partition("(")[0] if kind == "regprocedure" else value
            return _typed(_call(f"pgf_{kind}_oid", exp.Literal.string(name)), kind)
        return _cast(exp.Literal.string(value), kind)

    def with_type(self, node: exp.Expr, kind: str) -> exp.Expr:
        """Returns a parameter, or a text constant that stands for an array, with the type of the place it is in."""
        if isinstance(node, exp.Parameter):
            return self._parameter(node, kind)
        if isinstance(node, exp.Literal) and node.is_string and (kind.startswith("_") or kind in REG_TYPES):
            return self._literal(node.name, kind)
        return node

    def _casted(self, node: exp.Cast) -> exp.Expr:
        kind, value = type_name(node.to), node.this
        while isinstance(value, exp.Paren):
            value = value.this
        if isinstance(value, exp.Parameter):
            return self._parameter(value, kind)
        if isinstance(value, exp.Literal) and value.is_string:
            return self._literal(value.name, kind)
        own = self.type_of(value)
        if kind in REG_TYPES:
            if stored_type(own) == "VARCHAR":
                return _typed(_call(f"pgf_{kind}_oid", value), kind)
            return _typed(value, kind)
        if kind in ("text", "varchar", "name", "bpchar", "char"):
            return _typed(self._text_of(value, own), kind)
        if kind == "char":
            return _typed(_call("left", value, exp.Literal.number(1)), kind)
        return _cast(value, kind) if kind in _STORED or kind.startswith("_") else _typed(value, "text")

    def _text_of(self, node: exp.Expr, kind: str) -> exp.Expr:
        """Returns a value's text as PostgreSQL's clients read it."""
        if kind in REG_TYPES:
            return _typed(_call(f"pgf_{kind}_text", node), kind)
        if kind in _VECTORS:
            return _call("array_to_string", node, exp.Literal.string(" "))
        if kind.startswith("_"):
            return _call("pgf_array_text", node)
        return node if stored_type(kind) == "VARCHAR" else _cast(node, "text")

    def _operator(self, node: exp.Operator) -> exp.Expr:
        name = str(node.args["operator"]).rpartition(".")[2]
        build = _OPERATORS.get(name)
        if build is None:
            raise PostgresNotSupported(f"The operator {name} in a query of the system catalog")
        return self._rewritten(build(node.this, node.expression))

    def _comparison(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.In):
            kind = self.type_of(node.this)
            node.set("expressions", [self.with_type(one, kind) for one in node.expressions])
            return _typed(node, "bool")
        left, right = node.this, node.expression
        if isinstance(right, exp.Any | exp.All):
            return self._quantified(node, left, right)
        node.set("this", self.with_type(left, self.type_of(right)))
        node.set("expression", self.with_type(right, self.type_of(left)))
        if isinstance(node, exp.Add | exp.Sub):
            return _typed(node, common_type((self.type_of(left), self.type_of(right))))
        return _typed(node, "bool")

    def _quantified(self, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        inner = right.this
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.Subquery | exp.Select):
            return _typed(node, "bool")
        kind = self.type_of(left)
        array = self.with_type(inner, f"_{'text' if kind == 'unknown' else kind}")
        if isinstance(node, exp.EQ) and isinstance(right, exp.Any):
            return _typed(_call("list_contains", array, left), "bool")
        if isinstance(node, exp.NEQ) and isinstance(right, exp.All):
            return _typed(exp.Not(this=_call("list_contains", array, left)), "bool")
        raise PostgresNotSupported("ANY and ALL over an array with an operator other than = and <>")

    def _function(self, node: exp.Anonymous) -> exp.Expr:
        name, arguments = last_name(node), node.expressions
        if name in ("current_setting", "set_config"):
            return self._setting(name, arguments)
        if name == "format":
            return self._formatted(arguments)
        if name == "array":
            inner = self.type_of(arguments[0]) if arguments else "text"
            return _typed(_call("array", *arguments), f"_{inner}")
        found = self._names.functions.get(name)
        if found is None:
            raise FunctionNotFound(name)
        self.functions.add(name)
        arguments = [self.with_type(argument, "text") for argument in arguments]
        kind = self._returned(found.returns, arguments)
        if name == "generate_series":
            return _typed(_call("unnest", _call("generate_series", *arguments)), kind)
        if name == "coalesce":
            kind = common_type(map(self.type_of, arguments))
        node.set("expressions", arguments)
        node.set("this", found.target)
        return _typed(node, kind)

    def _returned(self, returns: str, arguments: Sequence[exp.Expr]) -> str:
        first = self.type_of(arguments[0]) if arguments else "text"
        if returns == "same":
            return first
        if returns == "element":
            return {"int2vector": "int2", "oidvector": "oid"}.get(first, first.removeprefix("_"))
        return f"_{first}" if returns == "array" else returns

    def _formatted(self, arguments: Sequence[exp.Expr]) -> exp.Expr:
        template = _constant(arguments[0]) if arguments else None
        if template is None:
            raise PostgresNotSupported("format with a template that is no constant")
        pieces: list[exp.Expr] = []
        values = iter(arguments[1:])
        for piece in _PLACEHOLDERS.split(template):
            value = next(values, exp.Null()) if piece in _FORMATS else exp.Literal.string(piece)
            if piece in _FORMATS:
                value = self._text_of(value, self.type_of(value))
            name = _FORMATS.get(piece)
            pieces.append(_call(name, value) if name else value)
        return _typed(_call("concat", *pieces), "text")

    def _setting(self, name: str, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arguments = [self.with_type(argument, "text") for argument in arguments]
        key, *values = (_constant(argument) for argument in arguments[:2])
        if name == "set_config":
            value = values[0] if values else None
            if self._values is None:
                return _cast(exp.Null(), "text")
            if key is None or value is None:
                raise PostgresNotSupported("set_config with a name or a value that is no constant")
            self.settings.append((key.lower(), value))
            return _cast(exp.Literal.string(value), "text")
        is_required = len(arguments) < 2
        if key is not None and is_required and key.lower() not in self._session.settings and self._values is not None:
            raise SystemSettingNotFound(key)
        return _typed(_call("pgf_setting", arguments[0]), "text")

    def call_in_from(
        self, name: str, arguments: list[exp.Expr], *, is_ordered: bool
    ) -> tuple[list[tuple[str, str]], list[exp.Alias]]:
        """Returns the columns of a call in FROM, and the projections that make its rows."""
        if name in self._names.tables:
            columns = list(self._names.tables[name].items())
            return columns, [exp.Alias(this=exp.column(label, quoted=True)) for label, _ in columns]
        first = arguments[0] if arguments else exp.Null()
        if name in ("_pg_expandarray", "unnest"):
            element = self._returned("element", [first])
            columns = [(name if name == "unnest" else "x", element)]
            made: list[exp.Expr] = [_call("unnest", first)]
            if is_ordered or name == "_pg_expandarray":
                columns.append(("ordinality" if is_ordered else "n", "int8" if is_ordered else "int4"))
                made.append(_call("generate_subscripts", first.copy(), exp.Literal.number(1)))
            return columns, [exp.Alias(this=one) for one in made]
        call = self._function(_call(name, *arguments))
        found = [(name, self.type_of(call))]
        calls = [exp.Alias(this=call)]
        if is_ordered:
            found.append(("ordinality", "int8"))
            calls.append(exp.Alias(this=exp.Window(this=_call("row_number"))))
        return found, calls

    def complete(self, tree: exp.Expr) -> None:
        """Gives the parameters that nothing else has a type for the type text."""
        for parameter in list(tree.find_all(exp.Parameter)):
            parameter.replace(self._parameter(parameter, "text"))


def columns_of(text: str) -> Columns:
    """Returns columns from `name:type` words; `!` after a type is left out."""
    pairs = (word.removesuffix("!").rpartition(":") for word in text.split())
    return {name: kind for name, _, kind in pairs}
