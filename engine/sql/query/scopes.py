"""Finds the table names in a query and the column qualifiers that refer to them, by a tree walk with SQL's scopes.

**Relations.** A name in FROM is a table unless a visible WITH clause defines it. A definition is visible after its own
WITH element (with RECURSIVE also inside it), in the query that follows and in all queries nested there; so a CTE may
read the real table with its own name, and an inner WITH shadows an outer one. Names compare without case, as in Spark.

**Qualifiers.** A query's sources (tables, subqueries, functions, lateral views) form a scope; nested queries see the
surrounding scopes, except that a plain subquery in FROM does not see its siblings. Spark tries a column's longest
qualifier first, and so does this module: `a.b.c.d` is column d of table a.b.c, else column c of a.b, else column b of
a. The columns are unknown here, so the match cannot be verified, but the rest is left to Spark: the short form `t.c` is
never changed unless its table had to get another alias (see `engine/sql/query/splice.py`).

Expressions are walked with a stack, not by recursion: a chain with a thousand ORs is a tree with a thousand levels.

**Hints.** sqlglot returns a hint (`/*+ BROADCAST(t, s.u), REPARTITION(8, t.c) */`) as comment text. Arguments are
numbers or dotted names: relation names in join hints, column names in partitioning hints, whose qualifiers are relation
names. Other arguments are left alone; Spark ignores unknown hints with a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from catalog.conditions import TimeTravelNotPossible, UnsupportedClause
from engine.sql.dialect.dialect import CALL_AT, HISTORY_LIMIT, SPAN, ensure_function, tokenize
from engine.sql.dialect.functions import CALLABLE_FUNCTIONS
from engine.sql.dialect.pipes import PIPE_ALIASES
from engine.sql.query.calls import read_calls
from engine.sql.query.change_feeds import is_change_feed, read_change_feed
from engine.sql.query.file_calls import is_file_call, read_file_call
from engine.sql.query.relations import ensure_not_files, has_time_travel, read_relation, table_name
from engine.sql.query.values import Candidate, HistoryOf, Qualifier, Query, Relation, Span

_QUALIFIER_PARTS_MAX = 3
# Arguments of a Select that are not expressions over its sources.
_SOURCES = frozenset({"with_", "from_", "joins", "laterals", "hint", PIPE_ALIASES})

# Arguments of other queries that are not expressions.
_OPERANDS = frozenset({"with_", "this", "expression", "alias", "joins", "laterals", "pivots"})


@dataclass(slots=True)
class _Source:
    """An item in FROM: `label` is its alias or last name part, folded; `relation` its index if it has no written
    alias.
    """

    label: str
    relation: int | None = None


@dataclass(slots=True)
class _Scope:
    """The sources of one query and the surrounding scope."""

    outer: _Scope | None
    sources: list[_Source] = field(default_factory=list)


@dataclass(slots=True)
class _Place:
    """The name resolution at one tree node: the visible CTEs (folded) and the scope."""

    ctes: frozenset[str]
    scope: _Scope | None


def read_names(tree: exp.Expr, text: str, tokens: Sequence[Token]) -> Query:
    """Returns the query with its relations, qualifiers and calls. Raises `SqlError` for a rejected construct."""
    walker = _Walker(text)
    walker.query(tree, _Place(frozenset(), None))
    if not walker.calls:
        return walker.result()
    return replace(walker.result(), calls=read_calls(tokens, walker.calls, walker.columns, walker.table_calls))


class _Walker:
    def __init__(self, text: str) -> None:
        self._text = text
        self._relations: list[Relation] = []
        self._qualifiers: dict[int, Qualifier] = {}
        self.calls: list[int] = []
        self.columns: set[int] = set()
        # Offsets of calls in FROM, and whether they have an alias.
        self.table_calls: dict[int, bool] = {}

    def result(self) -> Query:
        """Returns the relations in text order, and the qualifiers that point to them."""
        order = sorted(range(len(self._relations)), key=lambda index: self._relations[index].span.start)
        place = {index: position for position, index in enumerate(order)}
        return Query(
            text=self._text,
            relations=tuple(self._relations[index] for index in order),
            qualifiers=tuple(
                Qualifier(
                    parts=qualifier.parts,
                    span=qualifier.span,
                    candidates=tuple(
                        Candidate(relation=place[found.relation], level=found.level, is_shadowed=found.is_shadowed)
                        for found in qualifier.candidates
                    ),
                )
                for _, qualifier in sorted(self._qualifiers.items())
            ),
        )

    def query(self, node: exp.Expr, place: _Place) -> None:
        """Walks a query at `place`, which holds the surrounding scope."""
        pending = [(node, place)]
        while pending:
            node, place = pending.pop()
            inner = _Place(self._definitions(node, place), place.scope)
            match node:
                case exp.Select():
                    self._select(node, inner)
                case exp.SetOperation():
                    # The left side is nested once per operand, so it must not be walked by recursion.
                    pending.append((node.this, inner))
                    self.query(node.expression, inner)
                case exp.Subquery():
                    pending.append((node.this, inner))
                case exp.Values():
                    pass
                case _:  # a sqlglot tree
                    raise UnsupportedClause(f"{node.key.upper()} as a query", "Write SELECT, VALUES or TABLE.")
            if not isinstance(node, exp.Select):
                for child in _children(node, apart=_OPERANDS):
                    self._expression(child, inner)

    def _definitions(self, node: exp.Expr, place: _Place) -> frozenset[str]:
        """Walks the WITH clause of `node`, if it has one; returns the CTEs that are visible after it."""
        ctes = place.ctes
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        for cte in clause.expressions:
            name = frozenset({cte.alias.lower()})
            self.query(cte.this, _Place(ctes | name if clause.args.get("recursive") else ctes, place.scope))
            ctes |= name
        return ctes

    def _select(self, node: exp.Select, place: _Place) -> None:
        called = (each.expression if isinstance(each, exp.Dot) else each for each in node.expressions)
        self.columns |= {each.meta.get(CALL_AT, -1) for each in called if isinstance(each, exp.Anonymous)}
        scope = _Scope(outer=place.scope)
        inside = _Place(place.ctes, scope)
        later: list[exp.Expr] = []
        if node.args.get("from_"):
            self._source(node.args["from_"].this, inside, later)
        self._walk_joins(node, inside, later)
        scope.sources += [_Source(alias.name.lower()) for alias in node.args.get(PIPE_ALIASES) or ()]
        for expression in later:
            self._expression(expression, inside)
        for child in _children(node, apart=_SOURCES):
            self._expression(child, inside)
        if node.args.get("hint"):
            self._hint(node.args["hint"], scope)

    def _walk_joins(self, node: exp.Expr, inside: _Place, later: list[exp.Expr]) -> None:
        """Adds the sources attached to `node`: joins and lateral views. Expressions over sources are deferred to
        `later`.
        """
        for join in node.args.get("joins") or ():
            self._source(join.this, inside, later)
            later.extend(_children(join, apart=frozenset({"this"})))
        for lateral in node.args.get("laterals") or ():
            self._source(lateral, inside, later)

    def _source(self, node: exp.Expr, inside: _Place, later: list[exp.Expr]) -> None:
        """Adds an item in FROM to the scope of `inside`."""
        assert inside.scope is not None
        sources = inside.scope.sources
        # A derived table does not see its siblings in FROM, unless it is LATERAL.
        beside = _Place(inside.ctes, inside.scope.outer)
        match node:
            case exp.Table(this=exp.Identifier() | exp.Dot()):
                sources.append(self._table(node, inside.ctes))
            case exp.Table() if is_change_feed(node):
                self._relations.append(read_change_feed(node, self._text))
                sources.append(_Source(node.alias.lower()))
            case exp.Table() if is_history(node):
                self._relations.append(read_history(node))
                sources.append(_Source(node.alias.lower()))
            case exp.Table() if is_file_call(node):
                self._relations.append(read_file_call(node))
                sources.append(_Source(node.alias.lower()))
            case exp.Table(this=exp.Func() | exp.Values()) | exp.Values() | exp.Unnest():
                sources.append(self._function_source(node))
                later.extend(_children(node, apart=frozenset({"alias", "joins", "laterals", "pivots"})))
            case exp.Subquery(this=exp.Table() | exp.Subquery() as wrapped) if _is_relation(wrapped):
                self._walk_parenthesized(node, wrapped, inside, later)
            case exp.Subquery():
                self.query(node, beside)
                sources.append(_Source(node.alias.lower()))
            case exp.Lateral(this=exp.Subquery() as subquery):
                self.query(subquery, inside)
                sources.append(_Source(node.alias.lower()))
            case exp.Lateral():
                later.append(node.this)
                sources.append(_Source(node.alias.lower()) if node.args.get("view") else self._function_source(node))
            case _:  # a sqlglot tree
                raise UnsupportedClause(f"{node.key.upper()} in FROM", "Name a table, a subquery or a function.")
        for pivot in node.args.get("pivots") or ():
            later.append(pivot)
            sources.append(_Source(pivot.alias.lower()))
        self._walk_joins(node, inside, later)

    def _walk_parenthesized(self, node: exp.Subquery, wrapped: exp.Expr, inside: _Place, later: list[exp.Expr]) -> None:
        """Walks a relation in parentheses: its sources are visible outside, unless an alias hides them."""
        if not node.alias:
            self._source(wrapped, inside, later)
            return
        assert inside.scope is not None
        hidden = _Place(inside.ctes, _Scope(outer=inside.scope.outer))
        expressions: list[exp.Expr] = []
        self._source(wrapped, hidden, expressions)
        for expression in expressions:
            self._expression(expression, hidden)
        inside.scope.sources.append(_Source(node.alias.lower()))

    def _function_source(self, node: exp.Expr) -> _Source:
        """Returns the source for a function in FROM; a catalog function without an alias is referred to by its name."""
        function = node.this.expression if isinstance(node.this, exp.Dot) else node.this
        if not isinstance(function, exp.Anonymous):
            return _Source(node.alias.lower())
        self.table_calls[function.meta.get(CALL_AT, -1)] = bool(node.alias)
        return _Source((node.alias or function.name).lower())

    def _table(self, node: exp.Table, ctes: frozenset[str]) -> _Source:
        """Returns the source for a name in FROM: a visible CTE, or a table."""
        parts, _ = table_name(node)
        # Only a name without a schema can mean a CTE.
        if len(parts) == 1 and parts[0].lower() in ctes:
            if has_time_travel(node):
                raise TimeTravelNotPossible(parts[0])
            return _Source((node.alias or parts[0]).lower())
        relation = read_relation(node, self._text)
        self._relations.append(relation)
        if relation.alias is not None:
            return _Source(relation.alias.lower())
        return _Source(relation.name_parts[-1].lower(), len(self._relations) - 1)

    def _expression(self, root: exp.Expr, place: _Place) -> None:
        """Walks everything below `root`, outside FROM."""
        stack = [root]
        while stack:
            node = stack.pop()
            match node:
                case exp.Column():
                    self._column(node, place.scope)
                case exp.Query():
                    self.query(node, place)
                    continue
                case exp.Table():
                    raise UnsupportedClause("A table in an expression", "Put it in FROM.")
                case exp.Anonymous():
                    ensure_function(node)
                    if node.name.lower() not in CALLABLE_FUNCTIONS or isinstance(node.parent, exp.Dot):
                        self.calls.append(node.meta.get(CALL_AT, -1))
                case _:  # a sqlglot tree
                    pass
            stack.extend(node.iter_expressions())

    def _column(self, node: exp.Column, scope: _Scope | None) -> None:
        parts = [part for part in node.parts if isinstance(part, exp.Identifier) and "start" in part.meta]
        qualifier = parts if isinstance(node.this, exp.Star) else parts[:-1]
        for count in range(min(len(qualifier), _QUALIFIER_PARTS_MAX), 0, -1):
            names = tuple(part.this for part in qualifier[:count])
            span = Span(qualifier[0].meta["start"], qualifier[count - 1].meta["end"] + 1)
            if self._qualifier(names, span, scope):
                return

    def _hint(self, node: exp.Expr, scope: _Scope) -> None:
        """Reads a hint's names, which refer only to the sources of their own query."""
        for name in hint_names(self._text, node.meta[SPAN]):
            self._hint_name(name, _Scope(outer=None, sources=scope.sources))

    def _hint_name(self, name: HintName, scope: _Scope) -> None:
        for count in range(min(len(name.parts), _QUALIFIER_PARTS_MAX), 0, -1):
            if self._qualifier(name.parts[:count], Span(name.spans[0].start, name.spans[count - 1].end), scope):
                return

    def _qualifier(self, parts: tuple[str, ...], span: Span, scope: _Scope | None) -> bool:
        """Records the candidates for `parts`; returns True if a visible source certainly has this name."""
        folded = tuple(part.lower() for part in parts)
        candidates: list[Candidate] = []
        is_found = is_shadowed = False
        level = 0
        while scope is not None and not is_found:
            named = [source for source in scope.sources if source.label == folded[-1]]
            if len(parts) == 1 and any(source.relation is None for source in named):
                return True  # an explicit alias always wins
            for source in named:
                if source.relation is None:
                    continue
                written = tuple(part.lower() for part in self._relations[source.relation].name_parts)
                if _is_end(folded, written) or _is_end(written, folded):
                    shadowed = is_shadowed or len(named) > 1
                    candidates.append(Candidate(relation=source.relation, level=level, is_shadowed=shadowed))
                    # A qualifier longer than the written name may still be a column with
                    # fields, so the outer scopes are searched too.
                    is_found |= len(folded) <= len(written)
            is_shadowed |= bool(named)
            level, scope = level + 1, scope.outer
        if candidates:
            self._qualifiers.setdefault(span.start, Qualifier(parts=parts, span=span, candidates=tuple(candidates)))
        return is_found


