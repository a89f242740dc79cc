"""DELETE, UPDATE and MERGE: their parts, and the queries composed from them."""

from __future__ import annotations

import pytest

from catalog.conditions import StatementSyntaxError, UnsupportedClause
from catalog.errors import SqlError
from engine.sql.query.composed import Names
from engine.sql.query.values import Assignment, TargetQuery
from engine.statements.explain.statement import ExplainWrite
from engine.statements.merge.statement import ClauseKind, DeleteAction, Merge, SetAction, StarAction
from engine.statements.parse import parse
from engine.statements.row_changes.statement import Delete, Update


def shown(query: TargetQuery) -> str:
    """Returns the text, with the table, the source and the list bracketed."""
    deletes = [(query.items, "[items]")]
    if query.target is not None:
        deletes.append((query.query.relations[query.target].span, "[table]"))
    if query.source is not None:
        deletes.append((query.source, "[source]"))
    text = query.query.text
    for span, mark in sorted(deletes, key=lambda each: each[0].start, reverse=True):
        text = text[: span.start] + mark + text[span.end :]
    return text.replace("\n)", ")")


DELETES = [
    ("delete from t", None, None, "SELECT [items] FROM [table]"),
    ("delete from c.s.t where a = 1 -- x", None, "a = 1", "SELECT [items] FROM [table] WHERE (a = 1)"),
    ("delete from t as `x y` where x", "x y", "x", "SELECT [items] FROM [table] AS `x y` WHERE (x)"),
    ("delete from delta.`/p` a", "a", None, "SELECT [items] FROM [table] AS `a`"),
    ("delete from t `where`", "where", None, "SELECT [items] FROM [table] AS `where`"),
    ("delete from t where ? or ?", None, ":__marker_0 or :__marker_1",
     "SELECT [items] FROM [table] WHERE (:__marker_0 or :__marker_1)"),
    ("with c(x) as (select 1 from t) delete from t where a in (select x from c)", None, "a in (select x from c)",
     "with c(x) as (select 1 from t) \nSELECT [items] FROM [table] WHERE (a in (select x from c))"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "alias", "condition", "rows"), DELETES)
def test_delete(text: str, alias: str | None, condition: str | None, rows: str) -> None:
    found = parse(text)
    assert isinstance(found, Delete)
    assert (found.alias, found.condition, shown(found.rows)) == (alias, condition, rows)


def test_update() -> None:
    found = parse(
        "UPDATE s.t x SET a = ?, `b c`.d = (SELECT max(x) FROM o), x.e = default, f = trim(both from 'a') -- last\n"
        "WHERE g > ? AND EXISTS (SELECT 1 FROM t)"
    )
    assert isinstance(found, Update) and found.table_parts == ("s", "t") and found.alias == "x"
    assert found.assignments == (
        Assignment(path=("a",), text=":__marker_0"),
        Assignment(path=("b c", "d"), text="(SELECT max(x) FROM o)"),
        Assignment(path=("x", "e"), text="DEFAULT", is_default=True),
        Assignment(path=("f",), text="trim(both from 'a')"),
    )
    assert (
        shown(found.rows) == "SELECT [items] FROM [table] AS `x` WHERE (g > :__marker_1 AND EXISTS (SELECT 1 FROM t))"
    )
    values = "(:__marker_0), ((SELECT max(x) FROM o)), NULL, (trim(both from 'a'))"
    assert shown(found.values) == f"SELECT {values}[items] FROM [table] AS `x`"


MERGE = """
WITH c AS (SELECT 1 AS k)
MERGE WITH SCHEMA EVOLUTION INTO a.t x USING c y ON x.k = y.k
WHEN MATCHED AND y.v > ? THEN UPDATE SET *
WHEN MATCHED THEN UPDATE SET v.w = y.k, x.z = DEFAULT
WHEN NOT MATCHED BY TARGET AND y.k = ? THEN INSERT *
WHEN NOT MATCHED THEN INSERT (k, v) VALUES (y.k, DEFAULT)
WHEN NOT MATCHED BY SOURCE AND x.k IN (SELECT 2) THEN DELETE
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET k = 0"""


