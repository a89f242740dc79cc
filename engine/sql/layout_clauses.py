"""Clauses of a statement and their layout; see `layout.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from engine.sql.layout import INDENT, Group, Item, Kind, Page, Token, flat_text, group_tokens

# Characters of a subquery in parentheses that may be in one line.
_INLINE_QUERY_MAX = 60
_QUERY_WORDS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
_JOIN_WORDS = frozenset("NATURAL INNER CROSS LEFT RIGHT FULL OUTER SEMI ANTI ASOF LATERAL JOIN".split())
_SET_OPERATORS = frozenset({"UNION", "INTERSECT", "EXCEPT", "MINUS"})
_BY_WORDS = frozenset({"GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"})
_ALONE = frozenset({"SELECT", "FROM", "WHERE", "HAVING", "QUALIFY", "LIMIT", "OFFSET", "WINDOW", "VALUES", "WITH"})
_CONDITIONS = frozenset({"WHERE", "HAVING", "QUALIFY", "ON"})
_MERGE_WORDS = frozenset("BY DELETE INSERT MATCHED SET SOURCE TARGET UPDATE".split())
_TABLE_CLAUSES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "USING": ("USING",),
        "PARTITIONED": ("PARTITIONED", "BY"),
        "TBLPROPERTIES": ("TBLPROPERTIES",),
        "OPTIONS": ("OPTIONS",),
        "LOCATION": ("LOCATION",),
        "COMMENT": ("COMMENT",),
    }
)
# Words that are written in capital letters wherever they are no name.
_KEYWORDS = frozenset(
    "AND AS BETWEEN BY CASE DISTINCT ELSE EXISTS FROM GROUP HAVING IN INTO IS JOIN LIKE NOT NULL ON OR ORDER OVER "
    "PARTITION SELECT THEN UNION WHEN WHERE WITH".split()
)
# These are names unless the word after them is one of theirs.
_KEYWORDS_BEFORE = {"PARTITION": ("BY",), "ORDER": ("BY",), "GROUP": ("BY",), "OVER": ("(",)}
_STATEMENT_WORDS = frozenset(
    "ALTER ANALYZE BEGIN CALL CASE CREATE DECLARE DELETE DESCRIBE DO DROP ELSE ELSEIF END EXPLAIN EXTERNAL FOR "
    "FUNCTION GRANT IF INSERT INTO ITERATE LEAVE LOOP MERGE OPTIMIZE OR OVERWRITE REFRESH REPEAT REPLACE RETURN "
    "REVOKE SCHEMA SCHEMAS SET SHOW TABLE TABLES TEMPORARY TRUNCATE UNTIL UPDATE USE VACUUM VIEW VIEWS WHILE".split()
)


@dataclass(slots=True)
class Clause:
    """A clause's first words, and what follows."""

    head: list[Token] = field(default_factory=list)
    body: list[Item] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Returns the first words in upper case."""
        return " ".join(token.word for token in self.head if not token.is_comment)


def write_statement(page: Page, tokens: Sequence[Token], indent: int) -> None:
    """Writes one statement without its semicolon."""
    _capitalize(tokens)
    items = group_tokens(tokens)
    _capitalize_orders(items)
    words = [item.word for item in items if isinstance(item, Token) and not item.is_comment]
    first = words[0] if words else "("
    has_clauses = first in _QUERY_WORDS or first in ("INSERT", "MERGE", "UPDATE", "DELETE") or "SELECT" in words
    flat = flat_text(items)
    page.break_line(indent)
    if not has_clauses and first != "(" and flat is not None and len(flat) <= page.space_left:
        _write_flat(page, items)
    else:
        _write_clauses(page, items, indent, first)


def _write_clauses(page: Page, items: Sequence[Item], indent: int, statement: str) -> None:
    for clause in _clauses(items, statement):
        page.break_line(indent)
        for token in clause.head:
            token.text = token.text if token.is_comment else token.text.upper()
            page.add(token)
        if statement == "MERGE" and clause.name == "WHEN":
            _capitalize_words(clause.body, _MERGE_WORDS)
        _write_body(page, clause, indent)


def _write_body(page: Page, clause: Clause, indent: int) -> None:
    flat, name = flat_text(clause.body), clause.name
    if name == "WITH" or name == "WITH RECURSIVE":
        for place, part in enumerate(_split(clause.body, (",",))):
            if place:
                page.break_line(indent)
            _write_items(page, part, breaks_queries=True)
    elif (
        flat is not None and len(flat) + 1 <= page.space_left and "\n" not in flat and not _has_long_query(clause.body)
    ):
        _write_flat(page, clause.body)
    elif name in _CONDITIONS:
        _write_condition(page, clause.body, indent)
    elif name.endswith("JOIN") or name.startswith("LATERAL"):
        relation, condition = _join_parts(clause.body)
        _write_items(page, relation)
        if condition:
            page.break_line(indent + INDENT)
            _write_condition(page, condition, indent + INDENT)
    elif clause.head and len(parts := list(_split(clause.body, (",",)))) > 1:
        for part in parts:
            page.break_line(indent + INDENT)
            _write_items(page, part)
    else:
        _write_items(page, clause.body)


def _write_condition(page: Page, items: Sequence[Item], indent: int) -> None:
    """Writes a condition with each AND and OR at the beginning of a line."""
    is_range = False
    for place, item in enumerate(items):
        word = item.word if isinstance(item, Token) else ""
        if word == "BETWEEN":
            is_range = True
        elif word == "OR" or (word == "AND" and not is_range):
            if place:
                page.break_line(indent + INDENT)
        elif word == "AND":
            is_range = False
        _write_items(page, [item])


def _write_items(page: Page, items: Sequence[Item], *, breaks_queries: bool = False) -> None:
    for item in items:
        if isinstance(item, Token):
            page.add(item)
            continue
        flat = flat_text([item])
        is_query = _is_query(item)
        fits = flat is not None and "\n" not in flat and len(flat) <= page.space_left
        if fits and not (is_query and (breaks_queries or len(flat or "") > _INLINE_QUERY_MAX)):
            _write_flat(page, [item])
        else:
            _write_group(page, item, is_query=is_query)


def _write_group(page: Page, group: Group, *, is_query: bool) -> None:
    """Writes a group with its content on lines of its own."""
    indent = page.indent
    page.add(group.open)
    if group.is_case:
        for part in _case_parts(group.items):
            if isinstance(part[0], Token) and part[0].word in ("WHEN", "ELSE"):
                page.break_line(indent + INDENT)
            _write_items(page, part)
    elif is_query:
        page.break_line(indent + INDENT)
        _write_clauses(page, group.items, indent + INDENT, _first_word(group.items))
    else:
        for part in _split(group.items, (",",)):
            page.break_line(indent + INDENT)
            _write_condition(page, part, indent + INDENT)
    page.break_line(indent)
    if group.close is not None:
        page.add(group.close)


def _write_flat(page: Page, items: Sequence[Item]) -> None:
    for item in items:
        if isinstance(item, Token):
            page.add(item)
        else:
            page.add(item.open)
            _write_flat(page, item.items)
            if item.close is not None:
                page.add(item.close)


def _clauses(items: Sequence[Item], statement: str) -> Iterator[Clause]:
    clause, place, before = Clause(), 0, ""
    while place < len(items):
        count = _length_of_clause_start(items, place, before, statement)
        if count:
            if clause.head or clause.body:
                yield clause
            clause = Clause(head=[item for item in items[place : place + count] if isinstance(item, Token)])
            place += count
            before = clause.head[-1].word
            if place < len(items) and _is_hint(items[place]):
                clause.head += [item for item in items[place : place + 1] if isinstance(item, Token)]
                place += 1
            continue
        item = items[place]
        clause.body.append(item)
        before = _last_word(item, before)
        place += 1
    yield clause


def _is_hint(item: Item) -> bool:
    return isinstance(item, Token) and item.text.startswith("/*+")


def _last_word(item: Item, before: str) -> str:
    if isinstance(item, Group):
        return ")"
    return before if item.is_comment else item.word


def _length_of_clause_start(items: Sequence[Item], place: int, before: str, statement: str) -> int:
    """Returns the number of words with which a clause begins here; 0 if none does."""
    item = items[place]
    if isinstance(item, Group) or before == ".":
        return 0
    words = [each.word if isinstance(each, Token) else "(" for each in items[place : place + 5]] + [""] * 5
    word = words[0]
    if word == "|>":
        return 1 + (_length_of_clause_start(items, place + 1, "", "") if place + 1 < len(items) else 0)
    if word == "SELECT":
        return 2 if words[1] in ("DISTINCT", "ALL") else 1
    if word == "WITH" and before in ("", "AS", "|>"):
        return 2 if words[1] == "RECURSIVE" else 1
    if before == "AS":
        return 0
    if word in _BY_WORDS:
        return 2 if words[1] == "BY" else 0
    if word in _SET_OPERATORS:
        is_operator = before not in ("*", "") and (words[1] in (*_QUERY_WORDS, "ALL", "DISTINCT") or words[1] == "(")
        return 0 if not is_operator else 2 if words[1] in ("ALL", "DISTINCT") else 1
    if word in _JOIN_WORDS:
        return _join_length(words)
    if statement == "CREATE" and word in _TABLE_CLAUSES:
        return len(_TABLE_CLAUSES[word]) if words[: len(_TABLE_CLAUSES[word])] == list(_TABLE_CLAUSES[word]) else 0
    if statement == "MERGE":
        return int(word in ("USING", "ON", "WHEN"))
    if word == "SET":
        return int(statement == "UPDATE")
    if word == "FROM":
        return int(before not in ("DELETE", "DISTINCT"))
    if word == "WITH" or (word == "VALUES" and statement not in ("INSERT", "VALUES", "")):
        return 0
    return int(word in _ALONE)


def _join_length(words: Sequence[str]) -> int:
    if words[:2] == ["LATERAL", "VIEW"]:
        return 3 if words[2] == "OUTER" else 2
    for place, word in enumerate(words):
        if word == "JOIN":
            return place + 1
        if word not in _JOIN_WORDS:
            return 0
    return 0


def _join_parts(items: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    """Splits a join at its ON."""
    for place, item in enumerate(items):
        if isinstance(item, Token) and item.word == "ON":
            return items[:place], items[place:]
    return items, ()


def _split(items: Sequence[Item], separators: tuple[str, ...]) -> Iterator[list[Item]]:
    """Yields the parts with the separators, and comments on their lines, at their ends."""
    part: list[Item] = []
    for item in items:
        is_trailing = isinstance(item, Token) and item.is_comment and not item.breaks_before
        if part and isinstance(part[-1], Token) and part[-1].word in separators and not is_trailing:
            yield part
            part = []
        elif len(part) > 1 and _ends_part(part, separators) and not is_trailing:
            yield part
            part = []
        part.append(item)
    if part:
        yield part


def _ends_part(part: Sequence[Item], separators: tuple[str, ...]) -> bool:
    """Returns True if only comments follow the part's separator."""
    for item in reversed(part):
        if isinstance(item, Group):
            return False
        if not item.is_comment:
            return item.word in separators
    return False


