"""Statements that Tableau, Power BI and DBeaver send to connect, browse, preview and draw, in order, as tables.

Names are those in the sample lake. A row has the SQL and its number of result rows, or the rows themselves; None means
no result set, and a text is part of the error that the tool expects and continues after.
"""

from __future__ import annotations

from typing import Any

from gateway.hs2.gen.ttypes import TGetInfoType as Info

Sql = tuple[str, int | list[tuple[Any, ...]] | str | None]
# A catalog function, its arguments, the telling column, and its values.
Catalog = tuple[str, dict[str, Any], str, list[Any]]

TABLES = ["customers", "order_items", "orders", "products", "stock"]
ITEMS = ["order_id", "line", "product_id", "quantity", "unit_price", "discount_percent"]
_KINDS = ["TABLE", "VIEW", "SYSTEM TABLE", "EXTERNAL_TABLE", "MANAGED_TABLE", "INDEX_TABLE", "VIRTUAL_VIEW"]

INFO: list[tuple[int, Any]] = [
    (Info.CLI_DBMS_NAME, "Spark SQL"),
    (Info.CLI_IDENTIFIER_QUOTE_CHAR, "`"),
    (Info.CLI_SEARCH_PATTERN_ESCAPE, "\\"),
    (Info.CLI_CATALOG_NAME, "Y"),
    (Info.CLI_ACCESSIBLE_TABLES, "N"),
    (Info.CLI_TXN_CAPABLE, 0),
    (Info.CLI_MAX_COLUMNS_IN_SELECT, 0),
    (Info.CLI_USER_NAME, "ada"),
]

TABLEAU_CATALOG: list[Catalog] = [
    ("GetCatalogs", {}, "TABLE_CAT", ["spark_catalog"]),
    ("GetSchemas", {"schemaName": "%"}, "TABLE_SCHEM", ["default", "shop"]),
    ("GetSchemas", {"catalogName": "", "schemaName": "sh%"}, "TABLE_SCHEM", ["shop"]),
    ("GetTables", {"schemaName": "shop", "tableName": "%", "tableTypes": _KINDS}, "TABLE_NAME", TABLES),
    ("GetTables", {"schemaName": "shop", "tableName": "%order%"}, "TABLE_NAME", ["order_items", "orders"]),
    ("GetTables", {"schemaName": "shop", "tableTypes": ["SYNONYM"]}, "TABLE_NAME", []),
    ("GetColumns", {"schemaName": "shop", "tableName": "order_items", "columnName": "%"}, "COLUMN_NAME", ITEMS),
    ("GetPrimaryKeys", {"schemaName": "shop", "tableName": "orders"}, "COLUMN_NAME", []),
    ("GetCrossReference", {"foreignSchemaName": "shop", "foreignTableName": "orders"}, "PKTABLE_NAME", []),
]
TABLEAU_SQL: list[Sql] = [
    ("SELECT 1 AS `COL`", [(1,)]),
    ("SELECT 1", [(1,)]),
    ("CREATE LOCAL TEMPORARY TABLE `#Tableau_1_Connect` ( `COL` INTEGER )", "42601"),
    ("CREATE TEMPORARY TABLE `#Tableau_1_Connect` ( `COL` INTEGER )", "0A000"),
    ("CREATE TEMPORARY VIEW `#Tableau_1_Connect` AS SELECT 1 AS `COL`", None),
    ("SELECT `#Tableau_1_Connect`.`COL` AS `COL` FROM `#Tableau_1_Connect`", [(1,)]),
    ("DROP VIEW IF EXISTS `#Tableau_1_Connect`", None),
    ("DROP TABLE IF EXISTS `default`.`#Tableau_1_Connect`", None),
    ("SELECT * FROM `shop`.`orders` `orders` LIMIT 0", 0),
    ("SELECT * FROM ( SELECT * FROM shop.orders ) `Custom SQL Query` WHERE 1=0", 0),
    ("SELECT * FROM `shop`.`orders` `orders` LIMIT 1000", 1000),
    ("SELECT SUM(1) AS `sum_number_of_records_ok` FROM `shop`.`stock` `stock` HAVING (COUNT(1) > 0)", 1),
    (
        "SELECT `orders`.`channel` AS `channel`, SUM(`order_items`.`quantity`) AS `sum_quantity_ok` FROM "
        "`shop`.`orders` `orders` JOIN `shop`.`order_items` `order_items` ON (`orders`.`order_id` = "
        "`order_items`.`order_id`) GROUP BY `orders`.`channel`",
        3,
    ),
    (
        "SELECT YEAR(`orders`.`order_date`) AS `yr_order_date_ok` FROM `shop`.`orders` `orders` WHERE "
        "((NOT (`orders`.`order_date` IS NULL)) AND (`orders`.`channel` IN ('web', 'store', 'phone', 'app'))) "
        "GROUP BY YEAR(`orders`.`order_date`) ORDER BY `yr_order_date_ok` ASC LIMIT 1",
        1,
    ),
    (
        "SELECT CAST(TRUNC(`orders`.`order_date`, 'MM') AS TIMESTAMP) AS `tmn_order_date_ok`, COUNT(DISTINCT "
        "`orders`.`customer_id`) AS `ctd_customer_id_ok` FROM `shop`.`orders` `orders` GROUP BY "
        "CAST(TRUNC(`orders`.`order_date`, 'MM') AS TIMESTAMP) LIMIT 2",
        2,
    ),
    (
        "SELECT FROM_UNIXTIME(UNIX_TIMESTAMP(`orders`.`ordered_at`), 'yyyy-MM-dd HH:00:00') AS `thr_ordered_at_ok` "
        "FROM `shop`.`orders` `orders` GROUP BY FROM_UNIXTIME(UNIX_TIMESTAMP(`orders`.`ordered_at`), "
        "'yyyy-MM-dd HH:00:00') LIMIT 3",
        3,
    ),
    (
        "SELECT MIN(`orders`.`order_date`) AS `TEMP(attr_order_date_nk)(1)(0)`, MAX(`orders`.`order_date`) AS "
        "`TEMP(attr_order_date_nk)(2)(0)` FROM `shop`.`orders` `orders` HAVING (COUNT(1) > 0)",
        1,
    ),
    (
        "SELECT `products`.`category` AS `category`, SUM(CASE WHEN (`products`.`price` > 20) THEN 1 ELSE 0 END) AS "
        "`sum_Calculation_1_ok`, AVG(CAST(`products`.`price` AS DOUBLE)) AS `avg_price_ok`, STDDEV(`products`.`price`) "
        "AS `std_price_ok` FROM `shop`.`products` `products` INNER JOIN ( SELECT `products`.`category` AS `category`, "
        "SUM(`products`.`price`) AS `$__alias__0` FROM `shop`.`products` `products` GROUP BY `products`.`category` "
        "ORDER BY `$__alias__0` DESC LIMIT 2 ) `t0` ON (`products`.`category` = `t0`.`category`) GROUP BY "
        "`products`.`category`",
        2,
    ),
    ("SELECT `nope` FROM `shop`.`orders`", "42703"),
    ("SELECT CONCAT('it', '\\'', 's') AS `x`, 'a' = 'b' AS `y`, CAST(NULL AS STRING) AS `z`", [("it's", False, None)]),
]

