"""Authorization: principals, statements and their outcomes. The numbers are from the list of probes.

ann owns the tables `t`, `u` and the view `v` over `u`; eve may use the schema and read `t` and `v`; mal may change `t`
and not read it; bob has no privileges. `R` is a statement that is allowed, `D` one that is denied (42501); any other
outcome is the SQLSTATE of its error, and that of an object that is not visible is that of one that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.changes import CreateView
from catalog.entries import ViewColumn, ViewEntry
from catalog.errors import SqlError
from catalog.names import SchemaName, TableName
from engine.main import LakeEngine
from tests.security.guarded_lake import GuardedLake, NoSpark, ensure_authorized


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedLake]:
    yield make_lake(tmp_path_factory.mktemp("guarded") / "lake")


def make_lake(folder: Path) -> GuardedLake:
    """Returns a lake with the grants that the module's docstring describes."""
    folder.mkdir()
    found = GuardedLake(folder, (str(folder.parent / "files"),))
    for name in ("shop/t", "shop/u", "shop/open", "hidden/h"):
        found.table(name)
    (folder.parent / "files" / "in").mkdir(parents=True)
    (folder.parent / "files" / "in" / "a.csv").write_text("1,x\n")
    found.do(
        "root",
        "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
        "ALTER TABLE shop.t OWNER TO ann",
        "ALTER TABLE shop.u OWNER TO ann",
        "GRANT USE SCHEMA, CREATE TABLE ON SCHEMA shop TO ann",
        "CREATE GROUP staff WITH USER eve, mal",
        "GRANT USE SCHEMA ON SCHEMA shop TO staff",
        "CREATE SCHEMA eves",
        "ALTER SCHEMA eves OWNER TO eve",
        "CREATE SCHEMA `not used`",
        f"CREATE EXTERNAL LOCATION files URL '{folder.parent / 'files'}'",
        "CREATE EXTERNAL LOCATION lake URL '" + str(folder) + "'",
        "GRANT READ FILES, CREATE EXTERNAL TABLE ON EXTERNAL LOCATION files TO ann",
    )
    _view(found, "v", "SELECT id FROM u", "ann")
    _view(found, "over", "SELECT id FROM shop.v", "eve")
    _view(found, "eves", "SELECT id FROM u", "eve")
    _view(found, "masked", "SELECT id FROM h JOIN shop.nothing", "ann")
    _view(found, "nobodys", "SELECT id FROM t", None)
    found.do("ann", "GRANT SELECT ON shop.t TO eve", "GRANT MODIFY ON shop.t TO mal", "GRANT SELECT ON shop.v TO eve")
    found.do("root", "GRANT SELECT ON shop.over TO mal", "GRANT SELECT ON VIEW shop.eves TO ann")
    found.do("root", "GRANT SELECT ON shop.masked TO mal", "GRANT SELECT ON shop.nobodys TO eve")
    return found


def _view(lake: GuardedLake, name: str, text: str, owner: str | None) -> None:
    entry = ViewEntry(
        name=TableName("spark_catalog", "shop", name),
        text=text,
        current=SchemaName("spark_catalog", "shop"),
        columns=(ViewColumn(name="id", source="id", type="BIGINT"),),
        owner=owner,
    )
    lake.sources.catalog.change(CreateView(entry))


