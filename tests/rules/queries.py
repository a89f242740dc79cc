"""Random queries with a determined answer: the same rows whatever plan computes them, in any order.

So a LIMIT has a total order, or all rows are equal; windows have a total order; and there are no functions of time or
chance. Sums of floating point numbers depend on the order of rows, which a query reports.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from types import MappingProxyType

from tests.fuzz.filters import literal
from tests.rules.tables import DAYS, FACTS, FIRST_DAY, PARTS, REGIONS, WORDS


@dataclass(frozen=True, slots=True)
class Query:
    """A text. `is_inexact`: its floating point numbers depend on the order of rows."""

    text: str
    is_inexact: bool = False


def _day(random: Random) -> dt.date:
    return FIRST_DAY + dt.timedelta(days=random.randrange(-5, DAYS + 5))


# Column of `facts` -> a value that it may have.
_VALUES: Mapping[str, Callable[[Random], object]] = MappingProxyType(
    {
        "id": lambda random: random.randrange(-10, FACTS + 10),
        "part": lambda random: random.randrange(PARTS + 25),
        "day": _day,
        "at": lambda random: dt.datetime.combine(_day(random), dt.time(random.randrange(24))),
        "price": lambda random: Decimal(random.randrange(-(10**6), 10**8)) / 100,
        "wide": lambda random: Decimal(random.randrange(-(10**18), 10**18)) / 10**4,
        "quantity": lambda random: random.randrange(-2, 52),
        "ratio": lambda random: random.choice((0.0, 0.5, -1000.0, 1e5)),
        "word": lambda random: random.choice(WORDS),
        "region": lambda random: random.choice((*REGIONS, "nowhere")),
    }
)
_KEYS = ("part", "word", "region", "flag", "quantity", "day", "year(day)", "part % 7", "substring(note, 6, 1)")
_UNITS = ("month", "week", "quarter", "year", "MON", "yy", "day")
_NUMBERS = (
    *("price", "wide", "quantity", "part", "price * quantity", "price * (1 - price / 7)", "-price", "abs(price)"),
    *("price + 1.5", "coalesce(price, 0)", "if(flag, price, wide)", "cast(quantity AS DECIMAL(5,1)) * price"),
    *("CASE WHEN quantity > 25 THEN price WHEN flag THEN -price END", "price * price", "price - 0.005"),
)
_DOUBLES = ("ratio", "double(price)", "ratio * quantity")
_JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


def generate(seed: str, number: int) -> Query:
    """Returns the query with a number in the sequence of a seed."""
    random = Random(f"{seed}:{number}")
    return random.choice(_SHAPES)(random)


def condition(random: Random, prefix: str = "", depth: int = 2) -> str:
    """Returns a random condition on columns of `facts`."""
    if depth and random.random() < 0.5:
        parts = [condition(random, prefix, depth - 1) for _ in range(2)]
        return random.choice(("({} AND {})", "({} OR {})", "({} AND NOT {})")).format(*parts)
    column = random.choice(tuple(_VALUES))
    values = [literal(_VALUES[column](random)) for _ in range(3)]
    forms = [
        *("{c} = {v[0]}", "{c} > {v[0]}", "{c} <= {v[0]}", "{c} <> {v[0]}", "{c} <=> {v[0]}", "{c} IS NULL"),
        *("{c} IS NOT NULL", "{c} IN ({v[0]}, {v[1]}, {v[2]})", "{c} NOT IN ({v[0]}, {v[1]})"),
        *("{c} BETWEEN {v[0]} AND {v[1]}", "{c} IN ({v[0]}, NULL)"),
    ]
    if column == "word":
        forms += ["{c} LIKE 'a%'", "{c} LIKE '%a%'", "upper({c}) = 'AB'", "{c} RLIKE '^[a-m]'"]
    if column in ("id", "part") and random.random() < 0.1:
        listed = ", ".join(literal(_VALUES[column](random)) for _ in range(1000))
        return f"{prefix}{column} IN ({listed})"
    return random.choice(forms).format(c=f"{prefix}{column}", v=values)


def _where(random: Random, prefix: str = "") -> str:
    return f" WHERE {condition(random, prefix)}" if random.random() < 0.85 else ""


def _scan(random: Random) -> Query:
    columns = random.sample((*_VALUES, "flag", "note", "price * 2 AS twice", "length(note) AS n"), random.randint(1, 5))
    text = f"SELECT id, {', '.join(columns)} FROM facts WHERE id % {random.randint(1, 40)} = 0"
    text += f" AND {condition(random)}"
    return Query(f"{text} ORDER BY id LIMIT {random.randint(0, 300)}" if random.random() < 0.4 else text)


def _lookup(random: Random) -> Query:
    ids = ", ".join(str(random.randrange(FACTS)) for _ in range(random.choice((1, 1, 3, 10))))
    columns = random.choice(("*", "note AS n, id", "price, word, region", "id + 1, note"))
    more = f" AND {condition(random, depth=1)}" if random.random() < 0.5 else ""
    return Query(f"SELECT {columns} FROM facts WHERE id IN ({ids}){more}")


def _limit(random: Random) -> Query:
    return Query(f"SELECT 'x' FROM facts{_where(random)} LIMIT {random.choice((1, 10, 5000, 10**6))}")


def _aggregates(random: Random, prefix: str = "") -> tuple[str, bool]:
    """Returns a list of aggregates, and whether one of them is inexact."""
    found, is_inexact = [f"count(*) AS c{prefix[:1]}"], False
    for place in range(random.randint(1, 4)):
        number = random.choice(_NUMBERS)
        form = random.choice(
            (
                *("sum({})", "avg({})", "min({})", "max({})", "count({})", "count(DISTINCT {})", "sum(DISTINCT {})"),
                *("sum({}) FILTER (WHERE quantity > 10)", "sum({}) / count(*)", "D"),
            )
        )
        if form == "D":
            form, number, is_inexact = random.choice(("sum({})", "avg({})")), random.choice(_DOUBLES), True
        found.append(f"{form.format(number)} AS a{place}")
    return ", ".join(found), is_inexact


def _group(random: Random) -> Query:
    aggregates, is_inexact = _aggregates(random)
    keys = random.sample(_KEYS, random.randint(0, 2))
    if random.random() < 0.4:
        keys.append(f"date_trunc('{random.choice(_UNITS)}', day)")
    if not keys:
        return Query(f"SELECT {aggregates} FROM facts{_where(random)}", is_inexact)
    names = ", ".join(f"{key} AS k{place}" for place, key in enumerate(keys))
    by = ", ".join(keys)
    by = random.choice((by, by, by, f"CUBE ({by})", f"ROLLUP ({by})")) if len(keys) > 1 else by
    having = random.choice(("", "", " HAVING count(*) > 3"))
    return Query(f"SELECT {names}, {aggregates} FROM facts{_where(random)} GROUP BY {by}{having}", is_inexact)


def _part_filter(random: Random) -> str:
    forms = ("p.size = {}", "p.name = 'part {}'", "p.part < {}", "p.name LIKE '%{}'", "p.cost > {}00", "true")
    return random.choice(forms).format(random.randrange(10))


def _join(random: Random) -> Query:
    join = random.choice(_JOINS)
    text = f"FROM facts f {join} (SELECT * FROM parts p WHERE {_part_filter(random)}) p ON f.part = p.part"
    is_one_sided = "SEMI" in join or "ANTI" in join
    if random.random() < 0.4 and not is_one_sided:
        text += f" {random.choice(('JOIN', 'LEFT JOIN'))} days d ON d.day = f.day AND d.week < {random.randrange(60)}"
    text += f" WHERE {condition(random, 'f.', 1)}" if random.random() < 0.7 else ""
    if is_one_sided:
        return Query(f"SELECT count(*), sum(f.price), max(f.note) {text}")
    key = random.choice(("p.name", "p.size", "f.region", "p.part"))
    return Query(f"SELECT {key} AS k, count(*), sum(f.price * p.cost), min(f.note) {text} GROUP BY {key}")


def _joined_groups(random: Random) -> Query:
    join = random.choice(("JOIN", "LEFT JOIN"))
    groups = f"(SELECT part, sum(price) AS s, min(note) AS m FROM facts{_where(random)} GROUP BY part) g"
    return Query(
        f"SELECT p.name, g.s, g.m FROM parts p {join} {groups} ON p.part = g.part WHERE {_part_filter(random)}"
    )


def _subquery(random: Random) -> Query:
    filtered = _part_filter(random)
    inner = condition(random, "f.", 1)
    forms = (
        "SELECT p.part, (SELECT max(f.price) FROM facts f WHERE f.part = p.part AND {c}) FROM parts p WHERE {p}",
        "SELECT p.part FROM parts p WHERE {p} AND EXISTS (SELECT 1 FROM facts f WHERE f.part = p.part AND {c})",
        "SELECT p.part FROM parts p WHERE {p} AND p.part NOT IN (SELECT f.part FROM facts f WHERE {c})",
        "SELECT count(*), sum(price) FROM facts f WHERE {c} AND part IN (SELECT p.part FROM parts p WHERE {p})",
        "SELECT count(*) FROM facts f WHERE {c} AND price > (SELECT avg(cost) FROM parts p WHERE {p})",
        "SELECT p.part, l.id FROM parts p, LATERAL (SELECT f.id FROM facts f WHERE f.part = p.part + 1 AND {c}"
        " ORDER BY f.id LIMIT 2) l WHERE {p}",
    )
    return Query(random.choice(forms).format(c=inner, p=filtered))


def _set_operation(random: Random) -> Query:
    operation = random.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL"))
    sides = [f"SELECT part, word, quantity FROM facts{_where(random)}" for _ in range(2)]
    return Query(
        f"SELECT part, word, count(*), sum(quantity) FROM ({f' {operation} '.join(sides)}) GROUP BY part, word"
    )


def _window(random: Random) -> Query:
    function = random.choice(("row_number()", "sum(price)", "lag(price)", "rank()", "max(wide)"))
    over = f"OVER (PARTITION BY {random.choice(('part', 'region', 'word'))} ORDER BY day, id)"
    return Query(
        f"SELECT id, v FROM (SELECT id, quantity, {function} {over} AS v FROM facts{_where(random)})"
        f" WHERE quantity = {random.randrange(50)} AND id % 5 = 0"
    )


_SHAPES: tuple[Callable[[Random], Query], ...] = (
    *(_scan, _lookup, _limit, _group, _group, _group, _join, _join, _joined_groups, _subquery, _set_operation),
    _window,
)
