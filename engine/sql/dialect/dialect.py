"""A sqlglot dialect that reads Spark's queries, keeps positions, loses nothing and never guesses.

sqlglot is made to translate between dialects; here it only locates the tables that a query names. So this dialect
differs from sqlglot's Databricks dialect, which it extends:

1. *No opaque statements.* For an `exp.Command`, sqlglot's fallback, and for each statement that is not a query, it
raises `UnsupportedStatement`: a tree without its tables would hide them from the functions that walk it.
2. *No rewriting.* A function call stays a call with the name and the arguments as written: sqlglot's builders drop,
copy and rename arguments, and with them subqueries and names.
3. *Time travel.* `t@v3`, `t@20240101000000000` and the four spellings of AS OF become a `Version` with its span;
sqlglot reads `@v3` as an alias, which would silently read the latest version.
4. *Positions.* Nodes without an identifier (versions, samples, hints) carry their span in `meta`.

Spark runs the text and remains the authority on its meaning: this reader may reject more than Spark. If it misses a
name, Spark does not find a table with that name, and the check on Spark's plan rejects the query.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import ParseError
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import Token, TokenType

from catalog.conditions import NonConstantArgument, StatementHasTooManyTokens, StatementTooComplex, UnsupportedClause
from engine.sql.dialect.constant_lists import CONSTANTS, flag_lists, long_lists, num_values, without_lists
from engine.sql.dialect.errors import identifier_not_here, unsupported_statement
from engine.sql.dialect.functions import CHANGE_FEED_FUNCTIONS, READ_FILES, ensure_callable
from engine.sql.dialect.pipes import PipeParser
from engine.sql.dialect.refusals import WORDS_MAX, refused_kind
from engine.sql.dialect.tokens import GatewayTokenizer, UnclosedComment, blank_comments, join_doubled_quotes, normalize
from engine.sql.dialect.words import TYPE_NAMES, hint
from engine.types.schema import TYPE_DEPTH_MAX

_Node = TypeVar("_Node", bound=exp.Expr)

# Key in a node's `meta`: (start, end) offsets, the end exclusive.
SPAN = "span"

# Key in a table's `meta`: it is written `TABLE t`.
TABLE_QUERY = "table_query"

# Key in a call's `meta`: it is `(DESCRIBE HISTORY t [LIMIT n])` in FROM; the limit as text or None.
HISTORY_LIMIT = "history_limit"
# Key in a call's `meta`: the function name, in lower case, if it is one of `CHANGE_FEED_FUNCTIONS`.
CHANGE_FEED = "change_feed"

# Key in the `meta` of a `read_files` call: its arguments.
FILE_ARGUMENTS = "file_arguments"

# Key in a call's `meta`, for a function that sqlglot does not have: the start of its last name part.
CALL_AT = "call_at"

# Key in a table's `meta`: the `Version` that its `@` suffix denotes.
SUFFIX = "suffix"

# Token texts, in upper case, that can begin a query.
QUERY_LEADING_WORDS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "("})


# Interval units without the optional S at the end.
_INTERVAL_UNITS = frozenset(
    {"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND"}
)


class SyntaxFailure(ParseError):
    """A syntax error with its offset; `engine/sql/parser.py` adds line and column."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


# Functions with three arguments whose first one is a word of Spark's grammar (`datetimeUnit`), not a column.
_FUNCTIONS_OF_UNITS = frozenset(
    {"timestampadd", "dateadd", "date_add", "timestampdiff", "datediff", "date_diff", "timediff"}
)
_UNITS = frozenset(
    {
        "YEAR",
        "QUARTER",
        "MONTH",
        "WEEK",
        "DAY",
        "DAYOFYEAR",
        "HOUR",
        "MINUTE",
        "SECOND",
        "MILLISECOND",
        "MICROSECOND",
    }
)


def _read_unit(call: exp.Anonymous) -> None:
    """Turns the unit in `timestampdiff(MONTH, a, b)` into a word; sqlglot parsed a column."""
    arguments = call.expressions
    if call.name.lower() not in _FUNCTIONS_OF_UNITS or len(arguments) != 3:
        return
    unit = arguments[0]
    if not isinstance(unit, exp.Column) or len(unit.parts) != 1 or unit.this.args.get("quoted"):
        return
    if unit.name.upper() in _UNITS:
        unit.replace(exp.Var(this=unit.name))


class ConstantList(exp.Expression):
    """Constants that need no inspection (`constant_lists.py`)."""


