"""Two lakes that differ only in data hidden from bob: hidden rows, masked values, hidden objects; a server over each.

`shop.t` has a row filter and masks, `shop.v` is its owner's view over it, `shop.open` has no policies and bob may
change it, `mine` is bob's own schema. Both lakes have the same commits in the same order. The second has other hidden
rows in those commits (more rows, other partitions, other minimum and maximum values, nulls, values on which expressions
fail), other values under the masks, and tables, views, functions, groups and a schema on which bob has no privilege.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from engine.main import LakeEngine
from engine.spark.session import SparkDriver
from tests.gateway.authenticators.users import make_users
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People
from tests.security.secure_server import SecureServer

# Contained in every unique hidden text or number, and in none of bob's statements.
HIDDEN_VALUES = ("zzone", "zztwo", "77000")
COLUMNS = (
    "id BIGINT, tenant STRING, secret BIGINT, other BIGINT, ssn STRING, part INT, day DATE, amount DECIMAL(10,2), "
    "tags ARRAY<STRING>, st STRUCT<a: INT, b: STRING>"
)

_SET_UP = (
    ("root", "CREATE SCHEMA shop"),
    ("root", "CREATE SCHEMA mine"),
    ("root", "GRANT USE CATALOG ON CATALOG TO `account users`"),
    ("root", "GRANT USE SCHEMA ON SCHEMA shop TO `account users`"),
    ("root", "GRANT CREATE TABLE, CREATE FUNCTION ON SCHEMA shop TO ann"),
    ("root", "GRANT USE SCHEMA, CREATE TABLE, CREATE FUNCTION ON SCHEMA mine TO bob"),
    (
        "ann",
        f"CREATE TABLE shop.t ({COLUMNS}) PARTITIONED BY (part) "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true, delta.enableDeletionVectors = true)",
    ),
    ("ann", "CREATE TABLE shop.open (id BIGINT, tenant STRING, n INT, CONSTRAINT small CHECK (n IS NULL OR n < 1000))"),
    ("ann", "CREATE FUNCTION shop.of_a(tenant STRING) RETURNS BOOLEAN RETURN tenant = 'a' OR current_user() = 'ann'"),
    ("ann", "CREATE FUNCTION shop.veil(ssn STRING) RETURNS STRING RETURN if(current_user() = 'ann', ssn, '***')"),
    (
        "ann",
        "CREATE FUNCTION shop.blank(st STRUCT<a: INT, b: STRING>) RETURNS STRUCT<a: INT, b: STRING> "
        "RETURN if(current_user() = 'ann', st, NULL)",
    ),
    ("ann", "ALTER TABLE shop.t SET ROW FILTER shop.of_a ON (tenant)"),
    ("ann", "ALTER TABLE shop.t ALTER COLUMN ssn SET MASK shop.veil"),
    ("ann", "ALTER TABLE shop.t ALTER COLUMN st SET MASK shop.blank"),
    ("ann", "GRANT SELECT, MODIFY ON shop.t TO bob"),
    ("ann", "GRANT SELECT, MODIFY ON shop.open TO bob"),
    ("ann", "CREATE VIEW shop.v AS SELECT id, tenant, secret, other, ssn, part, day, amount, tags, st FROM shop.t"),
    ("ann", "GRANT SELECT ON shop.v TO bob"),
    ("ann", "INSERT INTO shop.open VALUES (1, 'a', 1), (2, 'b', 2), (3, NULL, NULL)"),
)
_HIDDEN_OBJECTS = (
    ("root", "CREATE SCHEMA zzhid_vault"),
    ("root", "CREATE TABLE zzhid_vault.t (id INT, zzhid_c STRING)"),
    ("root", "CREATE TABLE shop.zzhid_t (id INT, zzhid_c STRING)"),
    ("root", "INSERT INTO shop.zzhid_t VALUES (4242424, 'zzhid')"),
    ("root", "CREATE VIEW shop.zzhid_v AS SELECT * FROM shop.zzhid_t"),
    ("root", "CREATE FUNCTION shop.zzhid_f(x INT) RETURNS INT RETURN x + 4242424"),
    ("root", "CREATE GROUP zzhid_g WITH USER ann"),
    ("root", "GRANT SELECT ON shop.t TO zzhid_g"),
    ("ann", "GRANT SELECT ON shop.open TO zzhid_g"),
)


def _seen(commit: int) -> list[str]:
    """Returns the rows in a commit that bob sees, with the masked values that he does not."""
    return [
        f"({commit * 10 + n}, 'a', {commit - 1}, {n - 2}, 'MASKED', {n}, DATE '202{n}-0{commit + 1}-1{n}', "
        f"{commit}.{n}5, array('x{n}', 'y'), named_struct('a', 0, 'b', 'MASKED'))"
        for n in range(3)
    ]


def _hidden(commit: int, *, second: bool) -> list[str]:
    if not second:
        return [f"({900 + commit}, 'zzone', 7700000, 7700001, 'zzone', 1, DATE '2021-01-01', 1.00, NULL, NULL)"]
    return [
        f"({7700000 + commit}, NULL, {commit}, 0, '{commit}', 4242400, DATE '9999-12-31', -9.99, array('zztwo'), NULL)",
        "(NULL, 'zztwo', 9223372036854775807, NULL, NULL, NULL, NULL, NULL, array(), "
        "named_struct('a', 7700001, 'b', 'zztwo'))",
        *[f"({commit}, 'b', {n}, {n}, '{n}', {n}, DATE '2020-01-01', {n}, array('x0'), NULL)" for n in range(40)],
    ]


class Twin:
    """A server over a lake, and separate sessions."""

    def __init__(self, folder: Path, driver: SparkDriver, *, second: bool) -> None:
        (folder / "lake").mkdir(parents=True)
        make_users(folder / "users")
        self.folder = folder
        lake = GuardedLake(folder / "lake")
        self._people = People(lake, driver)
        self.server = SecureServer(folder, _Shared(lake.sources, driver), authentication__admins=["root"])
        masked = "zztwo" if second else "zzone"
        self.run(_SET_UP)
        self.run(_HIDDEN_OBJECTS if second else ())
        for commit in range(3):
            rows = _hidden(commit, second=second) + [row.replace("MASKED", masked) for row in _seen(commit)]
            self.run([("ann", f"INSERT INTO shop.t VALUES {', '.join(rows)}")])

    def run(self, statements: tuple[tuple[str, str], ...] | list[tuple[str, str]]) -> None:
        for who, text in statements:
            self._people.rows(who, text)

    def close(self) -> None:
        self.server.stop()
        self._people.close()


class _Shared(LakeEngine):
    """Its Spark is the tests' own, which goes on."""

    def close(self) -> None:
        self._sources.close()


@contextlib.contextmanager
def twins(folder: Path, driver: SparkDriver) -> Iterator[tuple[Twin, Twin]]:
    with contextlib.ExitStack() as stack:
        made = []
        for name, second in (("one", False), ("two", True)):
            twin = Twin(folder / name, driver, second=second)
            stack.callback(twin.close)
            twin.server.start()
            made.append(twin)
        yield made[0], made[1]
