"""Primary and foreign keys: declared, stored in the log, shown to tools, never enforced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable

from engine.main import LakeSession
from engine.statements.listings.statement import ListForeignKeys, ListPrimaryKeys
from tests.engine.bare_lake import BareLake
from tests.engine.lake_sessions import rows, run

CUSTOMERS = (
    "CREATE TABLE shop.customers (id BIGINT, region INT, name STRING, "
    "CONSTRAINT customers_key PRIMARY KEY (region, id) NOT ENFORCED RELY)"
)
ORDERS = (
    "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer BIGINT, place INT, "
    "before BIGINT REFERENCES shop.orders, "
    "CONSTRAINT buyer FOREIGN KEY (customer, place) REFERENCES hive_metastore.shop.customers (id, region))"
)
PARENT = "`spark_catalog`.`shop`.`customers`"


@pytest.fixture
def shop(tmp_path: Path) -> BareLake:
    shop = BareLake(tmp_path)
    for text in ("CREATE SCHEMA shop", "USE shop", CUSTOMERS, ORDERS):
        shop.answer(text)
    return shop


def constraints(shop: BareLake, table: str) -> list[tuple[str, str]]:
    found = [row[:2] for row in shop.rows(f"DESCRIBE EXTENDED {table}")]
    return found[found.index(("# Constraints", "")) + 1 :] if ("# Constraints", "") in found else []


def test_keys_are_shown(shop: BareLake) -> None:
    assert constraints(shop, "customers") == [("customers_key", "PRIMARY KEY (`region`, `id`) RELY")]
    assert constraints(shop, "orders") == [
        ("orders_pk", "PRIMARY KEY (`id`)"),
        ("buyer", f"FOREIGN KEY (`customer`, `place`) REFERENCES {PARENT} (`id`, `region`)"),
        ("orders_orders_fk", "FOREIGN KEY (`before`) REFERENCES `spark_catalog`.`shop`.`orders` (`id`)"),
    ]
    reported = dict(row[:2] for row in shop.rows("DESCRIBE EXTENDED orders"))
    assert "gateway" not in reported["Table Properties"]


def test_columns_of_a_primary_key_are_not_null(shop: BareLake) -> None:
    fields = json.loads(DeltaTable(shop.folder / "shop" / "customers").schema().to_json())["fields"]
    assert {field["name"]: field["nullable"] for field in fields} == {"id": False, "region": False, "name": True}


def test_other_writers_keep_keys(shop: BareLake) -> None:
    folder = shop.folder / "shop" / "customers"
    DeltaTable(folder).alter.set_table_description("seen by delta-rs")
    assert constraints(shop, "customers") == [("customers_key", "PRIMARY KEY (`region`, `id`) RELY")]


def test_show_create_table_runs_as_it_is(shop: BareLake) -> None:
    (text,) = shop.answer("SHOW CREATE TABLE orders")["createtab_stmt"].to_pylist()
    before = constraints(shop, "orders")
    assert "CONSTRAINT `orders_pk` PRIMARY KEY (`id`) NOT ENFORCED" in text and "gateway" not in text
    shop.answer("DROP TABLE orders")
    shop.answer(text)
    assert constraints(shop, "orders") == before


def test_renamed_keys_keep_columns_and_references(shop: BareLake) -> None:
    shop.answer("ALTER TABLE customers RENAME CONSTRAINT Customers_Key TO `by region`")
    shop.answer("ALTER TABLE orders RENAME CONSTRAINT buyer TO Customer")
    assert constraints(shop, "customers") == [("by region", "PRIMARY KEY (`region`, `id`) RELY")]
    assert constraints(shop, "orders")[1] == (
        "Customer",
        f"FOREIGN KEY (`customer`, `place`) REFERENCES {PARENT} (`id`, `region`)",
    )
    taken = shop.refuse("ALTER TABLE orders RENAME CONSTRAINT customer TO ORDERS_PK")
    assert (taken.condition, "ORDERS_PK" in taken.message) == ("CONSTRAINT_ALREADY_EXISTS", True)


def test_metadata_calls(shop: BareLake) -> None:
    names = ("spark_catalog", "shop")
    assert shop.rows_of(ListPrimaryKeys(table=("hive_metastore", "SHOP", "Customers"))) == [
        (*names, "customers", "id", 2, "customers_key"),
        (*names, "customers", "region", 1, "customers_key"),
    ]
    buyer = [
        (*names, "customers", "id", *names, "orders", "customer", 1, "buyer", None),
        (*names, "customers", "region", *names, "orders", "place", 2, "buyer", None),
    ]
    own = [(*names, "orders", "id", *names, "orders", "before", 1, "orders_orders_fk", None)]
    assert shop.rows_of(ListForeignKeys(child=(None, None, "orders"))) == [*buyer, *own]
    assert shop.rows_of(ListForeignKeys(parent=(None, "shop", "customers"))) == buyer
    assert shop.rows_of(ListForeignKeys(parent=(None, None, "nope"))) == []


def test_show_keys_as_databricks_has_them(shop: BareLake) -> None:
    where = "IN CATALOG `hive_metastore` IN SCHEMA `shop` IN TABLE"
    primary = shop.answer(f"SHOW KEYS {where} `orders`")
    assert primary.to_pylist() == [
        {
            "catalogName": "spark_catalog",
            "namespace": "shop",
            "tableName": "orders",
            "col_name": "id",
            "keySeq": 1,
            "constraintName": "orders_pk",
        }
    ]
    foreign = shop.answer(f"SHOW FOREIGN KEYS {where} `orders`").to_pylist()
    assert [(row["parentColName"], row["col_name"], row["keySeq"], row["deferrability"]) for row in foreign] == [
        ("id", "customer", 1, 7),
        ("region", "place", 2, 7),
        ("id", "before", 1, 7),
    ]


@pytest.mark.parametrize("where", ["IN orders", "IN TABLE shop.orders", "FROM spark_catalog.shop.`orders`"])
def test_show_keys_of_a_table_by_its_name(shop: BareLake, where: str) -> None:
    long = "IN CATALOG spark_catalog IN SCHEMA shop IN TABLE orders"
    for kind in ("KEYS", "PRIMARY KEYS", "FOREIGN KEYS"):
        assert shop.answer(f"SHOW {kind} {where}").equals(shop.answer(f"SHOW {kind} {long}"))


def test_show_keys_of_tables_with_odd_names(shop: BareLake) -> None:
    shop.answer("CREATE TABLE catalog (id INT PRIMARY KEY)")
    assert shop.answer("SHOW KEYS IN catalog")["tableName"].to_pylist() == ["catalog"]
    assert shop.refuse("SHOW KEYS IN nowhere").condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert shop.refuse("SHOW KEYS IN CATALOG spark_catalog").condition == "PARSE_SYNTAX_ERROR"
    assert shop.refuse("SHOW KEYS").condition == "PARSE_SYNTAX_ERROR"


def test_a_dropped_table_takes_the_keys_to_it_along(shop: BareLake) -> None:
    own = [("orders_orders_fk", "FOREIGN KEY"), ("orders_pk", "PRIMARY KEY")]

    def kinds() -> list[tuple[str, str]]:
        return sorted((name, " ".join(text.split()[:2])) for name, text in constraints(shop, "orders"))

    assert kinds() == [("buyer", "FOREIGN KEY"), *own]
    shop.answer("DROP TABLE customers")
    assert kinds() == own
    assert "buyer" not in shop.answer("SHOW CREATE TABLE orders")["createtab_stmt"].to_pylist()[0]
    assert shop.answer("SHOW FOREIGN KEYS IN orders")["constraintName"].to_pylist() == ["orders_orders_fk"]
    assert [row[-2] for row in shop.rows_of(ListForeignKeys(child=(None, None, "orders")))] == ["orders_orders_fk"]
    shop.answer("ALTER TABLE orders DROP CONSTRAINT buyer")
    shop.answer("CREATE TABLE customers (id BIGINT PRIMARY KEY)")
    assert kinds() == own


def test_keys_come_and_go(shop: BareLake) -> None:
    shop.answer("CREATE TABLE items (id BIGINT NOT NULL, buyer BIGINT, place INT)")
    shop.answer("ALTER TABLE items ADD PRIMARY KEY (ID) NORELY")
    shop.answer("ALTER TABLE items ADD CONSTRAINT Bought FOREIGN KEY (place, buyer) REFERENCES customers NOT ENFORCED")
    assert constraints(shop, "items") == [
        ("items_pk", "PRIMARY KEY (`id`)"),
        ("Bought", f"FOREIGN KEY (`place`, `buyer`) REFERENCES {PARENT} (`region`, `id`)"),
    ]
    shop.answer("ALTER TABLE items DROP FOREIGN KEY (place, buyer)")
    shop.answer("ALTER TABLE items DROP FOREIGN KEY IF EXISTS (place, buyer)")
    shop.answer("ALTER TABLE items DROP PRIMARY KEY CASCADE")
    shop.answer("ALTER TABLE items DROP PRIMARY KEY IF EXISTS")
    assert constraints(shop, "items") == []
    shop.answer("ALTER TABLE orders DROP CONSTRAINT BUYER")
    shop.answer("ALTER TABLE customers DROP CONSTRAINT customers_key")
    assert constraints(shop, "customers") == []
    names = [operation for operation, _, _ in shop.operations("shop.customers")]
    assert names == ["CREATE TABLE", "DROP CONSTRAINT"]


@pytest.mark.parametrize("dropped", ["CONSTRAINT Customers_Key", "PRIMARY KEY", "PRIMARY KEY IF EXISTS"])
def test_cascade_drops_foreign_keys_of_other_tables_with_the_primary_key(shop: BareLake, dropped: str) -> None:
    shop.answer("CREATE TABLE items (buyer BIGINT, place INT, FOREIGN KEY (place, buyer) REFERENCES customers)")
    shop.answer(f"ALTER TABLE customers DROP {dropped} CASCADE")
    assert constraints(shop, "customers") == constraints(shop, "items") == []
    assert [name for name, _ in constraints(shop, "orders")] == ["orders_pk", "orders_orders_fk"]
    for table in ("customers", "items", "orders"):
        assert shop.operations(f"shop.{table}")[-1][0] == "DROP CONSTRAINT"
    shop.answer("ALTER TABLE orders DROP PRIMARY KEY CASCADE")
    assert constraints(shop, "orders") == []


def test_cascade_of_a_foreign_key_drops_it_alone(shop: BareLake) -> None:
    shop.answer("ALTER TABLE orders DROP CONSTRAINT buyer CASCADE")
    shop.answer("ALTER TABLE orders DROP CONSTRAINT IF EXISTS buyer CASCADE")
    assert [name for name, _ in constraints(shop, "orders")] == ["orders_pk", "orders_orders_fk"]
    assert [name for name, _ in constraints(shop, "customers")] == ["customers_key"]


REFUSED = [
    ("ALTER TABLE customers ADD PRIMARY KEY (id)", "MULTIPLE_PRIMARY_KEYS"),
    ("ALTER TABLE plain ADD PRIMARY KEY (b)", "PRIMARY_KEY_COLUMN_NULLABLE"),
    ("ALTER TABLE plain ADD PRIMARY KEY (nope)", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ("ALTER TABLE plain ADD PRIMARY KEY (a, A)", "DUPLICATE_KEY_COLUMN"),
    ("ALTER TABLE plain ADD FOREIGN KEY (a) REFERENCES nope", "TABLE_OR_VIEW_NOT_FOUND"),
    ("ALTER TABLE plain ADD FOREIGN KEY (a) REFERENCES plain", "FOREIGN_KEY_MISMATCH"),
    ("ALTER TABLE plain ADD FOREIGN KEY (a) REFERENCES customers", "FOREIGN_KEY_MISMATCH"),
    ("ALTER TABLE plain ADD FOREIGN KEY (b) REFERENCES orders", "FOREIGN_KEY_MISMATCH"),
    ("ALTER TABLE plain ADD FOREIGN KEY (a) REFERENCES orders (customer)", "FOREIGN_KEY_MISMATCH"),
    ("ALTER TABLE orders ADD CONSTRAINT buyer FOREIGN KEY (before) REFERENCES orders", "CONSTRAINT_ALREADY_EXISTS"),
    ("ALTER TABLE orders DROP COLUMN customer", "KEY_DEPENDENT_COLUMN_CHANGE"),
    ("ALTER TABLE customers RENAME COLUMN id TO number", "KEY_DEPENDENT_COLUMN_CHANGE"),
    ("ALTER TABLE customers ALTER COLUMN id DROP NOT NULL", "KEY_DEPENDENT_COLUMN_CHANGE"),
    ("ALTER TABLE customers DROP PRIMARY KEY", "PRIMARY_KEY_REFERENCED"),
    ("ALTER TABLE customers DROP CONSTRAINT Customers_Key RESTRICT", "PRIMARY_KEY_REFERENCED"),
    ("ALTER TABLE plain DROP PRIMARY KEY", "CONSTRAINT_DOES_NOT_EXIST"),
    ("ALTER TABLE plain DROP FOREIGN KEY (a)", "CONSTRAINT_DOES_NOT_EXIST"),
    ("ALTER TABLE plain ADD PRIMARY KEY (a) ENFORCED", "UNSUPPORTED_CLAUSE"),
    ("ALTER TABLE plain SET TBLPROPERTIES ('gateway.constraints.x' = '1')", "DELTA_ADD_CONSTRAINTS"),
    ("CREATE TABLE twice (a INT PRIMARY KEY, b INT PRIMARY KEY)", "MULTIPLE_PRIMARY_KEYS"),
    ("CREATE TABLE late (a INT REFERENCES nope)", "TABLE_OR_VIEW_NOT_FOUND"),
]


@pytest.mark.parametrize(("text", "condition"), REFUSED, ids=[text for text, _ in REFUSED])
def test_invalid_key_is_rejected(shop: BareLake, text: str, condition: str) -> None:
    shop.answer("CREATE TABLE plain (a BIGINT NOT NULL, b STRING)")
    for table in ("orders", "customers"):
        shop.answer(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    assert shop.refuse(text).condition == condition


ODD = [
    "{",
    "[]",
    "null",
    '{"name": "k", "type": "PRIMARY KEY", "columns": []}',
    '{"name": "k", "type": "PRIMARY KEY", "columns": ["nope"]}',
    '{"name": "k", "type": "PRIMARY KEY", "columns": [1]}',
    '{"name": "k", "type": "FOREIGN KEY", "columns": ["id"], "parent": ["a"], "parent_columns": ["id"]}',
    '{"name": "k", "type": "FOREIGN KEY", "columns": ["id"], "parent": ["a", "b", "c"], "parent_columns": []}',
]


@pytest.mark.parametrize("text", ODD)
def test_invalid_key_by_another_writer_is_ignored(shop: BareLake, text: str) -> None:
    log = shop.folder / "shop" / "customers" / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            line["metaData"]["configuration"]["gateway.constraints.customers_key"] = text
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = BareLake(shop.folder)
    assert constraints(again, "shop.customers") == []


@pytest.mark.spark
def test_keys_in_information_schema(session: LakeSession) -> None:
    run(session, "CREATE OR REPLACE TABLE pk_parent (id INT, kind STRING, PRIMARY KEY (id, kind))")
    run(
        session,
        "CREATE OR REPLACE TABLE fk_child (k STRING, p INT, CHECK (p > 0), "
        "CONSTRAINT fk FOREIGN KEY (k, p) REFERENCES pk_parent (kind, id))",
    )
    found = rows(
        session,
        "SELECT constraint_name, constraint_type, enforced FROM information_schema.table_constraints "
        "WHERE table_name IN ('pk_parent', 'fk_child') ORDER BY ALL",
    )
    assert found == [
        ("fk", "FOREIGN KEY", "NO"),
        ("fk_child_chk_1", "CHECK", "YES"),
        ("pk_parent_pk", "PRIMARY KEY", "NO"),
    ]
    assert rows(
        session,
        "SELECT column_name, ordinal_position, position_in_unique_constraint FROM information_schema.key_column_usage "
        "WHERE constraint_name = 'fk' ORDER BY 2",
    ) == [("k", 1, 2), ("p", 2, 1)]
    assert rows(
        session,
        "SELECT unique_constraint_schema, unique_constraint_name, delete_rule "
        "FROM information_schema.referential_constraints WHERE constraint_name = 'fk'",
    ) == [("default", "pk_parent_pk", "NO ACTION")]
    about = rows(
        session,
        "SELECT u.table_name, column_name FROM information_schema.constraint_column_usage u "
        "JOIN information_schema.constraint_table_usage t USING (constraint_name) WHERE constraint_name = 'fk'",
    )
    assert sorted(about) == [("pk_parent", "id"), ("pk_parent", "kind")]
    run(session, "INSERT INTO fk_child VALUES ('x', 5), ('x', 5)")
    assert rows(session, "SELECT count(*) FROM fk_child") == [(2,)]