class _Parser(PipeParser):
    SUPPORTS_TABLE_QUERY = True
    PRIMARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **DatabricksParser.PRIMARY_PARSERS,
        CONSTANTS: lambda self, token: ConstantList(this=token.text),
    }
    # Without builders each call becomes `exp.Anonymous`, with its name and arguments as
    # written.
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: DatabricksParser.FUNCTION_PARSERS[name]
        for name in ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION", "OVERLAY", "JSON_TABLE")
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "ANY": DatabricksParser.NO_PAREN_FUNCTION_PARSERS["ANY"],
        "CASE": DatabricksParser.NO_PAREN_FUNCTION_PARSERS["CASE"],
    }
    STATEMENT_PARSERS: ClassVar[dict[TokenType, Any]] = {}
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}  # otherwise `array(a)[0]` is read as the array [0]

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        place = token or self._curr
        if not place:
            raise SyntaxFailure("the statement ends too early", len(self.sql))
        if message.startswith(_UNEXPECTED):
            before = self._prev.text.upper() if self._prev else ""
            if before == "TOP" and place.token_type == TokenType.NUMBER:
                raise SyntaxFailure(f"TOP is not Spark SQL; write LIMIT {place.text} at the end", self._prev.start)
            if before in _WITH_BY:
                raise SyntaxFailure(f"BY is expected after {before}", place.start)
            meant = hint(self._prev.text, _CLAUSES) if self._prev and self._prev.token_type == TokenType.VAR else ""
            behind = f" after {self._prev.text}{meant}" if meant else ""
            raise SyntaxFailure(f"{self._find_sql(place, place)} is not expected here{behind}", place.start)
        if message.upper().startswith(_NO_TYPE):
            word = self._find_sql(place, place)
            raise SyntaxFailure(f"{word} is not a type{hint(word, TYPE_NAMES)}", place.start)
        if message.startswith(_NO_NAME):  # it ends in Python's text of a token
            raise SyntaxFailure(f"a name is expected instead of {self._find_sql(place, place)}", place.start)
        if message.startswith(_INCOMPLETE):
            raise SyntaxFailure("an operand or an argument is missing", place.start)
        raise SyntaxFailure(message[:1].lower() + message[1:], place.start)

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        place = self._curr
        found: tuple[list[exp.Expr], list[exp.Expr] | None] = super()._parse_projections()
        if not found[0] and place and place.token_type == TokenType.FROM:
            raise SyntaxFailure("the SELECT list is empty; name columns, or write *", place.start)
        return found

    def _parse_statement(self) -> exp.Expr | None:
        """Parses a query and nothing else; sqlglot also calls this for the tokens after WITH in parentheses."""
        head = self._curr.text.upper() if self._curr else ""
        if head not in QUERY_LEADING_WORDS or self._curr.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            kind = refused_kind([token.text.upper() for token in self._tokens[self._index : self._index + WORDS_MAX]])
            if kind is not None:
                raise unsupported_statement(kind)
            self.raise_error("a query is expected")
        return super()._parse_statement()

    def build_cast(self, strict: bool, **kwargs: Any) -> exp.Expr:
        """Builds the cast as written; sqlglot's method computes the precision of `1.50BD`."""
        return exp.Cast(**kwargs) if strict else exp.TryCast(**kwargs)

    def _parse_as_command(self, start: Token) -> NoReturn:
        raise unsupported_statement(start.text.upper())

    def _parse_command(self) -> NoReturn:
        raise unsupported_statement(self._prev.text.upper())

    def _parse_parameter(self) -> NoReturn:
        self.raise_error("unexpected '@' or '$'", self._prev)

    def _parse_query_parameter(self) -> NoReturn:
        self.raise_error("unexpected '{'", self._prev)

    def _parse_join(
        self,
        skip_join_token: bool = False,
        parse_bracket: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
    ) -> exp.Join | None:
        """Parses Spark's joins. sqlglot also reads `a JOIN b JOIN c ON … ON …`, by trying each join twice: 2^n in
        all.
        """
        index = self._index
        if not self._match(TokenType.COMMA):
            self._parse_join_parts()
            if not self._match(TokenType.JOIN):
                self._retreat(index)
                return None
        join = exp.Join(this=self._parse_table(alias_tokens=alias_tokens))
        if self._match_text_seq("MATCH_CONDITION"):
            join.set("match_condition", self._parse_wrapped(self._parse_disjunction))
        if self._is_nearest():
            join.set("on", self._parse_nearest())
        elif self._match(TokenType.ON):
            join.set("on", self._parse_disjunction())
        elif self._match(TokenType.USING):
            join.set("using", self._parse_using_identifiers())
        join.set("pivots", self._parse_pivots())
        return join

    def _parse_interval(self, *args: Any, **kwargs: Any) -> exp.Add | exp.Interval | None:
        """Parses Spark's intervals with several units, each with its own sign: `INTERVAL 1 MONTH -2 DAYS 3 HOURS`."""
        interval = super()._parse_interval(*args, **kwargs)
        while interval is not None and (count := self._interval_part()):
            self._advance(count)
        return interval

    def _interval_part(self) -> int:
        """Returns how many tokens a value with its unit occupies here; 0 if there is no value."""
        signs = int(self._curr.token_type in (TokenType.DASH, TokenType.PLUS)) if self._curr else 0
        part = self._tokens[self._index + signs : self._index + signs + 2]
        is_part = len(part) == 2 and part[0].token_type in (TokenType.NUMBER, TokenType.STRING)
        is_unit = is_part and part[1].text.upper().removesuffix("S") in _INTERVAL_UNITS
        return signs + 2 if is_unit and part[1].token_type != TokenType.IDENTIFIER else 0

    def _is_nearest(self) -> bool:
        return self._curr.text.upper() in ("APPROX", "EXACT") and self._next.text.upper() == "NEAREST"

    def _parse_nearest(self) -> exp.Expr | None:
        """Parses `APPROX|EXACT NEAREST [n] BY DISTANCE|SIMILARITY expression` and returns the expression."""
        self._advance(2)
        self._match(TokenType.NUMBER)
        if not self._match_text_seq("BY"):
            self.raise_error("a number, or BY, is expected after NEAREST")
        if not self._match_texts(("DISTANCE", "SIMILARITY")):
            self.raise_error("DISTANCE or SIMILARITY is expected after BY")
        return self._parse_disjunction() or self.raise_error("an expression is expected")

    def _parse_pivot_aggregation(self) -> exp.Expr | None:
        """Parses any expression over aggregates, as in Spark; sqlglot accepts one call."""
        return self._parse_alias(self._parse_bitwise())

    def _parse_stream(self) -> None:
        followers = {TokenType.L_PAREN, *self.ID_VAR_TOKENS}
        if self._curr.token_type == TokenType.STREAM and self._next.token_type in followers:
            raise UnsupportedClause("STREAM", "Read the table itself.")

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if self._curr.text.upper() == "IDENTIFIER" and self._next.token_type == TokenType.L_PAREN:
            raise identifier_not_here()
        if self._curr.text.lower() in CHANGE_FEED_FUNCTIONS and self._next.token_type == TokenType.L_PAREN:
            return self._parse_change_feed()
        if self._curr.text.lower() == READ_FILES and self._next.token_type == TokenType.L_PAREN:
            return self._parse_file_call()
        start = self._curr
        found = super()._parse_function_call(*args, **kwargs)
        call: Any = found
        while isinstance(call, exp.Expr) and not isinstance(call, exp.Anonymous):
            call = call.this  # the node that OVER, FILTER and similar clauses wrap
        if isinstance(call, exp.Anonymous):
            call.meta.setdefault(CALL_AT, start.start)
            _read_unit(call)
        return found

    def _parse_table(self, schema: bool = False, joins: bool = False, *args: Any, **kwargs: Any) -> exp.Expr | None:
        start = self._curr
        if start.token_type != TokenType.L_PAREN or self._next.text.upper() not in ("DESC", "DESCRIBE"):
            return super()._parse_table(schema, joins, *args, **kwargs)
        words = [word.text.upper() for word in self._tokens[self._index + 2 : self._index + 3]]
        if words == ["DETAIL"]:
            raise UnsupportedClause("DESCRIBE DETAIL in FROM", "Run DESCRIBE DETAIL by itself.")
        if words != ["HISTORY"]:
            return super()._parse_table(schema, joins, *args, **kwargs)
        self._advance(3)
        table = exp.Table(this=self._parse_history(start), alias=self._parse_table_alias())
        for join in self._parse_joins() if joins else ():
            table.append("joins", join)
        return table

    def _parse_history(self, start: Token) -> exp.Anonymous:
        """Parses `t [LIMIT n])` after `(DESCRIBE HISTORY`; the call's argument is the table, or the text of a path."""
        path, limit = self._curr, None
        named = exp.Literal.string(path.text) if self._match(TokenType.STRING) else self._parse_table_parts()
        if self._match(TokenType.LIMIT):
            limit = self._curr.text
            if not self._match(TokenType.NUMBER) or not limit.isdecimal():
                self.raise_error("a number is expected after LIMIT")
        if not self._match(TokenType.R_PAREN):
            self.raise_error("a closing parenthesis is expected")
        call = self._with_span(exp.Anonymous(this="history", expressions=[named]), start)
        call.meta[HISTORY_LIMIT] = limit
        return call

    def _parse_change_feed(self) -> exp.Anonymous:
        """Parses a call of `table_changes` or `table_changes_by_path`; the call and each argument carry their spans."""
        start = self._curr
        self._advance(2)
        arguments: list[exp.Expr] = []
        while not self._match(TokenType.R_PAREN):
            if arguments and not self._match(TokenType.COMMA):
                self.raise_error("a comma or a closing parenthesis is expected")
            first = self._curr
            argument = self._parse_disjunction()
            if argument is None:
                self.raise_error("an argument is expected", first)
            _ensure_constant(argument, start.text)
            arguments.append(self._with_span(argument, first))
        call = self._with_span(exp.Anonymous(this=start.text, expressions=arguments), start)
        call.meta[CHANGE_FEED] = start.text.lower()
        return call

    def _parse_file_call(self) -> exp.Anonymous:
        """Parses a `read_files` call: the call with its span, and its arguments as pairs (name or None, constant)."""
        start = self._curr
        self._advance(2)
        arguments: list[tuple[str | None, str]] = []
        while not self._match(TokenType.R_PAREN):
            if arguments and not self._match(TokenType.COMMA):
                self.raise_error("a comma or a closing parenthesis is expected")
            name = None
            if self._next.token_type == TokenType.FARROW:
                name = self._curr.text
                self._advance(2)
            first, value = self._curr, self._parse_unary()
            if isinstance(value, exp.Boolean):
                arguments.append((name, str(value.this).lower()))
            elif isinstance(value, exp.Literal | exp.RawString):
                arguments.append((name, value.name))
            else:
                self.raise_error("a constant is expected", first)
        call = self._with_span(exp.Anonymous(this=start.text), start)
        call.meta[FILE_ARGUMENTS] = arguments
        return call

    def _parse_table_part(self, schema: bool = False) -> exp.Expr | None:
        """Parses like sqlglot, but rejects strings and placeholders."""
        start = self._curr
        part = super()._parse_table_part(schema)
        if isinstance(part, exp.Placeholder) or start.token_type == TokenType.STRING:
            self.raise_error("a table's name is expected, in backticks if need be", start)
        return part

    def _parse_table_parts_fast(self) -> None:
        """Disables sqlglot's fast path, which does not look for `@`."""

    def _parse_table_parts(
        self, schema: bool = False, is_db_reference: bool = False, wildcard: bool = False, fast: bool = False
    ) -> exp.Table | exp.Dot | None:
        """Parses a name, including an `@` suffix."""
        is_table_query = self._prev.token_type == TokenType.TABLE
        table = super()._parse_table_parts(schema, is_db_reference, wildcard, fast)
        if table is not None and is_table_query:
            table.meta[TABLE_QUERY] = True
        if self._curr.text.upper() == "CHANGES" and self._next.token_type == TokenType.FROM:
            raise UnsupportedClause("CHANGES FROM", "Use the function table_changes.")
        if table is not None and self._curr.token_type == TokenType.PARAMETER and self._curr.text == "@":
            table.meta[SUFFIX] = self._parse_suffix()
        return table

    def _parse_suffix(self) -> exp.Version:
        """Parses `@v3` or `@20240101000000000`, from the `@` on."""
        start = self._curr
        self._advance()
        value = self._curr
        kind, text = "TIMESTAMP", value.text
        if not self._match(TokenType.NUMBER):
            if value.token_type != TokenType.VAR or text[:1] not in "vV":
                self.raise_error("a version (@v3) or a time (@20240131120000000) is expected after '@'", value)
            self._advance()
            kind, text = "VERSION", text[1:]
            if not text and self._match_set((TokenType.NUMBER, TokenType.STRING)):
                text = self._prev.text
        return self._with_span(exp.Version(this=kind, kind="@", expression=exp.Literal.string(text)), start)

    def _parse_version(self) -> exp.Version | None:
        """Parses `[FOR] (VERSION | SYSTEM_VERSION | TIMESTAMP | SYSTEM_TIME) AS OF …`; one of these words alone is an
        alias.
        """
        index, start = self._index, self._curr
        self._match(TokenType.FOR)
        kind = _VERSION_KINDS.get(self._curr.text.upper())
        if kind is None or self._curr.token_type == TokenType.IDENTIFIER:
            self._retreat(index)
            return None
        self._advance()
        if not self._match_text_seq("AS", "OF"):
            self._retreat(index)
            return None
        value = self._curr
        if kind == "VERSION":
            if not self._match_set((TokenType.NUMBER, TokenType.STRING)):
                self.raise_error("a version number is expected after AS OF")
            text = value.text
            if value.token_type == TokenType.NUMBER:
                return self._with_span(exp.Version(this=kind, kind="AS OF", expression=exp.Literal.number(text)), start)
        else:
            time = self._parse_bitwise()
            if time is None:
                self.raise_error("a time is expected after AS OF")
            _ensure_plain(time, "AS OF")
            text = self._find_sql(value, self._prev)
        return self._with_span(exp.Version(this=kind, kind="AS OF", expression=exp.Literal.string(text)), start)

    def _parse_table_sample(self, as_modifier: bool = False) -> exp.TableSample | None:
        start = self._curr
        sample = super()._parse_table_sample(as_modifier)
        return self._with_span(sample, start) if sample else None

    def _parse_table_alias(self, alias_tokens: Collection[TokenType] | None = None) -> exp.TableAlias | None:
        """Parses like sqlglot, without aliases that are strings or placeholders, and with a limit after a recursive
        CTE's alias.
        """
        alias = None if self._is_nearest() else super()._parse_table_alias(alias_tokens)
        if self._match_text_seq("MAX", "RECURSION", "LEVEL"):
            self._advance()
        if alias and alias.this is not None and not isinstance(alias.this, exp.Identifier):
            self.raise_error("an alias is expected")
        return alias

    def _parse_table_hints(self) -> None:
        if self._curr.token_type == TokenType.WITH and self._next.token_type == TokenType.L_PAREN:
            raise UnsupportedClause("WITH (…) after a table", "Leave the options out.")

    def _parse_hint(self) -> exp.Hint | None:
        """Records only the span: `engine/sql/query/scopes.py` reads the names in it."""
        if not self._match(TokenType.HINT):
            return None
        return self._with_span(exp.Hint(expressions=[]), self._prev)

    def _with_span(self, node: _Node, start: Token) -> _Node:
        node.meta[SPAN] = (start.start, self._prev.end + 1)
        return node


