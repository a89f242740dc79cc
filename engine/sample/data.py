"""The sample lake's rows, half a year in a small web shop and the weather in its customers' cities, and statements.

The data is pseudo-random and reproducible, with patterns that are visible in charts: growing sales, weekends and a rush
before the holidays, products with different sales, countries with different sizes, warm summers. Ids can be joined. The
statements cover each kind: the classes that Java loads for them are the ones that most client statements need.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from engine.types.arrow_types import arrow_schema
from engine.types.schema import DataType, DecimalType, PrimitiveType, StructField, StructType

SEED = 20260101
FIRST_DAY = date(2025, 7, 1)
DAYS = 184
CUSTOMERS = 2_000
WAREHOUSES = ("Gdansk", "Porto", "Rotterdam")

_CITIES = (  # name, country, customers per 100, mean temperature in the half year in °C
    ("Amsterdam", "Netherlands", 9, 13.5),
    ("Berlin", "Germany", 20, 13.0),
    ("Gdansk", "Poland", 8, 11.0),
    ("Lyon", "France", 10, 15.5),
    ("Munich", "Germany", 11, 12.0),
    ("Paris", "France", 17, 15.0),
    ("Porto", "Portugal", 9, 18.0),
    ("Warsaw", "Poland", 16, 12.0),
)
_FIRST_NAMES = ("Ada", "Alan", "Barbara", "Donald", "Edsger", "Frances", "Grace", "Jim", "Leslie", "Niklaus")
_LAST_NAMES = ("Adams", "Berger", "Costa", "Dubois", "Evers", "Fischer", "Garcia", "Kowalska", "Martin", "Nowak")
_ADJECTIVES = ("Blue", "Compact", "Folding", "Heavy", "Light", "Plain", "Quiet", "Red", "Solid", "Travel")
_NOUNS = {  # category: nouns, mean price
    "Audio": (("Headphones", "Speaker"), 80),
    "Garden": (("Bench", "Lantern"), 45),
    "Home": (("Chair", "Lamp"), 60),
    "Kitchen": (("Kettle", "Pan"), 35),
    "Office": (("Desk", "Shelf"), 120),
    "Outdoor": (("Backpack", "Tent"), 90),
}
_STATUSES = ("delivered", "returned", "cancelled")
_CHANNELS = ("web", "app", "phone")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTable:
    """A table; `path` is relative to the lake. A partitioned table has one partition column."""

    path: str
    description: str
    schema: StructType
    rows: Any
    partition_column: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRows:
    """All tables, and the warehouses' stock from a later count, which overwrites the first count."""

    tables: tuple[SampleTable, ...]
    stock: SampleTable
    stock_recount: Any


def make_sample_rows() -> SampleRows:
    """Returns the same rows each time."""
    random = np.random.default_rng(SEED)
    customers = _customers(random)
    products = _products(random)
    orders = _orders(random, customers.rows)
    items = _order_items(random, orders.rows, products.rows)
    stock = _stock(random, products.rows.num_rows)
    recount = stock.rows.set_column(2, stock.rows.schema.field(2), _quantities(random, stock.rows.num_rows))
    return SampleRows(tables=(customers, products, orders, items, _weather(random)), stock=stock, stock_recount=recount)


def _customers(random: np.random.Generator) -> SampleTable:
    weights = np.array([share for _, _, share, _ in _CITIES]) / 100
    city = random.choice(len(_CITIES), CUSTOMERS, p=weights)
    first, last = random.choice(_FIRST_NAMES, CUSTOMERS), random.choice(_LAST_NAMES, CUSTOMERS)
    names = [f"{given} {family}" for given, family in zip(first, last, strict=True)]
    ids = np.arange(1, CUSTOMERS + 1)
    return _table(
        "shop/customers",
        "Who buys.",
        {
            "customer_id": (PrimitiveType.LONG, "Key.", ids),
            "name": (PrimitiveType.STRING, "First and last name.", names),
            "email": (
                PrimitiveType.STRING,
                "Unknown for some.",
                [None if n % 17 == 0 else f"{a}.{n}@example.org".lower() for n, a in zip(ids, first, strict=True)],
            ),
            "city": (PrimitiveType.STRING, "Joins weather.city.", [_CITIES[index][0] for index in city]),
            "country": (PrimitiveType.STRING, "", [_CITIES[index][1] for index in city]),
            "is_business": (PrimitiveType.BOOLEAN, "Buys for a company.", random.random(CUSTOMERS) < 0.2),
            "signed_up": (PrimitiveType.DATE, "Day of the account.", _day(-random.integers(1, 1500, CUSTOMERS))),
        },
        nullable={"email"},
    )