POWER_BI_CATALOG: list[Catalog] = [
    ("GetCatalogs", {}, "TABLE_CAT", ["spark_catalog"]),
    ("GetSchemas", {"catalogName": "spark_catalog", "schemaName": "%"}, "TABLE_SCHEM", ["default", "shop"]),
    (
        "GetTables",
        {"catalogName": "spark_catalog", "schemaName": "shop", "tableName": "%", "tableTypes": ["TABLE", "VIEW"]},
        "TABLE_NAME",
        TABLES,
    ),
    (
        "GetTables",
        {"catalogName": "spark\\_catalog", "schemaName": "shop", "tableName": "order\\_items"},
        "TABLE_TYPE",
        ["TABLE"],
    ),
    ("GetTables", {"catalogName": "elsewhere", "schemaName": "%", "tableName": "%"}, "TABLE_NAME", []),
    (
        "GetColumns",
        {"catalogName": "spark_catalog", "schemaName": "shop", "tableName": "order\\_items", "columnName": "%"},
        "DATA_TYPE",
        [-5, 4, -5, 4, 3, 4],
    ),
    ("GetColumns", {"schemaName": "shop", "tableName": "stock"}, "NULLABLE", [0, 0, 0]),
    ("GetPrimaryKeys", {"catalogName": "spark_catalog", "schemaName": "shop", "tableName": "stock"}, "PK_NAME", []),
    (
        "GetCrossReference",
        {"parentCatalogName": "spark_catalog", "parentSchemaName": "shop", "parentTableName": "orders"},
        "FK_NAME",
        [],
    ),
    ("GetFunctions", {"functionName": "concat"}, "FUNCTION_NAME", ["concat"]),
]
POWER_BI_SQL: list[Sql] = [
    ("select * from `spark_catalog`.`shop`.`orders` limit 0", 0),
    ("select * from `spark_catalog`.`shop`.`orders` limit 1000", 1000),
    ("SELECT `order_id`, `channel` FROM `spark_catalog`.`shop`.`orders` LIMIT 4096", 4096),
    (
        "select `_`.`status`, sum(cast(`_`.`order_id` as double)) as `C1` from ( select `order_id`, `status` from "
        "`spark_catalog`.`shop`.`orders` where `channel` = 'web' and `channel` is not null ) as `_` group by "
        "`_`.`status` limit 1000001",
        3,
    ),
    (
        "select `rows`.`channel` as `channel` from ( select `channel` from `spark_catalog`.`shop`.`orders` ) as `rows` "
        "group by `channel` order by `channel` limit 1000001",
        3,
    ),
    (
        "select count(1) as `C1` from ( select `_`.`city` from `spark_catalog`.`default`.`weather` as `_` where "
        "`_`.`city` in ('Delft', 'Oslo') or 1 = 1 ) as `ITBL`",
        1,
    ),
    (
        "select `OTBL`.`category` as `c`, count(distinct `ITBL`.`product_id`) as `C1` from "
        "`spark_catalog`.`shop`.`stock` as `ITBL` left outer join `spark_catalog`.`shop`.`products` as `OTBL` on "
        "(`ITBL`.`product_id` = `OTBL`.`product_id` or `ITBL`.`product_id` is null and `OTBL`.`product_id` is null) "
        "group by `OTBL`.`category` having not(count(1) is null) order by `c` is null, `c` limit 1",
        1,
    ),
    (
        "select `_`.`order_date`, `_`.`order_id` from `spark_catalog`.`shop`.`orders` as `_` where `_`.`order_date` >= "
        "cast('1999-01-01' as date) and `_`.`ordered_at` < timestamp '2999-01-01 00:00:00' order by `_`.`order_date` "
        "desc, `_`.`order_id` limit 1",
        1,
    ),
    ("select * from `spark_catalog`.`shop`.`nope` limit 1000", "42P01"),
]