_CLAUSES = "FROM GROUP HAVING INNER JOIN LATERAL LEFT LIMIT OFFSET ORDER QUALIFY RIGHT UNION WHERE WINDOW".split()

# The start of sqlglot's message for another word at the position of a type, in capital letters.
_NO_TYPE = "EXPECTED TYPE"
# The starts of its messages for another word at the position of a name.
_NO_NAME = ("Expected table name", "Expected database name")

_WITH_BY = frozenset({"GROUP", "ORDER", "PARTITION", "CLUSTER", "DISTRIBUTE", "SORT"})
# The start of sqlglot's message for leftover tokens.
_UNEXPECTED = "Invalid expression"

# The start of sqlglot's message for a node with a missing part.
_INCOMPLETE = "Required keyword"


_VERSION_KINDS = {
    "VERSION": "VERSION",
    "SYSTEM_VERSION": "VERSION",
    "TIMESTAMP": "TIMESTAMP",
    "SYSTEM_TIME": "TIMESTAMP",
}


def _ensure_plain(expression: exp.Expr, clause: str) -> None:
    """Rejects constructs that an AS OF expression must not contain; it is evaluated apart from the query."""
    for node in expression.walk():
        if isinstance(node, exp.Query):
            raise UnsupportedClause(f"A subquery in {clause}", "Write the time, or the version.")
        if isinstance(node, exp.Anonymous):
            ensure_function(node)