def _products(random: np.random.Generator) -> SampleTable:
    rows = [
        (f"{adjective} {noun}", category, price)
        for category, (nouns, price) in _NOUNS.items()
        for noun in nouns
        for adjective in _ADJECTIVES
    ]
    count = len(rows)
    prices = random.lognormal(0, 0.4, count) * [price for _, _, price in rows]
    weights = np.round(random.gamma(2, 1.5, count), 2)
    return _table(
        "shop/products",
        "What is sold.",
        {
            "product_id": (PrimitiveType.LONG, "Key.", np.arange(1, count + 1)),
            "name": (PrimitiveType.STRING, "", [name for name, _, _ in rows]),
            "category": (PrimitiveType.STRING, "", [category for _, category, _ in rows]),
            "price": (DecimalType(10, 2), "List price in euros.", _money(prices)),
            "weight_kg": (
                PrimitiveType.DOUBLE,
                "Unknown for some.",
                [None if n % 11 == 0 else float(weight) for n, weight in enumerate(weights)],
            ),
        },
        nullable={"weight_kg"},
    )


def _orders(random: np.random.Generator, customers: Any) -> SampleTable:
    day = np.arange(DAYS)
    weekday = (day + FIRST_DAY.weekday()) % 7
    rush = np.exp(-(((day - 160) / 9.0) ** 2))
    per_day = random.poisson(150 + 0.5 * day + 40 * (weekday >= 5) + 220 * rush)
    day_of = np.repeat(day, per_day)
    count = len(day_of)
    second = np.clip(random.normal(15.5 * 3600, 4 * 3600, count), 0, 86_399).astype("int64")
    regulars = random.zipf(1.6, count) % CUSTOMERS + 1
    status = random.choice(_STATUSES, count, p=(0.93, 0.05, 0.02))
    midnight = _day(day_of).astype("datetime64[us]")
    return _table(
        "shop/orders",
        "One row an order, partitioned by the day.",
        {
            "order_id": (PrimitiveType.LONG, "Key.", np.arange(1, count + 1)),
            "customer_id": (PrimitiveType.LONG, "Joins customers.", regulars),
            "ordered_at": (PrimitiveType.TIMESTAMP, "", midnight + second.astype("timedelta64[s]")),
            "status": (PrimitiveType.STRING, "How it ended.", status),
            "channel": (PrimitiveType.STRING, "", random.choice(_CHANNELS, count, p=(0.55, 0.38, 0.07))),
            "order_date": (PrimitiveType.DATE, "Partition: the day of ordered_at.", _day(day_of)),
        },
        partition_column="order_date",
    )