def _case_parts(items: Sequence[Item]) -> Iterator[list[Item]]:
    part: list[Item] = []
    for item in items:
        if part and isinstance(item, Token) and item.word in ("WHEN", "ELSE"):
            yield part
            part = []
        part.append(item)
    if part:
        yield part


def _is_query(group: Group) -> bool:
    return not group.is_case and _first_word(group.items) in ("SELECT", "WITH", "FROM")


def _first_word(items: Sequence[Item]) -> str:
    for item in items:
        if isinstance(item, Group):
            return _first_word(item.items) if item.open.word == "(" else ""
        if not item.is_comment:
            return item.word
    return ""


def _has_long_query(items: Sequence[Item]) -> bool:
    groups = [item for item in items if isinstance(item, Group)]
    return any(
        (_is_query(group) and len(flat_text([group]) or "") > _INLINE_QUERY_MAX) or _has_long_query(group.items)
        for group in groups
    )


def _capitalize(tokens: Sequence[Token]) -> None:
    """Writes keywords in capital letters where they cannot be names."""
    words = [token for token in tokens if not token.is_comment]
    is_leading, cases = True, 0
    for place, token in enumerate(words):
        before = words[place - 1].word if place else ""
        after = words[place + 1].word if place + 1 < len(words) else ""
        is_leading = is_leading and token.word in _STATEMENT_WORDS
        may_be_name = before == "." or after == "." or (before == "AS" and token.word not in ("SELECT", "WITH"))
        if token.kind is not Kind.WORD or may_be_name:
            continue
        is_end = token.word == "END" and cases > 0
        cases += (token.word == "CASE") - is_end
        is_keyword = token.word in _KEYWORDS and after in _KEYWORDS_BEFORE.get(token.word, (after,))
        if token.word == "BY":
            is_keyword = before in (*_BY_WORDS, "PARTITION", "PARTITIONED", "CLUSTERED")
        if is_leading or is_end or is_keyword or _is_clause_word(token.word, before, after):
            token.text = token.text.upper()


