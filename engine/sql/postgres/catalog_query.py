"""Queries of the system catalog, rewritten for the database that holds its relations.

The rewriting resolves names itself: a relation is one of `pg_catalog` or `information_schema`, a CTE, or a table of the
user, and a function is one of an allow-list. So a query reaches nothing else in that database. The types of the result
are derived here, because the database has no `name`, `oid` or `"char"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from catalog.conditions import (
    PostgresNotSupported,
    StatementTooComplex,
    SystemCatalogWithTables,
    SystemColumnNotFound,
    TableNotFound,
)
from engine.sql.dialect.dialect import SyntaxFailure
from engine.sql.parser import syntax_error
from engine.sql.postgres.catalog_expressions import OUTPUT, ExpressionRewriter, is_system_function
from engine.sql.postgres.labels import folded, label_of
from engine.sql.postgres.reader import BUGS, is_query, last_name, read_query, tokens_of
from engine.sql.postgres.scopes import CatalogNames, CatalogSession, Columns, Scope
from engine.sql.postgres.types import common_type

CATALOG_SCHEMA, INFORMATION_SCHEMA = "pg_catalog", "information_schema"
_SCHEMAS = (CATALOG_SCHEMA, INFORMATION_SCHEMA)


@dataclass(frozen=True, slots=True)
class CatalogQuery:
    """A rewritten query: its text, labels and types of its columns, its relations, and the types of its parameters.

    `settings` are those that the query sets by `set_config`, with their values.
    """

    text: str
    columns: tuple[tuple[str, str], ...]
    relations: frozenset[str]
    parameter_types: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()
    names: frozenset[str] = frozenset()


@dataclass(slots=True)
class Parameters:
    """Declared types and values of a statement's parameters; `values` None describes the statement."""

    types: Sequence[str] = ()
    values: Sequence[str | None] | None = None


def catalog_query(
    text: str, names: CatalogNames, session: CatalogSession, parameters: Parameters
) -> CatalogQuery | None:
    """Returns the query, or None if `text` is a statement of another kind, or does not name the system catalog.

    Raises `SystemCatalogWithTables` if it also names the user's tables, and a `SqlError` for an unknown name.
    """
    try:
        tokens = tokens_of(text)
        if not is_query(tokens):
            return None
        tree = read_query(tokens, text)
    except SyntaxFailure as failure:
        if not _may_be_about_catalog(text):
            return None
        raise syntax_error(text, failure.reason, failure.offset) from None
    if not _is_about_catalog(tree, names, session):
        return None
    try:
        return _Rewriter(text, names, session, parameters).rewrite(tree)
    except SyntaxFailure as failure:
        raise syntax_error(text, failure.reason, failure.offset) from None
    except RecursionError:
        raise StatementTooComplex() from None
    except BUGS:
        raise syntax_error(text, "the statement cannot be read", 0) from None


def _may_be_about_catalog(text: str) -> bool:
    return any(word in text.lower() for word in ("pg_", INFORMATION_SCHEMA))


def _is_about_catalog(tree: exp.Expr, names: CatalogNames, session: CatalogSession) -> bool:
    """Returns True if the query names a relation of the catalog, or no relation and a function of the catalog."""
    defined = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    if any(relation_name(table, names, session) for table in tables):
        return True
    if any(table.name.lower() not in defined for table in tables):
        return False
    return any(is_system_function(node) for node in tree.walk())


def relation_name(table: exp.Table, names: CatalogNames, session: CatalogSession) -> str | None:
    """Returns `schema.name` of a relation of the catalog; None for any other name."""
    schema = table.db.lower()
    if table.catalog and table.catalog.lower() != session.database.lower():
        return None
    if schema in _SCHEMAS:
        return f"{schema}.{table.name.lower()}"
    bare = f"{CATALOG_SCHEMA}.{table.name.lower()}"
    return bare if not schema and bare in names.relations else None


