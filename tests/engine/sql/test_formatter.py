"""Formatting of SQL: the layout, and that no token, comment or name changes."""

from __future__ import annotations

import pytest

from catalog.conditions import FormatNotPossible, StatementSyntaxError
from engine.sql.formatter import format_text
from engine.sql.layout import DEPTH_MAX, INDENT_MAX, WIDTH

LAYOUTS = {
    "select a,b from t": """\
SELECT a, b
FROM t
""",
    "with a as (select id,count(*) n from t group by id) select * from a left join b on a.id=b.id": """\
WITH a AS (
    SELECT id, count(*) n
    FROM t
    GROUP BY id
)
SELECT *
FROM a
LEFT JOIN b ON a.id = b.id
""",
    "select x from t where a between 1 and 2 and (b or c) order by x desc, y limit 3": """\
SELECT x
FROM t
WHERE a BETWEEN 1 AND 2 AND (b OR c)
ORDER BY x DESC, y
LIMIT 3
""",
    f"select {'a' * 60}, {'b' * 60} from t where {'c' * 60} = 1 and {'d' * 60} = 2": f"""\
SELECT
    {"a" * 60},
    {"b" * 60}
FROM t
WHERE {"c" * 60} = 1
    AND {"d" * 60} = 2
""",
    "merge into t using s on t.id=s.id when matched then update set a=s.a when not matched then insert *": """\
MERGE INTO t
USING s
ON t.id = s.id
WHEN MATCHED THEN UPDATE SET a = s.a
WHEN NOT MATCHED THEN INSERT *
""",
    "insert into t (a,b) values (1,-2),(:p,null);": """\
INSERT INTO t (a, b)
VALUES (1, -2), (:p, NULL);
""",
    "create table t(a int) using delta": """\
CREATE TABLE t(a int) using delta
""",
    "begin declare x int default 1; if x>1 then select 1; else select 2; end if; end": """\
BEGIN
    DECLARE x int default 1;
    IF x > 1 THEN
        SELECT 1;
    ELSE
        SELECT 2;
    END IF;
END
""",
    "from t |> where a>1 |> select b": """\
FROM t
|> WHERE a > 1
|> SELECT b
""",
    "select a from t union all select b from u": """\
SELECT a
FROM t
UNION ALL
SELECT b
FROM u
""",
    "select /*+ broadcast(t) */ (select max(x) from u) m from t -- end": """\
SELECT /*+ broadcast(t) */ (SELECT max(x) FROM u) m
FROM t -- end
""",
    "select 1; -- one\n-- two\nselect 2;\n-- the end": """\
SELECT 1; -- one

-- two
SELECT 2;

-- the end
""",
}


@pytest.mark.parametrize(("text", "formatted"), LAYOUTS.items())
def test_layout(text: str, formatted: str) -> None:
    assert format_text(text) == formatted
    assert format_text(formatted) == formatted


@pytest.mark.parametrize(
    "text",
    [
        "SELECT r'a\\b', 'it''s', x'1F', 'a' 'b', `q r`, \"d\"",
        "SELECT 1e-5, .5, 1.5BD, -1, - x, a - 1, a - -1, ~a, !b",
        "SELECT m['k'], s.a.b, arr[0], v:a.b, x::int, f(a => 1)",
        "SELECT cast(a AS array<struct<a:int,b:map<string,int>>>)",
        "SELECT :p, :p || ':q', ? FROM t@v3",
        "SELECT x -> x + 1, a <=> b, a >>> 1, a << 2, a % 2, a & b, a | b",
    ],
)
def test_spelling_of_expressions_stays(text: str) -> None:
    assert format_text(text).replace("\n", " ").strip() == text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT desc, asc, end, left, t.select, values, `select` FROM t",
        "SELECT a AS order, b AS from_x, c end FROM t",
        "SELECT left(a, 1), replace(b, 'x'), date, year, set FROM t",
    ],
)
def test_names_keep_their_case(text: str) -> None:
    assert format_text(text).replace("\n", " ").strip() == text


def test_keywords_are_in_capital_letters() -> None:
    text = "select distinct a from t join u on x where not a is null and b in (1) group by a having c order by a desc"
    keywords = "SELECT DISTINCT FROM JOIN ON WHERE NOT IS NULL AND IN GROUP BY HAVING ORDER BY DESC".split()
    assert [word for word in format_text(text).split() if word.isupper()] == keywords


def test_comments_stay_where_they_were() -> None:
    text = "select a, -- the a\n  /* b */ b\nfrom t\n-- only new\nwhere x -- last\n  and y"
    assert format_text(text) == (
        "SELECT\n    a, -- the a\n    /* b */\n    b\nFROM t\n-- only new\nWHERE x -- last\n    AND y\n"
    )


def test_lines_fit_the_width() -> None:
    calls = ", ".join(
        f"concat(column_{n}, {', '.join(f'column_{n}_{m}' for m in range(10))}) AS c{n}" for n in range(9)
    )
    lines = format_text(
        f"SELECT {calls} FROM t WHERE {' AND '.join(f'column_{n} = {n}' for n in range(40))}"
    ).splitlines()
    assert max(map(len, lines)) <= WIDTH and len(lines) > 100


def test_deep_nesting_is_bounded() -> None:
    depth = DEPTH_MAX - 1
    lines = format_text(f"SELECT {'f(' * depth}{', '.join(['aaaaaaaaaa'] * 20)}{')' * depth}").splitlines()
    assert max(len(line) - len(line.lstrip()) for line in lines) == INDENT_MAX
    with pytest.raises(FormatNotPossible):
        format_text(f"SELECT {'(' * (DEPTH_MAX + 1)}1{')' * (DEPTH_MAX + 1)}")


@pytest.mark.parametrize("text", ["SELECT 'a", "SELECT /* a", "SELECT `a"])
def test_open_quote_or_comment_is_a_syntax_error(text: str) -> None:
    with pytest.raises(StatementSyntaxError) as caught:
        format_text(f"SELECT 1;\n{text}")
    assert caught.value.position is not None and caught.value.position.line == 2


@pytest.mark.parametrize("text", ["", "  ", "-- only a comment", ";"])
def test_text_without_statements_keeps_its_comments(text: str) -> None:
    assert format_text(text).strip() == text.strip()