def _is_end(parts: tuple[str, ...], of: tuple[str, ...]) -> bool:
    return of[-len(parts) :] == parts


def _children(node: exp.Expr, *, apart: frozenset[str]) -> Iterator[exp.Expr]:
    """Yields the direct children of `node`, except in the arguments `apart`."""
    for key, value in node.args.items():
        if key in apart:
            continue
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, exp.Expr):
                yield child


def _is_relation(node: exp.Expr) -> bool:
    """Returns whether the parentheses contain a relation (a table, a join), not a query."""
    while isinstance(node, exp.Subquery) and not node.args.get("joins"):
        node = node.this
    return isinstance(node, (exp.Table, exp.Subquery))


_OPENING, _CLOSING = "/*+", "*/"
_NAMES_COLUMNS = frozenset({"REPARTITION", "REPARTITION_BY_RANGE", "REBALANCE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HintName:
    """A relation name in a hint: its parts without quotes, and their spans in the statement's text."""

    parts: tuple[str, ...]
    spans: tuple[Span, ...]


def hint_names(text: str, span: tuple[int, int]) -> Iterator[HintName]:
    """Yields the relation names in the hint at `span` of `text`, in order."""
    start = span[0] + len(_OPENING)
    try:
        tokens = tokenize(text[start : span[1] - len(_CLOSING)])
    except TokenError:
        return
    hint = ""
    chain: list[Token] = []
    for index, token in enumerate(tokens):
        follower = tokens[index + 1].token_type if index + 1 < len(tokens) else None
        if follower == TokenType.L_PAREN:
            hint = token.text.upper()
        elif token.token_type not in (TokenType.DOT, TokenType.COMMA, TokenType.L_PAREN, TokenType.R_PAREN):
            chain.append(token)
            if follower != TokenType.DOT:
                yield from _name(chain[:-1] if hint in _NAMES_COLUMNS else chain, start)
                chain = []


def _name(chain: list[Token], offset: int) -> Iterator[HintName]:
    if chain and all(token.token_type != TokenType.NUMBER for token in chain):
        yield HintName(
            parts=tuple(token.text for token in chain),
            spans=tuple(Span(offset + token.start, offset + token.end + 1) for token in chain),
        )


def is_history(node: exp.Table) -> bool:
    """Returns True for the relation `(DESCRIBE HISTORY t)`, a call with its limit in `meta`."""
    return isinstance(node.this, exp.Anonymous) and HISTORY_LIMIT in node.this.meta


def read_history(node: exp.Table) -> Relation:
    """Returns the relation for a history. Rejects the names of files."""
    call = node.this
    (named,) = call.expressions
    parts = ("delta", named.name) if isinstance(named, exp.Literal) else table_name(named)[0]
    ensure_not_files(parts)
    limit = call.meta[HISTORY_LIMIT]
    return Relation(
        name_parts=parts,
        span=Span(*call.meta[SPAN]),
        alias=node.alias or None,
        history=HistoryOf(limit=None if limit is None else int(limit)),
    )