def test_merge() -> None:
    found = parse(MERGE)
    assert isinstance(found, Merge) and found.schema_evolution and found.source_alias == "y" and not found.is_table
    assert [(clause.kind, type(clause.action), clause.condition) for clause in found.clauses] == [
        (ClauseKind.MATCHED, StarAction, "y.v > :__marker_0"),
        (ClauseKind.MATCHED, SetAction, None),
        (ClauseKind.NOT_MATCHED, StarAction, "y.k = :__marker_1"),
        (ClauseKind.NOT_MATCHED, SetAction, None),
        (ClauseKind.NOT_MATCHED_BY_SOURCE, DeleteAction, "x.k IN (SELECT 2)"),
        (ClauseKind.NOT_MATCHED_BY_SOURCE, SetAction, None),
    ]
    head, join = "WITH c AS (SELECT 1 AS k)\n\nSELECT CASE", " FROM [table] AS `x` JOIN [source] AS `y` ON (x.k = y.k)"
    matched = f"{head} WHEN (y.v > :__marker_0) THEN 1 WHEN true THEN 2 WHEN false THEN 0 END"
    by_source = f"{head} WHEN (x.k IN (SELECT 2)) THEN 5 WHEN true THEN 6 WHEN false THEN 0 END"
    unmatched = f"{head} WHEN (y.k = :__marker_1) THEN 3 WHEN true THEN 4 WHEN false THEN 0 END"
    assert found.unmatched is not None and found.source.text == "WITH c AS (SELECT 1 AS k)\n\nSELECT * FROM c y"
    assert [shown(query) for query in found.target_queries] == [
        f"{matched}[items]{join}",
        f"{by_source}[items]{join.replace('JOIN', 'LEFT ANTI JOIN')}",
        f"{matched}[items]{join}",
        f"{matched}, (y.k), NULL[items]{join}",
        f"{unmatched}[items] FROM [source] AS `y`",
        f"{unmatched}, (y.k), NULL[items] FROM [source] AS `y`",
        f"{by_source}, (0)[items] FROM [table] AS `x`",
    ]  # fmt: skip


SOURCES = [
    ("b", "b", True),
    ("a.b@v3", "b", True),
    ("a.b VERSION AS OF 3 AS s", "s", True),
    ("(SELECT * FROM b) s (k, v)", "s", False),
    ("(VALUES (1, 2)) AS s(k, v)", "s", False),
    ("(SELECT 1 AS k)", "__source_0", False),
    ("table_changes('b', 1) s", "s", False),
    ("range(3) AS s", "s", False),
]


@pytest.mark.parametrize(("source", "alias", "is_table"), SOURCES)
def test_sources(source: str, alias: str, is_table: bool) -> None:
    found = parse(f"MERGE INTO t USING {source} ON t.k = s.k WHEN MATCHED THEN DELETE")
    assert isinstance(found, Merge)
    assert (found.source_alias, found.is_table, found.source.text) == (alias, is_table, f"SELECT * FROM {source}")


def test_a_name_of_the_with_clause_is_no_table() -> None:
    found = parse("WITH o AS (SELECT k FROM b) MERGE INTO t USING o ON t.k = o.k WHEN MATCHED THEN DELETE")
    assert isinstance(found, Merge) and not found.is_table


CASES = [
    ("UPDATE SET v = CASE WHEN s.a THEN (CASE s.b WHEN 1 THEN 2 END) + s.end ELSE 0 END, w = s.case", None,
     ["CASE WHEN s.a THEN (CASE s.b WHEN 1 THEN 2 END) + s.end ELSE 0 END", "s.case"]),
    ("UPDATE SET v = CASE WHEN s.a THEN CASE WHEN s.b THEN 1 END END + 1", None,
     ["CASE WHEN s.a THEN CASE WHEN s.b THEN 1 END END + 1"]),
    ("UPDATE SET v = end", "CASE WHEN s.a THEN s.case ELSE s.b END", ["end"]),
]  # fmt: skip


