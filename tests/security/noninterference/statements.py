"""Random statements by a client that probes for hidden data; the same seed generates the same ones.

Results with several rows end with ORDER BY ALL, and no function depends on time, randomness or location: any remaining
difference between two lakes reveals hidden data. The order and number of files written is undefined, so statements read
neither file sizes nor copied row counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

HIDDEN_NAMES = ("shop.zzhid_t", "shop.zzhid_v", "zzhid_vault.t", "`zzhid_vault`.`T`", "spark_catalog.shop.zzhid_t")
PATTERNS = ("%", "*", "s%", "zz%", "zzhid_t", "t", "_", "", "shop", "zzhid_vault", "sh_p", "%hid%", None)


@dataclass(frozen=True)
class Statement:
    text: str


@dataclass(frozen=True)
class MetadataCall:
    """A Thrift call, by name, and its request's fields."""

    name: str
    fields: dict[str, Any] = field(default_factory=dict)


class Statements:
    def __init__(self, random: Random) -> None:
        self._random, self._made = random, 0

    def next(self) -> Statement | MetadataCall:
        kinds: dict[Callable[[], Statement | MetadataCall], int] = {
            self._metadata_call: 2,
            self._query: 10,
            self._hidden: 3,
            self._shown: 4,
            self._listed: 3,
            self._changed: 4,
            self._own: 2,
            self._managed: 2,
            self._explained: 1,
        }
        return self._random.choices(list(kinds), list(kinds.values()))[0]()

    # Expressions

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _number(self, depth: int = 0) -> str:
        if depth > 2 or self._random.random() < 0.4:
            return self._pick(
                "id", "secret", "other", "part", "1", "0", "-7", "4242400", "length(ssn)", "size(tags)", "st.a"
            )
        a, b = self._number(depth + 1), self._number(depth + 1)
        return self._pick(
            f"({a} + {b})",
            f"({a} * {b})",
            f"({a} % {b})",
            f"CAST({a} / {b} AS BIGINT)",
            f"({a} DIV {b})",
            f"CAST({self._text(depth + 1)} AS INT)",
            f"element_at(array(1, 2, 3), CAST({a} AS INT))",
            f"CASE WHEN {self._truth(depth + 1)} THEN {a} ELSE {b} END",
            f"CAST({a} AS TINYINT)",
            f"abs({a})",
            f"hash({a}, ssn)",
            f"try_divide({a}, {b})",
            f"coalesce({a}, {b})",
        )

    def _text(self, depth: int = 0) -> str:
        if depth > 2 or self._random.random() < 0.4:
            return self._pick("ssn", "tenant", "'a'", "'zzhid'", "'***'", "CAST(day AS STRING)", "st.b", "tags[0]")
        a, b = self._text(depth + 1), self._text(depth + 1)
        return self._pick(
            f"concat({a}, {b})",
            f"upper({a})",
            f"substr({a}, CAST({self._number(depth + 1)} AS INT))",
            f"CAST({self._number(depth + 1)} AS STRING)",
            f"date_format(CAST({a} AS DATE), 'yyyy')",
            f"raise_error({a})",
            f"regexp_extract({a}, '([a-z]+)', 1)",
            f"element_at(tags, CAST({self._number(depth + 1)} AS INT))",
            "to_json(st)",
        )

    def _condition(self) -> str:
        """Returns a subquery alone, or a fallible condition: Spark evaluates first what its estimates, and so sizes,
        make cheaper.
        """
        relation = self._pick("shop.t", "shop.open")
        if self._random.random() < 0.2:
            return self._pick(
                f"id IN (SELECT id FROM {relation})",
                f"EXISTS (SELECT 1 FROM {relation} AS o WHERE o.id = r.id)",
                f"id = (SELECT max(id) FROM {relation})",
            )
        return self._truth()

    def _truth(self, depth: int = 0) -> str:
        if depth > 2 or self._random.random() < 0.5:
            column = self._pick("id", "tenant", "secret", "ssn", "part", "amount", "day")
            return self._pick(
                f"{column} IS {self._pick('', 'NOT ')}NULL",
                f"{self._number(depth + 1)} {self._pick('=', '<', '>=', '<>', '<=>')} {self._number(depth + 1)}",
                f"{self._text(depth + 1)} {self._pick('=', '<', 'LIKE', '<>')} {self._text(depth + 1)}",
                "part IN (0, 4242400)",
                "secret = other",
                "day > DATE '2022-01-01'",
            )
        a, b = self._truth(depth + 1), self._truth(depth + 1)
        return self._pick(
            f"({a} AND {b})",
            f"({a} OR {b})",
            f"NOT {a}",
            f"assert_true({a}) IS NULL",
            f"1 / (secret - {self._number(2)}) > 0",
        )

    def _relation(self) -> str:
        return self._pick("shop.t", "shop.t", "shop.v", "(SELECT * FROM shop.t)", "(TABLE shop.v)")

    # Queries

    def _query(self) -> Statement:
        return Statement(self._query_text())

    def _query_text(self) -> str:
        r = f"{self._relation()} AS r"
        a, b, c = self._number(), self._text(), self._condition()
        return self._pick(
            f"SELECT {a}, {b} FROM {r} WHERE {c} ORDER BY ALL",
            f"SELECT * FROM {r} WHERE {c} ORDER BY id",
            f"SELECT * FROM {r} ORDER BY id LIMIT 3",
            f"SELECT count(*), count(ssn), min({a}), max({b}), sum(amount) FROM {r}",
            "SELECT count(*), min(part), max(id), min(day), max(secret) FROM " + r,
            f"SELECT count(*) FROM {r} WHERE {c}",
            f"SELECT DISTINCT {self._pick('part', 'tenant', 'ssn', 'day')} FROM {r} ORDER BY ALL",
            f"SELECT part, count(*), sum({a}) FROM {r} GROUP BY part HAVING count(*) > 1 ORDER BY ALL",
            f"SELECT {b} AS k, count(*) FROM {r} GROUP BY ALL ORDER BY ALL",
            f"SELECT id, row_number() OVER (PARTITION BY part ORDER BY id), lag({a}) OVER (ORDER BY id) FROM {r} "
            "ORDER BY ALL",
            f"SELECT r.id, o.n FROM {r} LEFT JOIN shop.open AS o ON r.id = o.id AND {c} ORDER BY ALL",
            f"SELECT o.id, r.id FROM shop.open AS o {self._pick('FULL', 'RIGHT', 'LEFT')} JOIN {r} ON r.part = o.id "
            "ORDER BY ALL",
            f"SELECT {a} FROM {r} UNION ALL SELECT n FROM shop.open ORDER BY ALL",
            f"SELECT id FROM {r} EXCEPT SELECT id FROM shop.open ORDER BY ALL",
            f"WITH t AS (SELECT * FROM {r} WHERE {c}) SELECT count(*), sort_array(collect_list(id)) FROM t",
            f"SELECT * FROM (SELECT part, tenant, id FROM {r}) PIVOT (count(id) FOR part IN (0, 1, 4242400)) "
            "ORDER BY ALL",
            f"SELECT id, e FROM {r} LATERAL VIEW {self._pick('', 'OUTER ')}explode(tags) x AS e WHERE {c} ORDER BY ALL",
            f"SELECT id, (SELECT max(n) FROM shop.open AS o WHERE o.id < r.id) FROM {r} ORDER BY ALL",
            f"FROM {r} |> WHERE {c} |> AGGREGATE count(*), max({a})",
            f"SELECT _change_type, id, ssn FROM table_changes('shop.t', {self._random.randrange(9)}) AS r WHERE {c} "
            "ORDER BY ALL",
            f"SELECT sort_array(collect_set({b})), approx_count_distinct(id), bool_or({c}) FROM {r}",
            f"SELECT to_json(struct(*)) FROM {r} ORDER BY ALL",
            f"SELECT typeof({a}), {b} FROM {r} WHERE id = {self._random.randrange(35)} ORDER BY ALL",
        )

    def _explained(self) -> Statement:
        mode = self._pick("", "EXTENDED ", "FORMATTED ", "COST ", "CODEGEN ")
        relation = self._pick("shop.t", "shop.v", *HIDDEN_NAMES, "shop.open")
        return Statement(
            self._pick(
                f"EXPLAIN {mode}SELECT * FROM {relation}",
                f"EXPLAIN {mode}{self._query_text()}",
                f"EXPLAIN DELETE FROM {relation} WHERE id = 1",
                f"EXPLAIN INSERT INTO {relation} SELECT * FROM shop.t",
            )
        )

    def _hidden(self) -> Statement:
        name = self._pick(*HIDDEN_NAMES, "shop.t", "shop.open")
        return Statement(
            self._pick(
                f"SELECT * FROM {name} ORDER BY id",
                f"SELECT {self._pick('zzhid_c', 'sssn', 'nosuch')} FROM {name}",
                f"SELECT 1 FROM shop.open WHERE id IN (SELECT id FROM {name})",
                f"WITH x AS (SELECT * FROM {name}) SELECT 1",
                f"SELECT count(*) FROM {name} VERSION AS OF {self._random.randrange(12)}",
                f"SELECT count(*) FROM table_changes('{name}', 0)",
                f"SELECT shop.zzhid_f({self._pick('1', 'id')}) FROM shop.open ORDER BY ALL",
                f"DESCRIBE {self._pick('', 'EXTENDED ', 'DETAIL ', 'HISTORY ')}{name}",
                f"SHOW {self._pick('COLUMNS IN', 'CREATE TABLE', 'TBLPROPERTIES', 'PARTITIONS', 'GRANTS ON')} {name}",
                f"SHOW GRANTS bob ON {name}",
                f"{self._pick('DROP TABLE', 'DROP TABLE IF EXISTS', 'TRUNCATE TABLE', 'OPTIMIZE', 'ANALYZE TABLE')} "
                f"{self._pick(*HIDDEN_NAMES)}",
                f"CREATE VIEW mine.w AS SELECT * FROM {self._pick(*HIDDEN_NAMES)}",
                f"CREATE TABLE {self._pick('shop.zzhid_t', 'zzhid_vault.t', 'zzhid_vault.n')} (id INT)",
                f"CREATE TABLE mine.w {self._pick('LIKE', 'SHALLOW CLONE', 'DEEP CLONE')} {name}",
                f"USE SCHEMA {self._pick('zzhid_vault', 'shop')}",
                "CREATE SCHEMA zzhid_vault",
                "DESCRIBE SCHEMA zzhid_vault",
                "GRANT SELECT ON shop.open TO GROUP zzhid_g",
                f"ALTER TABLE {self._pick(*HIDDEN_NAMES)} ADD COLUMN z INT",
                f"COMMENT ON TABLE {self._pick(*HIDDEN_NAMES)} IS 'x'",
                "SHOW FUNCTIONS IN shop",
                "DESCRIBE FUNCTION shop.zzhid_f",
            )
        )

    def _listed(self) -> Statement:
        view = self._pick(
            "tables", "columns", "schemata", "views", "routines", "parameters", "table_privileges", "schema_privileges",
            "row_filters", "column_masks", "catalog_privileges", "routine_privileges", "check_constraints",
            "table_constraints", "key_column_usage",
        )  # fmt: skip
        return Statement(
            self._pick(
                f"SELECT * FROM information_schema.{view} ORDER BY ALL",
                f"SELECT count(*) FROM information_schema.{view}",
                "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'z%' ORDER BY 1",
                f"SHOW TABLES IN {self._pick('shop', 'mine', 'zzhid_vault')}",
                f"SHOW TABLES IN shop LIKE '{self._pick('*', 'z*', 't')}'",
                "SHOW TABLE EXTENDED IN shop LIKE '*'",
                f"SHOW {self._pick('SCHEMAS', 'CATALOGS', 'VIEWS IN shop', 'VIEWS IN zzhid_vault', 'GROUPS', 'USERS')}",
                "SHOW TABLES IN ALL CATALOGS",
            )
        )

    def _shown(self) -> Statement:
        name = self._pick("shop.t", "shop.v", "shop.open", "mine.own")
        return Statement(
            self._pick(
                f"DESCRIBE {name}",
                f"DESCRIBE EXTENDED {name}",
                f"DESCRIBE EXTENDED {name} {self._pick('ssn', 'id', 'part')}",
                "DESCRIBE DETAIL shop.t",
                "DESCRIBE HISTORY shop.t",
                f"SHOW CREATE TABLE {name}",
                f"SHOW PARTITIONS {name}",
                f"SHOW TBLPROPERTIES {name}",
                f"SHOW COLUMNS IN {name}",
                f"DESCRIBE QUERY {self._query_text()}",
                "SELECT input_file_name() FROM shop.t",
                "SELECT _metadata.file_size FROM shop.v",
                f"SELECT * FROM shop.t VERSION AS OF {self._random.randrange(9)}",
            )
        )

    # Changes

    def _changed(self) -> Statement:
        """Returns a change to a table that bob may change, from rows that he sees."""
        self._made += 1
        n, c = self._made, self._condition()
        return Statement(
            self._pick(
                f"INSERT INTO shop.open SELECT id, ssn, {self._number()} FROM shop.t AS r WHERE {c}",
                f"INSERT INTO shop.open VALUES ({n}, 'a', {n})",
                f"INSERT INTO shop.t (id, tenant, part, secret) VALUES "
                f"({n + 1000}, '{self._pick('a', 'q')}', {n % 4}, {n})",
                f"UPDATE shop.open AS r SET n = {n} WHERE id IN (SELECT id FROM shop.t AS r WHERE {c})",
                f"DELETE FROM shop.open WHERE id IN (SELECT {self._pick('id', 'secret')} FROM shop.v AS r WHERE {c})",
                f"MERGE INTO shop.open USING shop.t AS r ON open.id = r.id AND {c} "
                f"WHEN MATCHED THEN UPDATE SET n = {n} WHEN NOT MATCHED THEN INSERT (id, n) VALUES (r.id, 5)",
                f"UPDATE shop.t AS r SET other = {n} WHERE {c}",
                f"DELETE FROM shop.t AS r WHERE id = {n} AND {c}",
                f"MERGE INTO shop.t AS r USING shop.open AS o ON r.id = o.id "
                f"WHEN MATCHED AND {c} THEN UPDATE SET other = o.n",
                f"INSERT OVERWRITE shop.t SELECT * FROM shop.t AS r WHERE {c}",
                f"INSERT INTO shop.t REPLACE WHERE part = {self._pick('1', '4242400')} SELECT * FROM shop.t",
                f"CREATE OR REPLACE TABLE mine.own AS {self._query_text()}",
            )
        )

    def _own(self) -> Statement:
        return Statement(
            self._pick(
                "SELECT count(*) FROM mine.own",
                "SELECT * FROM shop.open ORDER BY ALL",
                "CREATE OR REPLACE VIEW mine.v AS SELECT id, ssn, part FROM shop.t",
                f"SELECT * FROM mine.v WHERE {self._pick('part > 0', 'length(ssn) > 1', 'id / part > 1')} ORDER BY ALL",
                "CREATE OR REPLACE FUNCTION mine.f(x BIGINT) RETURNS BIGINT RETURN 10 / x",
                "SELECT mine.f(secret) FROM shop.t ORDER BY ALL",
                f"SET spark.sql.ansi.enabled = {self._pick('true', 'true', 'false')}",
                "SET",
            )
        )

    def _managed(self) -> Statement:
        return Statement(
            self._pick(
                "OPTIMIZE shop.t",
                "OPTIMIZE shop.t WHERE part = 4242400",
                "VACUUM shop.t",
                "VACUUM shop.t DRY RUN",
                "ANALYZE TABLE shop.t COMPUTE DELTA STATISTICS",
                "ALTER TABLE shop.t ADD CONSTRAINT c CHECK (secret < 4242400)",
                "ALTER TABLE shop.t ALTER COLUMN tenant SET NOT NULL",
                "ALTER TABLE shop.t DROP ROW FILTER",
                "ALTER TABLE shop.t ADD COLUMN z INT",
                "ALTER TABLE shop.t DROP COLUMN tenant",
                "RESTORE TABLE shop.t TO VERSION AS OF 1",
                "REORG TABLE shop.t APPLY (PURGE)",
                "GENERATE symlink_format_manifest FOR TABLE shop.t",
                "FSCK REPAIR TABLE shop.t DRY RUN",
                "TRUNCATE TABLE shop.t",
                "COMMENT ON TABLE shop.t IS 'seen'",
            )
        )

    def _metadata_call(self) -> MetadataCall:
        random = self._random

        calls: dict[str, tuple[str, ...]] = {
            "GetCatalogs": (),
            "GetSchemas": ("schemaName",),
            "GetTables": ("schemaName", "tableName"),
            "GetColumns": ("schemaName", "tableName", "columnName"),
            "GetFunctions": ("schemaName", "functionName"),
            "GetPrimaryKeys": ("schemaName", "tableName"),
            "GetCrossReference": ("parentSchemaName", "parentTableName", "foreignSchemaName", "foreignTableName"),
            "GetTableTypes": (),
        }
        name = random.choice(list(calls))
        return MetadataCall(name, {each: random.choice(PATTERNS) for each in calls[name]})
