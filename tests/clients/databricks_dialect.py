"""Runs databricks-sqlalchemy and pandas in a separate environment: PORT; prints a line of JSON for each step."""

from __future__ import annotations

import datetime as dt
import json
import sys
from decimal import Decimal

import pandas as pd
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    MetaData,
    Numeric,
    String,
    Table,
    create_engine,
    inspect,
    select,
)

PORT = sys.argv[1]
PATH = "/sql/1.0/warehouses/any"
engine = create_engine(
    f"databricks://token:any@127.0.0.1:{PORT}?http_path={PATH}&catalog=spark_catalog&schema=default",
    connect_args={"_connection_uri": f"http://127.0.0.1:{PORT}{PATH}", "enable_telemetry": False},
)
table = Table(
    "dialect_table",
    MetaData(),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", String(20)),
    Column("day", Date),
    Column("amount", Numeric(10, 2)),
    Column("at", DateTime),
    Column("paid", Boolean),
)


def say(value: object) -> None:
    print(json.dumps(value, default=str))


table.create(engine)
with engine.begin() as connection:
    row = {
        "name": "it's",
        "day": dt.date(2024, 1, 2),
        "amount": Decimal("1.50"),
        "at": dt.datetime(2024, 1, 2, 3),
        "paid": True,
    }
    connection.execute(table.insert(), [{"id": number, **row} for number in (1, 2)])
    say(connection.execute(table.update().where(table.c.id == 2).values(name="x")).rowcount)
    say([list(found) for found in connection.execute(select(table).order_by(table.c.id))])
looked = inspect(engine)
say(["default" in looked.get_schema_names(), "dialect_table" in looked.get_table_names()])
say([looked.has_table("dialect_table"), looked.has_table("nowhere")])
say([[column["name"], str(column["type"])] for column in looked.get_columns("dialect_table")])
say(looked.get_pk_constraint("dialect_table")["constrained_columns"])
say([column.name for column in Table("dialect_table", MetaData(), autoload_with=engine).columns])
pd.DataFrame({"a": [1, 2], "s": ["x", None]}).to_sql("dialect_frame", engine, if_exists="replace", index=False)
say(pd.read_sql("SELECT * FROM dialect_frame ORDER BY a", engine).to_dict("list"))
table.drop(engine)
