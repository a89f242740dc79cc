"""Translates statements of PostgreSQL's dialect to Spark's SQL.

The result remembers which names are copied from the user's text, so errors of later stages point there. A construct
without an equivalent is rejected with its position. A parameter `$1` becomes the marker `:p1`.
"""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from catalog.conditions import PostgresNotSupported, StatementTooComplex
from engine.sql.dialect.dialect import SyntaxFailure
from engine.sql.parser import syntax_error
from engine.sql.postgres.labels import UNNAMED, folded, label_of
from engine.sql.postgres.reader import BUGS, is_query, last_name, read_change, read_query, tokens_of
from engine.sql.postgres.spark_text import spark_text
from engine.sql.postgres.templates import call, fill
from engine.sql.postgres.translate_expressions import ExpressionTranslator, series
from engine.sql.query.source_text import SourceText, join_texts, position_in, slice_text
from engine.sql.string_literals import spark_string

_RANK, _KEY = "pg_rank", "pg_key"
_REFUSED_WORDS = {
    ("RETURNING",): "RETURNING",
    ("ON", "CONFLICT"): "ON CONFLICT",
    ("DELETE", "USING"): "DELETE … USING",
}

# Words between CREATE and TEMPORARY.
_BEFORE_TEMPORARY = frozenset({"OR", "REPLACE", "GLOBAL", "LOCAL"})


def translate(text: str) -> SourceText:
    """Returns a statement in Spark's SQL. Raises `StatementSyntaxError` and `PostgresNotSupported`."""
    try:
        tokens = tokens_of(text)
        if is_query(tokens):
            return _query_text(text, tokens)
        return _statement_text(text, tokens)
    except SyntaxFailure as failure:
        raise syntax_error(text, failure.reason, failure.offset) from None
    except RecursionError:
        raise StatementTooComplex() from None
    except BUGS:
        raise syntax_error(text, "the statement cannot be read", 0) from None


def _query_text(text: str, tokens: list[Token]) -> SourceText:
    return spark_text(_Translator(text).translate(read_query(tokens, text)), text)


def _statement_text(text: str, tokens: list[Token]) -> SourceText:
    """Translates the names and constants of a statement that is no query, and the query at its end."""
    words = [token.text.upper() if token.token_type != TokenType.STRING else "" for token in tokens]
    for place, word in enumerate(words):
        for refused, feature in _REFUSED_WORDS.items():
            is_found = word == refused[-1] and (
                len(refused) == 1 or words[place - 1 if refused[0] != "DELETE" else 0] == refused[0]
            )
            if is_found and tokens[place].token_type != TokenType.IDENTIFIER:
                error = PostgresNotSupported(feature)
                error.position = position_in(text, tokens[place].start)
                raise error
    _ensure_no_temporary_table(text, tokens, words)
    if words[0:1] in (["UPDATE"], ["DELETE"], ["MERGE"]):
        return _change_text(text, tokens)
    if words[:1] not in (["INSERT"], ["CREATE"], ["EXPLAIN"]):
        return _with_names(text, tokens)
    begins = (
        place
        for place, word in enumerate(words)
        if place and word in ("SELECT", "VALUES", "WITH") and (word != "VALUES" or words[place - 1] != "DEFAULT")
    )
    begin = next(begins, None)
    if begin is None or tokens[begin].token_type == TokenType.IDENTIFIER:
        return _with_names(text, tokens)
    start = tokens[begin].start
    body = slice_text(text, start, tokens[-1].end + 1)
    tree = read_query(tokens_of(body), body)
    return join_texts(
        (
            _with_names(text[:start], tokens[:begin], text),
            spark_text(_Translator(body, is_whole=False).translate(tree), body),
        )
    )


def _ensure_no_temporary_table(text: str, tokens: list[Token], words: list[str]) -> None:
    """Rejects temporary tables and sequences, which the engine does not have; views may be temporary."""
    place = next((place for place, word in enumerate(words[:5]) if word in ("TEMP", "TEMPORARY", "UNLOGGED")), None)
    if words[:1] != ["CREATE"] or place is None or not set(words[1:place]) <= _BEFORE_TEMPORARY:
        return
    kind = next(iter(words[place + 1 :]), "")
    if kind in ("TABLE", "SEQUENCE"):
        advice = "" if kind == "SEQUENCE" else "Use CREATE TEMPORARY VIEW … AS SELECT, or a table that you drop."
        error = PostgresNotSupported(f"CREATE {words[place]} {kind}", advice)
        error.position = position_in(text, tokens[place].start)
        raise error