def ensure_function(call: exp.Anonymous) -> None:
    """Rejects, by name, a function that an expression must not call."""
    if CHANGE_FEED in call.meta or FILE_ARGUMENTS in call.meta:
        raise UnsupportedClause(f"{call.name} outside of FROM", "Put it in FROM or JOIN.")
    if call.name.lower() == "table":
        raise UnsupportedClause("TABLE(…) as an argument", "No function that may be called takes a table.")
    ensure_callable(call.name)


def _ensure_constant(argument: exp.Expr, function: str) -> None:
    """Checks like AS OF, and rejects columns and positional parameters, which would shift the positions of others."""
    _ensure_plain(argument, function)
    for node in argument.walk():
        if isinstance(node, exp.Column):
            raise NonConstantArgument(function, node.name)
        if isinstance(node, exp.Placeholder) and not node.this:
            raise UnsupportedClause(f"A parameter '?' in {function}", "Give the parameter a name, as in :start.")


class GatewayDialect(Databricks):
    """Spark's queries, to the extent that the gateway reads them."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Returns the path as written; sqlglot's method logs paths that it cannot read."""
        return path

    Tokenizer = GatewayTokenizer
    Parser = _Parser


_DIALECT = GatewayDialect()

# Exceptions besides sqlglot's own errors that its parser may raise on an unexpected text.
_BUGS = (ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)