def _is_clause_word(word: str, before: str, after: str) -> bool:
    if word in ("LEFT", "RIGHT", "FULL", "INNER", "CROSS", "OUTER", "SEMI", "ANTI", "NATURAL"):
        return after in _JOIN_WORDS
    if word == "ALL":
        return before in _SET_OPERATORS
    if word in _SET_OPERATORS:
        return after in (*_QUERY_WORDS, "ALL", "DISTINCT", "(")
    return word in ("LIMIT", "VALUES") and before not in ("", ",", "(", "SELECT", "BY") and after not in (",", ")", "")


def _capitalize_words(items: Iterable[Item], words: Collection[str]) -> None:
    before = ""
    for item in items:
        if isinstance(item, Token) and item.word in words and before not in (".", "=", ","):
            item.text = item.text.upper()
        before = item.word if isinstance(item, Token) else ")"


def _capitalize_orders(items: Iterable[Item]) -> None:
    """Writes ASC and DESC after ORDER BY in capital letters; elsewhere they may be aliases."""
    before, is_order = "", False
    for item in items:
        if isinstance(item, Group):
            _capitalize_orders(item.items)
            before = ")"
            continue
        if item.word == "BY":
            is_order = before in ("ORDER", "SORT")
        elif item.word in _ALONE:
            is_order = False
        elif is_order and item.word in ("ASC", "DESC") and before not in (",", "BY", "."):
            item.text = item.text.upper()
        before = item.word if not item.is_comment else before