def _change_text(text: str, tokens: list[Token]) -> SourceText:
    """Translates UPDATE, DELETE and MERGE with the expressions in them."""
    tree = read_change(tokens, text)
    refused = ("from_", "using", "returning", "order", "limit") if not isinstance(tree, exp.Merge) else ("returning",)
    for key in refused:
        if tree.args.get(key):
            error = PostgresNotSupported(f"{key.strip('_').upper()} in {tree.key.upper()}", "Use MERGE.")
            error.position = position_in(text, tokens[0].start)
            raise error
    return spark_text(_Translator(text).translate(tree), text)


def _with_names(text: str, tokens: list[Token], source: str | None = None) -> SourceText:
    """Returns a text with names in backquotes, strings as Spark reads them, and markers of parameters."""
    source = text if source is None else source
    pieces: list[str] = []
    done = 0
    for token, after in zip(tokens, [*tokens[1:], None], strict=False):
        raw = text[token.start : token.end + 1]
        made = None
        if token.token_type == TokenType.IDENTIFIER:
            made = "`" + token.text.replace("`", "``") + "`"
        elif token.token_type == TokenType.STRING and "\\" in raw:
            made = raw.replace("\\", "\\\\")
        elif token.token_type == TokenType.BYTE_STRING:
            made = spark_string(token.text)
        elif token.token_type == TokenType.PARAMETER and after is not None and after.text.isdecimal():
            made = ":p"
        if made is not None:
            pieces += [slice_text(source, done, token.start), made]
            done = token.end + 1
    pieces.append(slice_text(source, done, len(text)))
    return join_texts(pieces)


def _has_ties(fetch: exp.Fetch) -> bool:
    options = fetch.args.get("limit_options")
    return options is not None and bool(options.args.get("with_ties"))