@dataclass(slots=True)
class _Rewriter:
    text: str
    names: CatalogNames
    session: CatalogSession
    parameters: Parameters
    relations: set[str] = field(default_factory=set)
    ctes: list[dict[str, Columns]] = field(default_factory=list)
    expressions: ExpressionRewriter = field(init=False)

    def __post_init__(self) -> None:
        self.expressions = ExpressionRewriter(
            self.names, self.session, self.parameters.types, self.parameters.values, self._query
        )

    def rewrite(self, tree: exp.Expr) -> CatalogQuery:
        columns = self._query(tree, None)
        self.expressions.complete(tree)
        types = self.expressions.parameter_types
        count = max([len(self.parameters.types), *types], default=0)
        return CatalogQuery(
            text=duckdb_text(tree),
            columns=tuple((label, "text" if kind == "unknown" else kind) for label, kind in columns),
            relations=frozenset(self.relations),
            parameter_types=tuple(types.get(number, "text") for number in range(1, count + 1)),
            settings=tuple(self.expressions.settings),
            names=frozenset(self.expressions.functions),
        )

    def _query(self, node: exp.Expr, outer: Scope | None) -> list[tuple[str, str]]:
        """Rewrites a query in place, and returns its columns."""
        frame: dict[str, Columns] = {}
        self.ctes.append(frame)
        try:
            self._with(node, frame, outer)
            match node:
                case exp.Select():
                    return self._select(node, outer)
                case exp.SetOperation():
                    columns = self._set_operation(node, outer)
                case exp.Subquery():
                    columns = self._query(node.this, outer)
                case exp.Values():
                    columns = self._values(node, outer)
                case _:  # a sqlglot node
                    raise PostgresNotSupported(f"{node.key.upper()} in a query of the system catalog")
            self._modifiers(node, Scope(outer, {OUTPUT: dict(columns)}))
            return columns
        finally:
            self.ctes.pop()

    def _with(self, node: exp.Expr, frame: dict[str, Columns], outer: Scope | None) -> None:
        with_ = node.args.get("with_")
        if with_ is None:
            return
        for cte in with_.expressions:
            alias = cte.args["alias"]
            renamed = [folded(column) for column in alias.columns]
            name, query = folded(alias.this), cte.this
            if with_.recursive and isinstance(query, exp.SetOperation):
                frame[name] = _renamed(self._query(query.this.copy(), outer), renamed)
            frame[name] = _renamed(self._query(query, outer), renamed)

    def _set_operation(self, node: exp.SetOperation, outer: Scope | None) -> list[tuple[str, str]]:
        left, right = self._query(node.this, outer), self._query(node.expression, outer)
        if len(left) != len(right):
            return left
        return [(label, common_type((kind, other))) for (label, kind), (_, other) in zip(left, right, strict=True)]

    def _values(self, node: exp.Values, outer: Scope | None) -> list[tuple[str, str]]:
        scope = Scope(outer)
        rows: list[list[str]] = []
        for row in node.expressions:
            cells = row.expressions if isinstance(row, exp.Tuple) else [row]
            row.set("expressions", [self.expressions.rewrite(cell, scope) for cell in cells])
            rows.append([self.expressions.type_of(cell) for cell in row.expressions])
        kinds = [common_type(column) for column in zip(*rows, strict=False)]
        return [(f"column{number}", kind) for number, kind in enumerate(kinds, 1)]

    def _select(self, node: exp.Select, outer: Scope | None) -> list[tuple[str, str]]:
        if node.args.get("locks") or node.args.get("into"):
            raise PostgresNotSupported("FOR UPDATE and INTO in a query of the system catalog")
        scope = Scope(outer)
        if (from_ := node.args.get("from_")) is not None:
            from_.set("this", self._source(from_.this, scope))
        for join in [*(node.args.get("joins") or ()), *(node.args.get("laterals") or ())]:
            self._join(join, scope)
        columns: list[tuple[str, str]] = []
        projections: list[exp.Expr] = []
        for projection in node.expressions:
            columns += self._projection(projection, scope, projections)
        node.set("expressions", projections)
        self._modifiers(node, Scope(scope, {OUTPUT: {}}))
        return columns

    def _join(self, join: exp.Expr, scope: Scope) -> None:
        if isinstance(join, exp.Lateral):
            self._source(join, scope)
            return
        join.set("this", self._source(join.this, scope))
        if (condition := join.args.get("on")) is not None:
            join.set("on", self.expressions.rewrite(condition, scope))

    def _projection(self, node: exp.Expr, scope: Scope, made: list[exp.Expr]) -> list[tuple[str, str]]:
        if isinstance(node, exp.Star):
            made.append(node)
            return [item for columns in scope.sources.values() for item in columns.items()]
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            made.append(exp.Column(this=exp.Star(), table=node.args["table"]))
            source = scope.source(folded(node.args["table"]))
            if source is None:
                raise SystemColumnNotFound(f"{node.table}.*")
            return list(source.items())
        label = label_of(node)
        value = node.this if isinstance(node, exp.Alias) else node
        rewritten = self.expressions.rewrite(value, scope)
        kind = self.expressions.type_of(rewritten)
        final = self.expressions.as_result(rewritten, kind) if scope.parent is None else rewritten
        made.append(exp.Alias(this=final, alias=exp.Identifier(this=label, quoted=True)))
        return [(label, kind)]

    def _modifiers(self, node: exp.Expr, scope: Scope) -> None:
        for key in ("where", "group", "having", "order", "windows", "distinct", "limit", "offset", "qualify"):
            value = node.args.get(key)
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, exp.Expr):
                    self.expressions.rewrite(part, scope)

    def _source(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """Rewrites an item of FROM, and adds its columns to `scope`."""
        match node:
            case exp.Table() if isinstance(node.this, exp.Identifier):
                found = self._relation(node, scope)
            case exp.Table() | exp.Unnest():
                found = self._call(node, scope)
            case exp.Subquery() if _has_joins(node.this):
                node.set("this", self._source(node.this, scope))
                found = node
            case exp.Subquery():
                columns = self._query(node.this, scope if scope.sources else scope.parent)
                self._add(node, columns, scope)
                found = node
            case exp.Values():
                self._add(node, self._values(node, scope), scope)
                found = node
            case exp.Lateral() if isinstance(node.this, exp.Subquery):
                self._add(node, self._query(node.this, scope), scope)
                found = node
            case exp.Lateral():
                found = self._call(node, scope)
            case _:  # a sqlglot node
                raise PostgresNotSupported(f"{node.key.upper()} in FROM of a query of the system catalog")
        for join in node.args.get("joins") or ():
            self._join(join, scope)
        if found is not node and node.args.get("joins"):
            found.set("joins", node.args["joins"])
        return found

    def _relation(self, node: exp.Table, scope: Scope) -> exp.Expr:
        alias = node.args.get("alias")
        for frame in reversed(self.ctes):
            if not node.db and folded(node.this) in frame:
                self._add(node, list(frame[folded(node.this)].items()), scope, folded(node.this))
                return node
        name = relation_name(node, self.names, self.session)
        if name is None:
            raise SystemCatalogWithTables(node.name)
        columns = self.names.relations.get(name)
        if columns is None:
            raise TableNotFound(name)
        self.relations.add(name)
        shown = folded(alias.this) if alias is not None and alias.this else node.name.lower()
        self._add(node, list(columns.items()), scope, node.name.lower())
        scope.oids[shown] = self.names.oids.get(name, 0)
        renamed = alias.args.get("columns") if alias is not None else None
        return exp.Table(
            this=exp.Identifier(this=name, quoted=True),
            alias=exp.TableAlias(this=exp.Identifier(this=shown, quoted=True), columns=renamed),
        )

    def _add(self, node: exp.Expr, columns: Sequence[tuple[str, str]], scope: Scope, name: str = "") -> None:
        alias = node.args.get("alias")
        if alias is not None and alias.this:
            name = folded(alias.this)
        renamed = [folded(column) for column in alias.columns] if alias is not None else []
        scope.sources[name or f"{len(scope.sources)}"] = _renamed(columns, renamed)

    def _call(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """Rewrites a call in FROM to a subquery that may use the relations in front of it."""
        call = node if isinstance(node, exp.Unnest) else node.this
        if isinstance(call, exp.Dot):
            call = call.expression
        name = "unnest" if isinstance(call, exp.Unnest) else last_name(call)
        arguments = [self.expressions.rewrite(argument, scope) for argument in call.expressions]
        alias = node.args.get("alias")
        shown = folded(alias.this) if alias is not None and alias.this else name
        is_ordered = bool(node.args.get("ordinality") or call.args.get("offset"))
        columns, projections = self.expressions.call_in_from(name, arguments, is_ordered=is_ordered)
        given = [folded(column) for column in alias.columns] if alias is not None else []
        if len(columns) == 1 and not given and alias is not None and alias.this:
            given = [shown]
        labels = [*given, *(label for label, _ in columns[len(given) :])]
        for label, projection in zip(labels, projections, strict=True):
            projection.set("alias", exp.Identifier(this=label, quoted=True))
        scope.sources[shown] = dict(zip(labels, (kind for _, kind in columns), strict=True))
        query = exp.Select(expressions=list(projections))
        if name in self.names.tables:
            target = exp.Anonymous(this=f"pgf_{name}", expressions=arguments)
            query.set("from_", exp.From(this=exp.Table(this=target)))
        subquery = exp.Subquery(this=query)
        return exp.Lateral(this=subquery, alias=exp.TableAlias(this=exp.Identifier(this=shown, quoted=True)))


def _has_joins(node: exp.Expr) -> bool:
    """Returns True for a relation, or a query with a name or a join, which parentheses around joins contain."""
    if isinstance(node, exp.Subquery):
        return bool(node.alias or node.args.get("joins")) or _has_joins(node.this)
    return isinstance(node, exp.Table)


def _renamed(columns: Sequence[tuple[str, str]], names: Sequence[str]) -> Columns:
    return {(names[place] if place < len(names) else label): kind for place, (label, kind) in enumerate(columns)}


class _Text(DuckDB):
    # Subscripts are written as they are.
    INDEX_OFFSET = 0


def duckdb_text(tree: exp.Expr) -> str:
    """Returns the query's text."""
    return str(tree.sql(dialect=_Text(), comments=False))
