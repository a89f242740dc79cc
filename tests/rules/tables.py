"""Random tables of the comparison: facts in files by region and time, with two small tables that they refer to."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

FACTS, PARTS, DAYS, FILES = 40_000, 200, 400, 4
REGIONS = ("north", "south", "east", "west")
WORDS = ("", "a", "ab", "b", "Ä", "zeta", "omega", "100%", "under_score")
FIRST_DAY = dt.date(2023, 12, 20)
_FACTS_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("part", pa.int32()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("price", pa.decimal128(12, 2)),
        ("wide", pa.decimal128(25, 4)),
        ("quantity", pa.int32()),
        ("ratio", pa.float64()),
        ("word", pa.string()),
        ("note", pa.string()),
        ("flag", pa.bool_()),
        ("region", pa.string()),
    ]
)


def write_tables(folder: Path, seed: str) -> None:
    """Writes the tables `facts`, `parts` and `days` below `folder`."""
    random = Random(f"{seed}:tables")
    for start in range(0, FACTS, FACTS // FILES):
        rows = [_fact(random, number) for number in range(start, start + FACTS // FILES)]
        table = pa.Table.from_pylist(rows, schema=_FACTS_SCHEMA)
        write_deltalake(folder / "facts", table, mode="append", partition_by=["region"])
    parts = [
        {
            "part": number,
            "name": f"part {number % 37}",
            "size": random.randrange(10),
            "cost": Decimal(random.randrange(10**6)) / 100,
        }
        for number in range(PARTS)
    ]
    schema = [("part", pa.int32()), ("name", pa.string()), ("size", pa.int32()), ("cost", pa.decimal128(9, 2))]
    write_deltalake(folder / "parts", pa.Table.from_pylist(parts, schema=pa.schema(schema)))
    days = [_day(number) for number in range(DAYS)]
    schema = [("day", pa.date32()), ("week", pa.int32()), ("label", pa.string())]
    write_deltalake(folder / "days", pa.Table.from_pylist(days, schema=pa.schema(schema)))


def _day(number: int) -> dict[str, Any]:
    day = FIRST_DAY + dt.timedelta(days=number)
    return {"day": day, "week": number // 7, "label": f"{day:%A}"}


def _fact(random: Random, number: int) -> dict[str, Any]:
    """Returns a row; every value but the id and the region may be null."""
    day = FIRST_DAY + dt.timedelta(days=number * DAYS // FACTS)
    row: dict[str, Any] = {
        "part": min(random.randrange(PARTS + 20), random.randrange(PARTS + 20)),
        "day": day,
        "at": dt.datetime(day.year, day.month, day.day, random.randrange(24), random.randrange(60), tzinfo=dt.UTC),
        "price": Decimal(random.randrange(-(10**6), 10**8)) / 100,
        "wide": Decimal(random.randrange(-(10**18), 10**18)) / 10**4,
        "quantity": random.randrange(50),
        "ratio": random.choice((0.0, -0.0, random.random(), random.uniform(-1e6, 1e6))),
        "word": random.choice(WORDS),
        "note": f"note {random.randrange(10**9)} of {number}",
        "flag": random.random() < 0.3,
    }
    row = {name: None if random.random() < 0.03 else value for name, value in row.items()}
    return {"id": number, **row, "region": random.choice(REGIONS)}