# fmt: off
PROBES = [
    (1, "eve", "SELECT * FROM shop.u", "42P01"),
    (1, "eve", "SELECT * FROM shop.t", "R"),
    (1, "ann", "SELECT * FROM shop.u", "R"),
    (1, "mal", "SELECT * FROM shop.t", "D"),
    (1, "bob", "SELECT * FROM shop.t", "42P01"),
    (1, "root", "SELECT * FROM shop.t", "D"),
    (2, "eve", "WITH c AS (SELECT * FROM shop.u) SELECT 1", "42P01"),
    (2, "eve", "SELECT * FROM shop.t WHERE EXISTS (SELECT 1 FROM shop.u)", "42P01"),
    (2, "eve", "SELECT (SELECT max(id) FROM shop.u) FROM shop.t", "42P01"),
    (2, "eve", "SELECT * FROM shop.t WHERE id IN (SELECT id FROM shop.u)", "42P01"),
    (2, "eve", "SELECT * FROM shop.t a JOIN shop.u b ON a.id = b.id", "42P01"),
    (2, "eve", "SELECT id FROM shop.t ORDER BY (SELECT max(id) FROM shop.u)", "42P01"),
    (2, "eve", "SELECT id FROM shop.t GROUP BY id HAVING count(*) > (SELECT count(*) FROM shop.u)", "42P01"),
    (2, "eve", "VALUES ((SELECT max(id) FROM shop.u))", "42P01"),
    (2, "eve", "FROM shop.t |> JOIN shop.u USING (id)", "42P01"),
    (2, "mal", "WITH c AS (SELECT * FROM shop.t) SELECT 1", "D"),
    (4, "eve", "SELECT * FROM delta.`{lake}/shop/u`", "D"),
    (4, "eve", "SELECT * FROM delta.`{lake}//shop/./u/`", "D"),
    (4, "eve", "SELECT * FROM delta.`file:{lake}/shop/u`", "D"),
    (4, "eve", "SELECT * FROM delta.`FILE://{lake}/shop/u`", "D"),
    (4, "eve", "SELECT * FROM delta.`{lake}/shop/%75`", "D"),
    (4, "eve", "SELECT * FROM delta.`{lake}/shop/t/../u`", "D"),
    (4, "mal", "SELECT * FROM delta.`{lake}/shop/t`", "D"),
    (4, "ann", "SELECT * FROM delta.`{lake}/shop/u`", "R"),
    (5, "eve", "SELECT * FROM delta.`{lake}/shop/t`", "R"),
    (5, "eve", "SELECT * FROM delta.`{lake}/shop/t@v0`", "R"),
    (5, "eve", "SELECT * FROM delta.`{lake}/shop/u@v0`", "D"),
    (5, "eve", "SELECT * FROM delta.`{lake}/shop/u/_delta_log`", "D"),
    (5, "eve", "SELECT * FROM delta.`{lake}/shop`", "D"),
    (5, "eve", "SELECT * FROM delta.`{lake}`", "D"),
    (5, "eve", "SELECT * FROM delta.`{lake}-catalog`", "D"),
    (5, "eve", "SELECT * FROM delta.`/etc`", "D"),
    (6, "eve", "SELECT * FROM parquet.`{lake}/shop/u`", "0A000"),
    (6, "ann", "SELECT * FROM text.`{lake}/shop/t`", "0A000"),
    (7, "eve", "CREATE TABLE eves.m (id INT) LOCATION '{lake}/shop/u'", "D"),
    (7, "eve", "CREATE TABLE eves.m (id INT) LOCATION '{lake}/shop'", "D"),
    (7, "eve", "CREATE TABLE eves.m (id INT) LOCATION '{lake}/shop/u/x'", "D"),
    (7, "eve", "CREATE TABLE eves.m (id INT) LOCATION '{lake}/shop/t'", "D"),
    (7, "eve", "CREATE TABLE eves.m (id INT) LOCATION '{files}/m'", "D"),
    (7, "eve", "CREATE EXTERNAL TABLE eves.m (id INT) LOCATION '{files}/m'", "D"),
    (7, "eve", "CREATE TABLE eves.m (id INT) OPTIONS (path '{files}/m')", "D"),
    (7, "eve", "CREATE TABLE eves.m (id INT) OPTIONS (path '{lake}/shop/t')", "D"),
    (7, "eve", "CREATE TABLE delta.`{lake}/shop/new` (id INT)", "D"),
    (7, "ann", "CREATE TABLE shop.external_one (id INT) LOCATION '{files}/m'", "R"),
    (7, "ann", "CREATE TABLE shop.stolen (id INT) LOCATION '{files}/m'", "D"),
    (8, "ann", "ALTER TABLE shop.external_one SET LOCATION '{lake}/hidden/h'", "D"),
    (8, "ann", "ALTER TABLE shop.external_one SET LOCATION '{lake}/shop/t'", "D"),
    (10, "eve", "CREATE TABLE eves.l LIKE shop.u", "42P01"),
    (10, "eve", "CREATE TABLE eves.l SHALLOW CLONE shop.u", "42P01"),
    (10, "eve", "CREATE TABLE eves.l DEEP CLONE delta.`{lake}/shop/u`", "D"),
    (10, "mal", "CREATE TABLE eves.l LIKE shop.t", "42704"),
    *((11, "eve", text, "D") for text in (
        "DROP TABLE shop.t", "TRUNCATE TABLE shop.t", "ALTER TABLE shop.t RENAME TO shop.x", "OPTIMIZE shop.t",
        "VACUUM shop.t", "RESTORE TABLE shop.t TO VERSION AS OF 0", "ANALYZE TABLE shop.t COMPUTE DELTA STATISTICS",
        "FSCK REPAIR TABLE shop.t", "REORG TABLE shop.t APPLY (PURGE)", "ALTER TABLE shop.t ADD COLUMN x INT",
        "ALTER TABLE shop.t SET TBLPROPERTIES ('a' = 'b')", "COMMENT ON TABLE shop.t IS 'mine'",
        "GENERATE symlink_format_manifest FOR TABLE shop.t", "DROP TABLE IF EXISTS shop.t",
        "DROP SCHEMA shop CASCADE", "COMMENT ON SCHEMA shop IS 'x'", "CREATE CATALOG mine",
        "DROP CATALOG spark_catalog", "CREATE SCHEMA mine", "CREATE TABLE shop.x (id INT)",
        "VACUUM delta.`{lake}/shop/t`", "OPTIMIZE delta.`{lake}/shop/u`",
    )),
    (11, "eve", "DROP TABLE shop.u", "42P01"),
    (11, "eve", "DROP SCHEMA hidden CASCADE", "42704"),
    (12, "eve", "ALTER TABLE shop.t OWNER TO eve", "D"),
    (12, "mal", "ALTER TABLE shop.t SET OWNER USER mal", "D"),
    (13, "eve", "GRANT SELECT ON shop.u TO eve", "42P01"),
    (13, "eve", "GRANT MODIFY ON shop.t TO eve", "D"),
    (13, "eve", "GRANT SELECT ON SCHEMA shop TO eve", "D"),
    (13, "eve", "GRANT MANAGE ON SCHEMA shop TO eve", "D"),
    (13, "eve", "GRANT CREATE CATALOG ON SERVER TO eve", "D"),
    (13, "eve", "GRANT ALL PRIVILEGES ON CATALOG TO eve", "D"),
    (13, "eve", "REVOKE SELECT ON shop.t FROM eve", "D"),
    (13, "eve", "ALTER GROUP staff ADD USER bob", "D"),
    (13, "eve", "CREATE GROUP mine WITH USER eve", "D"),
    (13, "eve", "DROP GROUP staff", "D"),
    (13, "eve", "DROP GROUP IF EXISTS staff", "D"),
    (13, "eve", "CREATE EXTERNAL LOCATION l URL '{lake}'", "D"),
    (13, "eve", "DROP EXTERNAL LOCATION files", "42704"),
    (13, "ann", "DROP EXTERNAL LOCATION files", "D"),
    (15, "mal", "CREATE OR REPLACE TABLE shop.t (id INT)", "D"),
    (15, "mal", "REPLACE TABLE shop.t AS SELECT 1 AS id", "D"),
    (16, "eve", "CREATE VIEW eves.w AS SELECT * FROM shop.u", "42P01"),
    (16, "mal", "CREATE TEMP VIEW w AS SELECT * FROM shop.t", "D"),
    (16, "eve", "SELECT * FROM shop.v", "R"),
    (16, "mal", "SELECT * FROM shop.v", "42P01"),
    (16, "mal", "SELECT * FROM shop.over", "R"),  # by eve's privileges on v, and ann's on u
    (16, "eve", "SELECT * FROM shop.eves", "42P01"),  # her own, over a table hidden from her
    (16, "ann", "SELECT * FROM shop.eves", "D"),  # who could read it herself
    (16, "mal", "SELECT * FROM shop.masked", "D"),
    (16, "eve", "SELECT * FROM shop.nobodys", "D"),
    (16, "eve", "CREATE VIEW eves.w AS SELECT * FROM shop.v", "R"),
    (16, "ann", "CREATE VIEW shop.w AS SELECT * FROM shop.t", "R"),
    (16, "mal", "CREATE VIEW shop.w AS SELECT 1 AS x", "D"),
    (16, "ann", "DROP VIEW shop.over", "42P01"),
    (16, "mal", "ALTER VIEW shop.over OWNER TO mal", "D"),
    (16, "eve", "ALTER VIEW shop.over OWNER TO ann", "D"),  # as whom it would be read
    (16, "eve", "INSERT INTO shop.v VALUES (1)", "42809"),
    (16, "eve", "SHOW CREATE TABLE shop.v", "D"),
    (16, "ann", "SHOW CREATE TABLE shop.v", "R"),
    (19, "eve", "CREATE OR REPLACE VIEW shop.v AS SELECT * FROM shop.t", "D"),
    (19, "eve", "DROP VIEW shop.v", "D"),
    (19, "eve", "DROP VIEW IF EXISTS shop.v", "D"),
    (20, "eve", "WITH RECURSIVE r AS (SELECT id FROM shop.u UNION ALL SELECT id FROM r) SELECT * FROM r", "42P01"),
    (21, "eve", "SELECT * FROM hive_metastore.shop.u", "42P01"),
    (21, "eve", "SELECT * FROM SPARK_CATALOG.`SHOP`.U", "42P01"),
    (21, "eve", "SELECT * FROM hive_metastore.SHOP.T", "R"),
    (22, "eve", "USE SCHEMA hidden", "42704"),
    (22, "eve", "USE hidden", "42704"),
    (22, "bob", "USE SCHEMA shop", "42704"),
    (22, "eve", "USE SCHEMA shop", "R"),
    *((33, "eve", text, "42K0I") for text in (
        "SET spark.sql.optimizer.excludedRules = x", "SET `spark.sql.optimizer.excludedRules` = x",
        "RESET spark.sql.optimizer.excludedRules", "SET spark.sql.runSQLOnFiles = true", "SET spark.sql.extensions = x",
        "SET spark.jars = x", "SET gateway.principal = ann",
    )),
    (33, "eve", "SET `authentication.admins` = eve", "R"),  # a text that nothing reads
    (35, "eve", "EXPLAIN SELECT * FROM shop.u", "42P01"),
    (35, "mal", "EXPLAIN EXTENDED SELECT * FROM shop.t", "D"),
    (35, "eve", "EXPLAIN DELETE FROM shop.t", "D"),
    (36, "eve", "DESCRIBE shop.u", "42P01"),
    (36, "eve", "DESCRIBE TABLE EXTENDED shop.u AS JSON", "42P01"),
    (36, "eve", "DESCRIBE QUERY SELECT * FROM shop.u", "42P01"),
    (36, "mal", "DESCRIBE QUERY SELECT * FROM shop.t", "D"),
    (36, "eve", "SHOW COLUMNS IN shop.u", "42P01"),
    (36, "eve", "SHOW CREATE TABLE shop.u", "42P01"),
    (36, "eve", "SHOW TBLPROPERTIES shop.u", "42P01"),
    (36, "mal", "DESCRIBE shop.t", "R"),
    (36, "eve", "DESCRIBE SCHEMA hidden", "42704"),
    (37, "mal", "DESCRIBE DETAIL shop.t", "D"),
    (37, "mal", "DESCRIBE HISTORY shop.t", "D"),
    (37, "mal", "SHOW PARTITIONS shop.t", "D"),
    (37, "eve", "DESCRIBE DETAIL delta.`{lake}/shop/u`", "D"),
    (38, "eve", "SHOW TABLES IN hidden", "42704"),
    (42, "eve", "SELECT * FROM table_changes('shop.u', 0)", "42P01"),
    (42, "mal", "SELECT * FROM table_changes('shop.t', 0)", "D"),
    (42, "eve", "SELECT * FROM table_changes('shop.t', 0)", "R"),
    (43, "eve", "SELECT * FROM shop.u TIMESTAMP AS OF '1999-01-01'", "42P01"),
    (43, "eve", "SELECT * FROM shop.u VERSION AS OF 99", "42P01"),
    (46, "mal", "INSERT INTO shop.t VALUES (1, 'a')", "R"),
    (46, "mal", "DELETE FROM shop.t WHERE ssn = '1'", "D"),
    (46, "mal", "UPDATE shop.t SET id = 1", "D"),
    (46, "mal", "INSERT OVERWRITE shop.t VALUES (1, 'a')", "D"),
    (46, "mal", "INSERT INTO shop.t REPLACE WHERE id = 1 VALUES (1, 'a')", "D"),
    (46, "mal", "INSERT INTO shop.t SELECT * FROM shop.t", "D"),
    (46, "mal", "MERGE INTO shop.t USING (SELECT 1 AS id) s ON s.id = t.id WHEN MATCHED THEN DELETE", "D"),
    (46, "eve", "INSERT INTO shop.t VALUES (1, 'a')", "D"),
    (46, "ann", "DELETE FROM shop.t WHERE ssn = '1'", "R"),
    (46, "eve", "INSERT INTO delta.`{lake}/shop/t` VALUES (1, 'a')", "D"),
    (47, "eve", "MERGE INTO shop.t USING shop.u s ON s.id = t.id WHEN MATCHED THEN DELETE", "42P01"),
    (48, "eve", "INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT * FROM shop.t", "0A000"),
    (48, "mal", "COPY INTO shop.t FROM '{files}/in' FILEFORMAT = CSV", "D"),
    (48, "ann", "COPY INTO shop.t FROM '{files}/in' FILEFORMAT = CSV", "R"),
    (48, "ann", "COPY INTO shop.t FROM '{lake}/shop/u' FILEFORMAT = PARQUET", "D"),
    (48, "eve", "CONVERT TO DELTA parquet.`{files}/in`", "D"),
    (48, "eve", "CACHE TABLE shop.u", "0A000"),
    *((48, "eve", text, "0A000") for text in (
        "EXPORT TABLE shop.t TO '/tmp'", "CREATE MATERIALIZED VIEW eves.m AS SELECT * FROM shop.t",
        "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/x' USING csv SELECT 1",
        "LOAD DATA INPATH '/etc/passwd' INTO TABLE eves.o",
    )),
    (49, "eve", "BEGIN SELECT * FROM shop.u; END", "42P01"),
    (49, "eve", "BEGIN DECLARE c CURSOR FOR SELECT * FROM shop.u; OPEN c; END", "42P01"),
    (49, "eve", "BEGIN IF EXISTS (SELECT 1 FROM shop.u) THEN SELECT 1; END IF; END", "42P01"),
    (49, "eve", "SELECT * FROM IDENTIFIER('shop.u')", "42P01"),
    (49, "eve", "PREPARE p AS SELECT * FROM shop.u", "0A000"),
    (49, "eve", "CALL system.u()", "38000"),
    (50, "eve", "SELECT * FROM shop.${{hivevar:x}}", "42883"),
    (53, "eve", "CREATE FUNCTION eves.current_user() RETURNS STRING RETURN 'ann'", "0A000"),
    (53, "eve", "CREATE TEMPORARY FUNCTION current_user() RETURNS STRING RETURN 'ann'", "0A000"),
    (54, "eve", "SET VAR x = (SELECT max(id) FROM shop.u)", "42P01"),
    (54, "eve", "DECLARE x = (SELECT max(id) FROM shop.t)", "42623"),
    (54, "eve", "CREATE TABLE eves.d (a INT DEFAULT (SELECT max(id) FROM shop.t))", "42623"),
    (54, "eve", "CREATE TABLE eves.d (a INT, CONSTRAINT c CHECK (a IN (SELECT id FROM shop.t)))", "42621"),
    (54, "eve", "CREATE TABLE eves.d (a INT, b INT GENERATED ALWAYS AS ((SELECT max(id) FROM shop.t)))", "42621"),
    *((55, "eve", text, "0A000") for text in (
        *(f"SELECT {name}('java.lang.System', 'getenv')" for name in (
            "reflect", "java_method", "try_reflect", "`reflect`", "builtin.reflect", "system.builtin.reflect",
        )),
        "SELECT xpath('<a/>', 'a')", "SELECT from_xml('<a/>', 'a INT')", "SELECT from_avro(x'00', '{{}}')",
        "SELECT TRANSFORM (id) USING 'cat' FROM shop.t", "ADD JAR '/tmp/x.jar'", "ADD FILE '/etc/passwd'",
        "CREATE FUNCTION eves.f AS 'x.Y' USING JAR '/tmp/x.jar'", "CREATE TEMPORARY FUNCTION f AS 'x.Y'",
    )),
    (56, "eve", "CREATE TABLE eves.o (id INT) USING delta OPTIONS (path '/etc')", "D"),
    (56, "eve", "CREATE TABLE eves.o (id INT) USING jdbc OPTIONS (url 'jdbc:h2:mem')", "42K02"),
    (56, "eve", "CREATE TABLE eves.o USING csv OPTIONS (path '/etc/passwd')", "42K02"),
    *((56, "eve", text, "0A000") for text in (
        "CREATE TEMPORARY VIEW j USING jdbc OPTIONS (url 'x')", "SELECT * FROM csv.`/etc/passwd`",
        "SELECT * FROM read_files('/etc/passwd')", "SELECT * FROM read_files('/etc/passwd', format => 'avro')",
    )),
    (56, "eve", "SELECT * FROM read_files('/etc/passwd', format => 'csv')", "D"),
    (56, "eve", "SELECT * FROM read_files('/etc/passwd', format => 'text')", "D"),
]
# fmt: on