_NESTED_TYPES = frozenset({"ARRAY", "MAP", "STRUCT"})
_TYPE_BRACKET = re.compile(r"(?i)\b(?:ARRAY|MAP|STRUCT)\s*<|>")


# Parsing this many tokens takes about ten seconds, during which no other statement is parsed.
TOKENS_MAX = 500_000


def tokenize(text: str) -> list[Token]:
    """Returns the tokens of `text`; a token's `end` is inclusive, and a long list of constants is one token.

    Raises sqlglot's `TokenError`, `SyntaxFailure`, `StatementHasTooManyTokens`, and `StatementTooComplex` for a type
    that is nested deeper than any table's type may be.
    """
    lists = long_lists(text)
    tokens = _tokens(text if not lists else without_lists(text, lists))
    count = len(tokens)
    if lists:
        flag_lists(tokens, text, lists)
        count += 2 * num_values(text, lists)
    if count > TOKENS_MAX:
        raise StatementHasTooManyTokens(count, TOKENS_MAX)
    _ensure_types_are_shallow(tokens)
    return tokens


def tokenize_with_constants(text: str) -> list[Token]:
    """Tokenizes as :func:`tokenize`, but returns a token for each constant."""
    tokens = _tokens(text)
    if len(tokens) > TOKENS_MAX:
        raise StatementHasTooManyTokens(len(tokens), TOKENS_MAX)
    return tokens