def _order_items(random: np.random.Generator, orders: Any, products: Any) -> SampleTable:
    lines = random.integers(1, 9, orders.num_rows)
    count = int(lines.sum())
    order = np.repeat(np.asarray(orders["order_id"]), lines)
    line = np.arange(count) - np.repeat(np.cumsum(lines) - lines, lines) + 1
    popularity = random.pareto(1.2, products.num_rows) + 0.2
    product = random.choice(products.num_rows, count, p=popularity / popularity.sum())
    cents = np.array([int(price * 100) for price in products["price"].to_pylist()])
    discount = random.choice((0, 10, 25), count, p=(0.8, 0.15, 0.05))
    return _table(
        "shop/order_items",
        "What each order is made of.",
        {
            "order_id": (PrimitiveType.LONG, "Joins orders.", order),
            "line": (PrimitiveType.INTEGER, "Counts from 1 in an order.", line),
            "product_id": (PrimitiveType.LONG, "Joins products.", product + 1),
            "quantity": (PrimitiveType.INTEGER, "", random.geometric(0.65, count)),
            "unit_price": (DecimalType(10, 2), "Paid, in euros.", _cents(cents[product] * (100 - discount) // 100)),
            "discount_percent": (PrimitiveType.INTEGER, "Off the list price.", discount),
        },
    )


def _stock(random: np.random.Generator, products: int) -> SampleTable:
    count = products * len(WAREHOUSES)
    return _table(
        "shop/stock",
        "What lies in the warehouses. It has several versions: see DESCRIBE HISTORY, and VERSION AS OF.",
        {
            "product_id": (PrimitiveType.LONG, "Joins products.", np.tile(np.arange(1, products + 1), len(WAREHOUSES))),
            "warehouse": (PrimitiveType.STRING, "", np.repeat(WAREHOUSES, products)),
            "quantity": (PrimitiveType.INTEGER, "Pieces.", _quantities(random, count)),
        },
    )


def _weather(random: np.random.Generator) -> SampleTable:
    """Returns one row per city and day: the mean temperature in °C over a year's cycle, and the rain in mm."""
    cities = len(_CITIES)
    day = np.tile(np.arange(DAYS), cities)
    mean = np.repeat([temperature for _, _, _, temperature in _CITIES], DAYS)
    noise = random.normal(0, 2.2, DAYS * cities)
    rain = np.where(random.random(DAYS * cities) < 0.35, random.gamma(1.2, 4, DAYS * cities), 0)
    return _table(
        "weather",
        "The weather where the customers live.",
        {
            "day": (PrimitiveType.DATE, "", _day(day)),
            "city": (PrimitiveType.STRING, "", np.repeat([name for name, _, _, _ in _CITIES], DAYS)),
            "temperature_c": (
                PrimitiveType.DOUBLE,
                "Mean of the day.",
                np.round(mean + 9 * np.cos((day - 25) / 183 * np.pi) + noise, 1),
            ),
            "rain_mm": (PrimitiveType.DOUBLE, "", np.round(rain, 1)),
        },
    )


def _table(
    path: str,
    description: str,
    columns: dict[str, tuple[DataType, str, Any]],
    *,
    nullable: set[str] | None = None,
    partition_column: str | None = None,
) -> SampleTable:
    """Returns a table; `columns` has type, comment and values for each column."""
    schema = StructType(
        tuple(
            StructField(name, data_type, name in (nullable or ()), {"comment": comment} if comment else {})
            for name, (data_type, comment, _) in columns.items()
        )
    )
    arrow = arrow_schema(schema)
    arrays = [_array(values, arrow.field(name).type) for name, (_, _, values) in columns.items()]
    rows = pa.Table.from_arrays(arrays, schema=arrow)
    return SampleTable(path=path, description=description, schema=schema, rows=rows, partition_column=partition_column)


def _array(values: Any, arrow_type: Any) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    return pa.array(values).cast(arrow_type)


def _day(offset: Any) -> Any:
    """Returns days counted from the first one."""
    return np.datetime64(FIRST_DAY) + np.asarray(offset).astype("timedelta64[D]")


def _quantities(random: np.random.Generator, count: int) -> Any:
    return pa.array(random.negative_binomial(2, 0.03, count) * (random.random(count) > 0.05), pa.int32())


def _money(euros: Any) -> Any:
    """Returns typical shop prices: whole euros plus 90 or 50 cents."""
    return _cents(np.maximum(np.round(euros).astype("int64"), 2) * 100 - np.where(np.round(euros) % 3 == 0, 50, 10))


def _cents(cents: Any) -> Any:
    """Returns decimals with two places from whole cents."""
    distinct, position = np.unique(cents, return_inverse=True)
    dictionary = pa.array([Decimal(int(value)).scaleb(-2) for value in distinct], pa.decimal128(10, 2))
    return dictionary.take(pa.array(position))


SAMPLE_READS = (
    "SELECT count(*), min(order_date), max(order_date) FROM shop.orders",
    "SELECT * FROM shop.orders WHERE order_id = 4711",
    "SELECT city, round(avg(temperature_c), 1), sum(rain_mm) FROM weather WHERE day < '2025-09-01' GROUP BY city",
    """
    SELECT c.country, p.category, sum(i.quantity * i.unit_price * (100 - i.discount_percent) / 100) AS revenue
    FROM shop.order_items i JOIN shop.orders o ON o.order_id = i.order_id
        JOIN shop.customers c ON c.customer_id = o.customer_id JOIN shop.products p ON p.product_id = i.product_id
    WHERE o.status = 'delivered' AND o.order_date >= '2025-10-01'
    GROUP BY c.country, p.category HAVING revenue > 1000 ORDER BY revenue DESC LIMIT 20
    """,
    """
    SELECT customer_id, order_id, rank() OVER (PARTITION BY customer_id ORDER BY ordered_at DESC) AS latest
    FROM shop.orders WHERE customer_id IN (SELECT customer_id FROM shop.customers WHERE is_business)
    """,
    "SELECT date_trunc('MONTH', ordered_at), channel, count(DISTINCT customer_id) FROM shop.orders GROUP BY ALL",
)
# In this order, each once.
SAMPLE_WRITES = (
    "CREATE TABLE shop.made (id BIGINT NOT NULL, name STRING, price DECIMAL(10, 2), CONSTRAINT p CHECK (price > 0))",
    "INSERT INTO shop.made SELECT product_id, name, price FROM shop.products",
    "INSERT INTO shop.made VALUES (1000, 'one', 2.50)",
    "UPDATE shop.made SET price = price * 2 WHERE name LIKE 'Blue%'",
    "MERGE INTO shop.made t USING shop.products s ON t.id = s.product_id WHEN MATCHED AND s.price < 50 THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT (id, name, price) VALUES (s.product_id, s.name, s.price)",
    "CREATE TABLE shop.days USING iceberg PARTITIONED BY (months(day)) AS SELECT * FROM weather",
    "DELETE FROM shop.days WHERE rain_mm > 10",
    "SELECT city, max(temperature_c) FROM shop.days GROUP BY city",
)