DBEAVER_DATABRICKS_SQL: list[Sql] = [
    ("SELECT CURRENT_CATALOG()", [("spark_catalog",)]),
    ("SHOW SCHEMAS IN `spark_catalog`", [("default",), ("shop",)]),
    ("USE CATALOG `spark_catalog`", None),
    ("SHOW VIEWS IN `spark_catalog`.`shop`", []),
    ("SHOW CREATE TABLE `spark_catalog`.`shop`.`stock`", 1),
    ("DESCRIBE EXTENDED `spark_catalog`.`shop`.`stock`", 16),
    ("SELECT * FROM `spark_catalog`.`shop`.`orders` LIMIT 200", 200),
]

# A DatabaseMetaData method, its arguments, the tested column, and its first values.
DBEAVER_JDBC: list[tuple[str, tuple[Any, ...], str, list[Any]]] = [
    ("getTypeInfo", (), "TYPE_NAME", ["TINYINT", "BIGINT"]),
    ("getCatalogs", (), "TABLE_CAT", ["spark_catalog"]),
    ("getSchemas", (), "TABLE_SCHEM", ["default", "shop"]),
    ("getTableTypes", (), "TABLE_TYPE", ["TABLE", "VIEW"]),
    ("getTables", ("spark_catalog", "shop", "%", None), "TABLE_NAME", TABLES),
    ("getColumns", ("spark_catalog", "shop", "order\\_items", "%"), "COLUMN_NAME", ITEMS),
    ("getColumns", ("spark_catalog", "shop", "%", "%"), "TABLE_NAME", ["customers"]),
    ("getPrimaryKeys", ("spark_catalog", "shop", "order_items"), "COLUMN_NAME", []),
    ("getImportedKeys", ("spark_catalog", "shop", "order_items"), "FK_NAME", []),
    ("getFunctions", ("spark_catalog", "shop", "ab%"), "FUNCTION_NAME", ["abs"]),
    ("getProcedures", ("spark_catalog", "shop", "%"), "PROCEDURE_NAME", []),
]
DBEAVER_SQL: list[Sql] = [
    ("SELECT current_database()", [("default",)]),
    ("USE shop", None),
    ("SHOW CREATE TABLE shop.order_items", 1),
    ("SHOW INDEX ON 'order_items'", []),
    ("SELECT x.* FROM shop.order_items x\nLIMIT 200", 200),
    ("SELECT x.* FROM shop.order_items x\nWHERE line = 2\nORDER BY x.order_id DESC\nLIMIT 200", 200),
    ("SELECT count(*) FROM (\nSELECT x.* FROM shop.stock x\n) dbvrcnt", 1),
    ("EXPLAIN SELECT * FROM shop.stock", 1),
]