def _tokens(text: str) -> list[Token]:
    try:
        return join_doubled_quotes(GatewayTokenizer(dialect=_DIALECT).tokenize(blank_comments(text)), text)
    except UnclosedComment as unclosed:
        raise SyntaxFailure("a comment is not closed", unclosed.offset) from None


def _ensure_types_are_shallow(tokens: list[Token]) -> None:
    """Checks the nesting depth before the tokens are walked: type parsers take seconds for a few hundred levels, and
    Spark's stack overflows.

    Strings are checked too, because `from_json` and other functions take a type as a string; adjacent strings are one.
    """
    depth, before, depth_in_string = 0, "", 0
    for token in tokens:
        if token.token_type in (TokenType.STRING, TokenType.RAW_STRING):
            depth_in_string = _depth_behind(token.text, depth_in_string)
            before = ""
            continue
        word, depth_in_string = token.text.upper(), 0
        if word == "<" and before in _NESTED_TYPES:
            depth += 1
            if depth > TYPE_DEPTH_MAX:
                raise StatementTooComplex()
        elif word and not word.strip(">"):
            depth = max(0, depth - len(word))
        before = word


def _depth_behind(text: str, depth: int) -> int:
    """Returns the nesting depth at the end of `text`, which began at `depth`."""
    for found in _TYPE_BRACKET.finditer(text):
        depth = max(0, depth - 1) if found[0] == ">" else depth + 1
        if depth > TYPE_DEPTH_MAX:
            raise StatementTooComplex()
    return depth


def parse_query_tree(tokens: list[Token], text: str) -> exp.Expr:
    """Parses one query into a tree. Raises `SyntaxFailure`, `StatementTooComplex`, or a `SqlError` for a rejected
    construct.
    """
    try:
        trees = _Parser(dialect=_DIALECT).parse(normalize(tokens), text)
    except RecursionError:
        raise StatementTooComplex() from None
    except _BUGS:
        raise SyntaxFailure("the query cannot be read", tokens[0].start if tokens else 0) from None
    tree = trees[0] if trees else None
    if tree is None:
        raise SyntaxFailure("a query is expected", 0)
    return tree