@pytest.mark.parametrize(("action", "condition", "values"), CASES)
def test_the_words_of_a_case_end_nothing(action: str, condition: str | None, values: list[str]) -> None:
    when = "" if condition is None else f" AND {condition}"
    found = parse(
        f"MERGE INTO t USING s ON CASE WHEN t.k IS NULL THEN s.k IS NULL ELSE t.k = s.k END WHEN MATCHED{when} "
        f"THEN {action} WHEN NOT MATCHED THEN INSERT (v) VALUES (CASE WHEN s.a THEN 1 ELSE 2 END)"
    )
    assert isinstance(found, Merge) and found.condition.endswith("t.k = s.k END")
    (matched, unmatched) = found.clauses
    assert matched.condition == condition and isinstance(matched.action, SetAction)
    assert [each.text for each in matched.action.assignments] == values
    assert isinstance(unmatched.action, SetAction)
    assert unmatched.action.assignments[0].text == "CASE WHEN s.a THEN 1 ELSE 2 END"


WRONG = [
    ("update t", "SET is expected"),
    ("update t set a", "= is expected"),
    ("update t set a = ) where 1", "an expression is expected"),
    ("update t set a = 1, where 1", "= is expected"),
    ("delete from t where a = = 2", "line 1, column 25"),
    ("delete from t where a = 1, b", "the end of the statement is expected"),
    ("merge into t using a on 1 = 1", "WHEN is expected"),
    ("merge into t using a join b on 1 = 1 when matched then delete", "one source"),
    ("merge into t using a, b on 1 = 1 when matched then delete", "ON is expected"),
    ("merge into t using a on 1 = 1 when matched then insert *", "UPDATE SET is expected"),
    ("merge into t using a on 1 = 1 when not matched then delete", "INSERT is expected"),
    ("merge into t using a on 1 = 1 when not matched by source then update set *", "name is expected"),
    ("merge into t using a on 1 = 1 when not matched then insert (a, b) values (1)", "a value for the column b"),
    ("merge into t using a on 1 = 1 when not matched then insert (a) values (1, 2)", ") is expected"),
    ("merge into t using a on 1 = 1 when matched then delete, delete", "WHEN is expected"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_syntax_error_has_its_position(text: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text)
    assert caught.value.condition == "PARSE_SYNTAX_ERROR" and message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "insert into t values (1)",
        "delete from t where a = 1",
        "update t set a = 1",
        "with c as (select 1 as k) merge into t using c on t.k = c.k when matched then delete",
    ],
)
def test_explain_of_row_changes(text: str) -> None:
    found = parse(f"EXPLAIN FORMATTED {text} ;")
    assert isinstance(found, ExplainWrite) and found.inner == parse(text)
    with pytest.raises(StatementSyntaxError):
        parse(f"EXPLAIN {text} )")


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM t WHERE k IN (SELECT k FROM t)",
        "UPDATE t SET k = 1",
        "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING t ON t.k = t.k WHEN NOT MATCHED THEN INSERT *",
    ],
)
def test_common_table_expression_is_not_a_target(text: str) -> None:
    with pytest.raises(UnsupportedClause):
        parse(f"WITH t AS (SELECT 3 AS k) {text}")


def test_a_source_without_alias_keeps_its_name() -> None:
    """So that all its parts mean the table wherever they precede a column."""
    found = parse("MERGE INTO a.t USING b.t@v3 ON a.t.k = b.t.k WHEN NOT MATCHED THEN INSERT *")
    assert isinstance(found, Merge) and found.source_parts == ("b", "t") and found.is_of_one_name
    assert found.pairs.query.text.endswith("FROM `a`.`t` JOIN `b`.`t` ON (a.t.k = b.t.k\n)")
    assert (found.pairs.target, found.pairs.source_relation) == (0, 1)
    for other in ("a.t AS x USING b.t", "a.t USING b.t AS x", "a.t USING b.u"):
        renamed = parse(f"MERGE INTO {other} ON true WHEN MATCHED THEN DELETE")
        assert isinstance(renamed, Merge) and not renamed.is_of_one_name


def test_names_are_in_no_text() -> None:
    names = Names(["SELECT `__Scan_0`, a", "__place"])
    assert [names.new("scan"), names.new("scan"), names.new("place")] == ["___scan_0", "___scan_1", "__place_0"]