@pytest.mark.parametrize(("number", "who", "text", "expected"), PROBES)
def test_probe(lake: GuardedLake, number: int, who: str, text: str, expected: str) -> None:
    filled = text.format(lake=lake.folder, files=lake.folder.parent / "files")
    assert lake.outcome(who, filled) == {"D": "42501"}.get(expected, expected), lake.error(who, filled)


@pytest.mark.parametrize(
    "key", ["spark.sql.optimizer.excludedRules", "spark.sql.runSQLOnFiles", "spark.jars", "gateway.principal"]
)
def test_a_connection_cannot_set_what_a_statement_cannot(lake: GuardedLake, key: str) -> None:
    """Probe 34: the settings that come with OpenSession and with a session over HTTP."""
    engine = LakeEngine(lake.sources, NoSpark())  # type: ignore[arg-type]
    with pytest.raises(SqlError) as caught:
        engine.open_session(lake.identity("eve"), settings={key: "x"}, catalog=None, schema=None)
    assert caught.value.sqlstate == "42K0I"


# Denied to every principal: paths that belong to no table, tables of others as a location, and views whose owner has
# lost a privilege. `external_one` is made by a probe.
DENIED_TO_ALL = (
    r".*delta\.`\{lake\}(/shop(/u/_delta_log|/%75)?|-catalog)?`|.*`/etc`|.*LOCATION '\{lake\}/.*|.*path '\{lake\}/.*",
    r".*shop\.(eves|masked|nobodys)|COPY INTO .*'\{lake\}.*|.*path '/etc'.*|.*'/etc/passwd'.*",
    r"ALTER TABLE shop.external_one.*",
    r".*VERSION AS OF 99|.*TIMESTAMP AS OF.*|BEGIN .*",
)
DENIED = sorted({text for _, _, text, expected in PROBES if expected in ("D", "42P01", "42704")})
CONTROLLED = [text for text in DENIED if not re.fullmatch("|".join(DENIED_TO_ALL), text)]


@pytest.fixture(scope="module")
def granted(tmp_path_factory: pytest.TempPathFactory) -> GuardedLake:
    """The same lake, in which zoe has all privileges."""
    found = make_lake(tmp_path_factory.mktemp("granted") / "lake")
    found.do(
        "root",
        "GRANT ALL PRIVILEGES, MANAGE ON CATALOG spark_catalog TO USER zoe",
        "GRANT ALL PRIVILEGES ON EXTERNAL LOCATION files TO USER zoe",
        "GRANT CREATE CATALOG ON SERVER TO USER zoe",
    )
    return found


@pytest.mark.parametrize("text", CONTROLLED)
def test_denied_statement_is_allowed_with_all_privileges(granted: GuardedLake, text: str) -> None:
    """Each denial above has this positive control: zoe, the administrator or the view's owner passes the checks."""
    filled = text.format(lake=granted.folder, files=granted.folder.parent / "files")
    errors = []
    for who in ("zoe", "root", "eve"):
        try:
            ensure_authorized(granted, who, filled)
        except SqlError as error:
            errors.append(error)
        else:
            return
    raise AssertionError(errors)


def test_most_denials_have_a_positive_control() -> None:
    assert len(CONTROLLED) > 0.8 * len(DENIED)