class _Translator:
    """Translates one query; `is_whole` is False for the query of an INSERT or a CREATE TABLE."""

    def __init__(self, source: str, *, is_whole: bool = True) -> None:
        self._source_text = source
        self._is_whole = is_whole
        self._expressions = ExpressionTranslator(source)

    def translate(self, tree: exp.Expr) -> exp.Expr:
        for select in list(tree.find_all(exp.Select)):
            self._ensure_plain(select)
        self._label(tree, is_top=True)
        for query in list(tree.find_all(exp.Select)):
            self._label(query, is_top=False)
        for table in list(tree.find_all(exp.Table, exp.Unnest)):
            self._source(table)
        for lateral in list(tree.find_all(exp.Lateral)):
            self._lateral(lateral)
        for select in list(tree.find_all(exp.Select)):
            if select.args.get("distinct") is not None and select.args["distinct"].args.get("on") is not None:
                replaced = self._distinct_on(select)
                if select is tree:
                    tree = replaced
                else:
                    select.replace(replaced)
        for values in list(tree.find_all(exp.Values)):
            tree = self._values(values, tree)
        made = self._expressions.translate(tree)
        for moved in [node for node in made.find_all(exp.Filter) if node.meta.get("is_moved")]:
            moved.replace(moved.this)
        return made

    def _values(self, values: exp.Values, tree: exp.Expr) -> exp.Expr:
        """Names the columns of VALUES `column1` and so on."""
        alias = values.args.get("alias")
        if isinstance(values.parent, exp.CTE | exp.SetOperation | exp.Insert) or (alias is not None and alias.columns):
            return tree
        first = next(iter(values.expressions), None)
        count = len(first.expressions) if isinstance(first, exp.Tuple) else 1
        columns = [exp.to_identifier(f"column{number}") for number in range(1, count + 1)]
        if alias is not None and alias.this is not None:
            alias.set("columns", columns)
            return tree
        if values is not tree or not self._is_whole:
            return tree
        named = exp.TableAlias(this=exp.to_identifier("pg_values"), columns=columns)
        return exp.Select(expressions=[exp.Star()]).from_(exp.Values(expressions=values.expressions, alias=named))

    def _ensure_plain(self, select: exp.Select) -> None:
        if select.args.get("locks"):
            self._expressions.refuse_at("FOR UPDATE and FOR SHARE", _lock_offset(self._source_text))
        if select.args.get("into") is not None:
            self._expressions.refuse("SELECT INTO", select.args["into"], "Use CREATE TABLE … AS.")
        limit = select.args.get("limit")
        if isinstance(limit, exp.Fetch) and _has_ties(limit):
            self._expressions.refuse("FETCH … WITH TIES", limit, "Use rank() in a subquery, and a condition on it.")

    def _label(self, query: exp.Expr, *, is_top: bool) -> None:
        """Names the columns of a query as PostgreSQL does."""
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Select):
            return
        made: list[exp.Expr] = []
        for projection in query.expressions:
            is_star = isinstance(projection, exp.Star) or isinstance(projection, exp.Column) and projection.is_star
            label = "" if is_star else label_of(projection)
            is_named = isinstance(projection, exp.Alias | exp.Aliases) or is_star
            if isinstance(projection, exp.Alias) and isinstance(projection.args["alias"], exp.Identifier):
                projection.args["alias"].set("this", label)
                made.append(projection)
            elif is_named or (not is_top and (label == UNNAMED or isinstance(projection, exp.Column))):
                made.append(projection)
            else:
                made.append(exp.Alias(this=projection, alias=exp.Identifier(this=label, quoted=True)))
        query.set("expressions", made)

    # ------------------------------------------------------------------------------------------------------------ FROM

    def _source(self, node: exp.Expr) -> None:
        """Makes a subquery of a call in FROM that returns rows."""
        if isinstance(node, exp.Table):
            node.set("only", None)
            inner = node.this
            if not isinstance(inner, exp.Anonymous):
                return
            name, arguments = last_name(inner), inner.expressions
        else:
            name, arguments = "unnest", node.expressions
        if isinstance(node.parent, exp.Lateral):
            return
        subquery = self._rows(name, arguments, node)
        if subquery is None:
            return
        parent = node.parent
        has_columns = any(True for argument in arguments for _ in argument.find_all(exp.Column))
        if has_columns and isinstance(parent, exp.Join | exp.From):
            node.replace(exp.Lateral(this=exp.Subquery(this=subquery.this), alias=subquery.args["alias"]))
        else:
            node.replace(subquery)

    def _lateral(self, node: exp.Lateral) -> None:
        inner = node.this
        call_node = inner.this if isinstance(inner, exp.Table) else inner
        if isinstance(call_node, exp.Anonymous | exp.Unnest):
            name = "unnest" if isinstance(call_node, exp.Unnest) else last_name(call_node)
            for key in ("offset", "ordinality"):
                if call_node.args.get(key) is not None:
                    node.meta[key] = call_node.args[key]
            subquery = self._rows(name, call_node.expressions, node)
            if subquery is not None:
                node.set("this", exp.Subquery(this=subquery.this))
                node.set("alias", subquery.args["alias"])

    def _rows(self, name: str, arguments: list[exp.Expr], node: exp.Expr) -> exp.Subquery | None:
        if name == "generate_series":
            array: exp.Expr = series(arguments)
        elif name == "unnest" and len(arguments) == 1:
            array = arguments[0]
        elif name in ("regexp_split_to_table", "json_each", "jsonb_each", "json_array_elements", "string_to_table"):
            self._expressions.refuse(f"The function {name} in FROM", node)
        else:
            return None
        alias = node.args.get("alias")
        shown = folded(alias.this) if alias is not None and alias.this else name
        columns = [folded(column) for column in alias.columns] if alias is not None else []
        offset = node.args.get("offset") or node.meta.get("offset")
        if isinstance(offset, exp.Identifier) and len(columns) == 1:
            columns.append(folded(offset))
        is_ordered = bool(node.args.get("ordinality") or node.meta.get("ordinality") or offset)
        value = columns[0] if columns else shown
        column = exp.Identifier(this=value, quoted=True)
        if is_ordered:
            place = columns[1] if len(columns) > 1 else "ordinality"
            names = exp.Aliases(this=call("posexplode", array), expressions=[exp.to_identifier("pg_place"), column])
            inner = exp.Select(expressions=[names])
            projections: list[exp.Expr] = [
                exp.column(value, quoted=True),
                exp.Alias(this=fill("pg_place + 1"), alias=exp.Identifier(this=place, quoted=True)),
            ]
            query = exp.Select(expressions=projections).from_(exp.Subquery(this=inner))
        else:
            query = exp.Select(expressions=[exp.Alias(this=call("explode", array), alias=column)])
        return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.Identifier(this=shown, quoted=True)))

    # ----------------------------------------------------------------------------------------------------- DISTINCT ON

    def _distinct_on(self, select: exp.Select) -> exp.Select:
        """Ranks the rows of each key, keeps the first one, and sorts again outside."""
        keys = select.args["distinct"].args["on"].expressions
        order = select.args.get("order")
        labels = [label_of(projection) for projection in select.expressions]
        if any(isinstance(one, exp.Star) or isinstance(one, exp.Column) and one.is_star for one in select.expressions):
            self._expressions.refuse("DISTINCT ON with *", select, "Name the columns.")
        named = {
            label: one.this if isinstance(one, exp.Alias) else one
            for label, one in zip(labels, select.expressions, strict=True)
        }
        sorted_by = [_ordered(one, named, list(named.values())) for one in (order.expressions if order else ())]
        ranking = exp.Order(expressions=[one.copy() for one in sorted_by] or [exp.Ordered(this=exp.Literal.number(1))])
        partition = [_replaced(key, named, list(named.values())) for key in keys]
        rank = exp.Window(this=call("row_number"), partition_by=partition, order=ranking)
        inner = select.copy()
        for name in ("distinct", "order", "limit", "offset", "with_"):
            inner.set(name, None)
        hidden = [
            exp.Alias(this=one.this.copy(), alias=exp.to_identifier(f"{_KEY}{place}"))
            for place, one in enumerate(sorted_by)
        ]
        aliased = [
            one if isinstance(one, exp.Alias) else exp.Alias(this=one, alias=exp.Identifier(this=label, quoted=True))
            for label, one in zip(labels, inner.expressions, strict=True)
        ]
        inner.set("expressions", [*aliased, *hidden, exp.Alias(this=rank, alias=exp.to_identifier(_RANK))])
        outer = exp.Select(expressions=[exp.column(label, quoted=True) for label in labels])
        outer = outer.from_(exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("pg_ranked"))))
        outer = outer.where(exp.EQ(this=exp.column(_RANK), expression=exp.Literal.number(1)))
        outer_order = [_with_expression(one, exp.column(f"{_KEY}{place}")) for place, one in enumerate(sorted_by)]
        if outer_order:
            outer.set("order", exp.Order(expressions=outer_order))
        for name in ("limit", "offset", "with_"):
            outer.set(name, select.args.get(name))
        return outer


def _lock_offset(text: str) -> int:
    found = list(re.finditer(r"(?i)\bfor\s+(?:no\s+key\s+)?(?:update|share|key\s+share)", text))
    return found[-1].start() if found else 0


def _replaced(node: exp.Expr, named: dict[str, exp.Expr], listed: list[exp.Expr]) -> exp.Expr:
    """Returns the expression that an ordinal or a label stands for."""
    if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(listed):
        return listed[int(node.name) - 1].copy()
    if isinstance(node, exp.Column) and not node.table and folded(node.this) in named:
        return named[folded(node.this)].copy()
    return node.copy()


def _ordered(node: exp.Expr, named: dict[str, exp.Expr], listed: list[exp.Expr]) -> exp.Ordered:
    return _with_expression(node, _replaced(node.this, named, listed))


def _with_expression(node: exp.Expr, value: exp.Expr) -> exp.Ordered:
    return exp.Ordered(this=value, desc=node.args.get("desc"), nulls_first=node.args.get("nulls_first"))
