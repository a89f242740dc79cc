"""A table with the first words of known statements, which determine the error if no family parses the statement.

The longest matching row determines the error, so `CREATE FUNCTION` is more specific than `CREATE`. A statement whose
first words match no row is a syntax error. A row has no effect on the statements that a family registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

_ROWS = """
ADD ARCHIVE | ADD ARCHIVES | ADD FILE | ADD FILES | ADD JAR | ADD JARS | ALTER CATALOG
ALTER DATABASE | ALTER INDEX | ALTER NAMESPACE | ALTER SCHEMA | ALTER TABLE | ALTER VIEW
ANALYZE TABLE | ANALYZE TABLES | CREATE TEMPORARY MACRO | DROP TEMPORARY MACRO | CREATE OR REPLACE TEMP TABLE
BEGIN | BEGIN TRANSACTION | BEGIN WORK
CACHE | CACHE LAZY TABLE | CACHE TABLE | CALL | CLEAR CACHE | CLOSE | COMMENT ON | COMMIT
CONVERT TO DELTA | COPY INTO | CREATE CATALOG | CREATE DATABASE | CREATE FLOW
CREATE FUNCTION | CREATE GLOBAL TEMPORARY VIEW | CREATE INDEX | CREATE MATERIALIZED VIEW | CREATE NAMESPACE
CREATE OR REPLACE FUNCTION | CREATE OR REPLACE GLOBAL TEMPORARY VIEW | CREATE OR REPLACE TABLE
CREATE OR REPLACE TEMP VIEW | CREATE OR REPLACE TEMPORARY FUNCTION | CREATE OR REPLACE TEMPORARY VIEW
CREATE OR REPLACE VIEW | CREATE SCHEMA | CREATE STREAMING TABLE | CREATE TABLE | CREATE TEMP VIEW
CREATE TEMPORARY FUNCTION | CREATE TEMPORARY TABLE | CREATE TEMPORARY VIEW | CREATE VARIABLE | CREATE VIEW
DECLARE | DELETE FROM | DFS | DROP CATALOG | DROP DATABASE | DROP FUNCTION | DROP INDEX
DROP MATERIALIZED VIEW | DROP NAMESPACE | DROP SCHEMA | DROP TABLE | DROP TEMPORARY FUNCTION
DROP TEMPORARY VARIABLE | DROP VIEW | EXECUTE | EXECUTE IMMEDIATE | EXPORT TABLE | FETCH | FSCK | GENERATE
GRANT | IF | IMPORT | INSERT | INSERT INTO | INSERT OVERWRITE | INSERT OVERWRITE DIRECTORY
INSERT OVERWRITE LOCAL DIRECTORY | KILL | LOAD DATA | LOCK | LOOP
MAP | MERGE | MERGE INTO | OPEN | OPTIMIZE | PREPARE | REDUCE
REORG TABLE | REPAIR TABLE | REPEAT | REPLACE TABLE | RESIGNAL | RESTORE | REVOKE
ROLLBACK | SIGNAL | START TRANSACTION | SYNC | TRUNCATE TABLE | UNCACHE TABLE | UNDROP | UNLOCK
UPDATE | VACUUM | WHILE
ALTER CONNECTION | ALTER EXTERNAL LOCATION | ALTER FUNCTION | ALTER MATERIALIZED VIEW | ALTER PROVIDER | ALTER RECIPIENT
ALTER SHARE | ALTER STORAGE CREDENTIAL | ALTER STREAMING TABLE | CREATE BLOOMFILTER INDEX
CREATE CONNECTION | CREATE EXTERNAL LOCATION | CREATE FOREIGN CATALOG | CREATE GLOBAL TEMP VIEW
CREATE OR REPLACE GLOBAL TEMP VIEW | CREATE OR REPLACE MATERIALIZED VIEW | CREATE OR REPLACE PROCEDURE
CREATE OR REFRESH MATERIALIZED VIEW | CREATE OR REFRESH STREAMING TABLE | CREATE OR REPLACE TEMP FUNCTION
CREATE OR REPLACE TEMPORARY TABLE | CREATE POLICY | CREATE PROCEDURE | CREATE RECIPIENT | CREATE ROLE | CREATE SERVER
CREATE SHARE | CREATE STORAGE CREDENTIAL | CREATE TEMP FUNCTION | CREATE TEMP TABLE | CREATE USER
DROP BLOOMFILTER INDEX | DROP CONNECTION | DROP CREDENTIAL | DROP EXTERNAL LOCATION | DROP POLICY | DROP PROCEDURE
DROP PROVIDER | DROP RECIPIENT | DROP ROLE | DROP SHARE | DROP STORAGE CREDENTIAL | DROP TEMP FUNCTION
DROP TEMP VARIABLE | DROP USER | DROP VARIABLE
"""

# The statement's first words, in upper case → its name in the error.
REFUSED_STATEMENTS: Mapping[tuple[str, ...], str] = MappingProxyType(
    {tuple(row.split()): row.strip() for line in _ROWS.strip().splitlines() for row in line.split("|")}
    | {
        ("BEGIN",): "BEGIN without END",
        ("MAP",): "MAP … USING (a script)",
        ("REDUCE",): "REDUCE … USING (a script)",
    }
)

# Words that follow SHOW in other systems, rejected by name.
REFUSED_SHOWS = tuple(
    (word,)
    for word in (
        "CACHED CATALOG COLLATION COLLATIONS CONNECTIONS CONF CREATE CREDENTIALS CURRENT EXTERNAL IDENTIFIER INDEX "
        "INDEXES MATERIALIZED PRINCIPALS PROVIDERS RECIPIENTS ROLE SHARES STORAGE TABLE"
    ).split()
)

_CACHE = "Not needed: results and hot columns are cached automatically. SET USE_CACHED_RESULT = false reads again"
_CODE = "The server does not run user code; use an SQL function: CREATE FUNCTION f(x INT) RETURN x + 1"
_BUCKETS = "Use ALTER TABLE … CLUSTER BY (columns), then OPTIMIZE"
_PARTITIONS = "Partitions exist if they have rows; use INSERT, DELETE FROM … WHERE, or INSERT INTO … REPLACE WHERE"
_PLACE = (
    "The log lists all files of a table, so partitions have no location; use ALTER TABLE … SET LOCATION for the table"
)
_FORMAT = "Use CREATE TABLE … USING delta (or iceberg) AS SELECT …"
_LOCKS = "Leave it out: commits are atomic, and conflicts are detected without locks"
_TRANSACTIONS = (
    "Every statement commits by itself: switch autocommit on in the client, and use one INSERT or MERGE per table"
)
_FILES = "Use COPY INTO t FROM 'path' FILEFORMAT = CSV (or JSON, PARQUET, …)"
_PLACES = "Use CREATE EXTERNAL LOCATION for a path, and COPY INTO to load files from it"
_VIEWS = "Use CREATE VIEW, or CREATE TABLE … AS SELECT and replace it on a schedule with CREATE OR REPLACE TABLE"
_PROCEDURES = "Use CALL for the existing procedures, or a script: BEGIN … END"
_INDEXES = "Delta tables have no indexes: use ALTER TABLE … CLUSTER BY (column), or OPTIMIZE … ZORDER BY (column)"
_PRINCIPALS = "Use CREATE GROUP, ALTER GROUP and GRANT; users are managed by the server's authentication"
_SCHEMAS = "Use COMMENT ON SCHEMA, or ALTER SCHEMA … OWNER TO or SET TAGS"
_SHARING = "Use GRANT to let others read a table"
_SCRIPT = "Use it in a script: BEGIN … END"
_VARIABLES = "Use EXECUTE IMMEDIATE 'text' USING values, or a variable: DECLARE x INT"

# The first words of a statement's name in an error → the suggested alternative.
_ADVICE: Mapping[tuple[str, ...], str] = MappingProxyType(
    {
        tuple(leading_words.split()): advice
        for refused_words, advice in (
            ("CACHE | CLEAR CACHE | UNCACHE | SHOW CACHED", _CACHE),
            ("ADD JAR | ADD JARS | ADD FILE | ADD FILES | ADD ARCHIVE | ADD ARCHIVES | LIST ARCHIVE", _CODE),
            ("CREATE TEMPORARY MACRO | DROP TEMPORARY MACRO | CREATE FUNCTION … AS", _CODE),
            ("LIST JAR | MAP | REDUCE", _CODE),
            ("LIST | LIST FILE | DFS", _PLACES),
            ("LOAD DATA | IMPORT", _FILES),
            ("EXPORT TABLE | INSERT OVERWRITE DIRECTORY", "Use CREATE TABLE … LOCATION 'path' AS SELECT …"),
            ("INSERT OVERWRITE LOCAL DIRECTORY", "Use CREATE TABLE … LOCATION 'path' AS SELECT …"),
            ("ANALYZE TABLES", "Use ANALYZE TABLE t COMPUTE STATISTICS for each table"),
            ("REPAIR TABLE", "Use MSCK REPAIR TABLE, or FSCK REPAIR TABLE for missing files"),
            ("LOCK | UNLOCK", _LOCKS),
            ("BEGIN without", "Use BEGIN … END for a script; transactions end with their statement"),
            ("START TRANSACTION | BEGIN TRANSACTION | BEGIN WORK | COMMIT | ROLLBACK", _TRANSACTIONS),
            (
                "CREATE TEMPORARY TABLE | CREATE TEMP TABLE",
                "Use CREATE TEMPORARY VIEW … AS SELECT, or a table that you drop",
            ),
            (
                "CREATE OR REPLACE TEMPORARY TABLE | CREATE OR REPLACE TEMP TABLE",
                "Use CREATE OR REPLACE TEMPORARY VIEW … AS SELECT, or a table that you drop",
            ),
            ("CREATE MATERIALIZED | CREATE STREAMING | CREATE FLOW | CREATE OR REFRESH", _VIEWS),
            ("CREATE OR REPLACE MATERIALIZED | ALTER MATERIALIZED | ALTER STREAMING", _VIEWS),
            ("REFRESH MATERIALIZED | REFRESH STREAMING", _VIEWS),
            ("REFRESH of", "Use REFRESH 'path', or REFRESH TABLE t"),
            ("CREATE VIEW …", _VIEWS),
            ("DROP MATERIALIZED | SHOW MATERIALIZED", "Use DROP VIEW and SHOW VIEWS"),
            ("CREATE PROCEDURE | CREATE OR REPLACE PROCEDURE | DROP PROCEDURE | DESCRIBE PROCEDURE", _PROCEDURES),
            ("CREATE INDEX | DROP INDEX | ALTER INDEX | CREATE BLOOMFILTER | DROP BLOOMFILTER", _INDEXES),
            ("CREATE VARIABLE | DROP VARIABLE", "Use DECLARE [VARIABLE] x INT, and DROP TEMPORARY VARIABLE x"),
            ("PREPARE | EXECUTE", _VARIABLES),
            ("SET ROLE | CREATE USER | CREATE ROLE | DROP USER | DROP ROLE | SHOW PRINCIPALS | SHOW ROLE", _PRINCIPALS),
            ("CREATE SHARE | ALTER SHARE | DROP SHARE | SHOW SHARES | CREATE RECIPIENT | ALTER RECIPIENT", _SHARING),
            ("DROP RECIPIENT | SHOW RECIPIENTS | ALTER PROVIDER | DROP PROVIDER | SHOW PROVIDERS", _SHARING),
            ("CREATE CONNECTION | ALTER CONNECTION | DROP CONNECTION | SHOW CONNECTIONS | CREATE SERVER", _FILES),
            ("CREATE FOREIGN CATALOG", "Use CREATE CATALOG … USING rest OPTIONS (…) for an Iceberg REST catalog"),
            ("CREATE STORAGE | ALTER STORAGE | DROP STORAGE | SHOW STORAGE | SHOW CREDENTIALS", _PLACES),
            ("DROP CREDENTIAL", _PLACES),
            ("SYNC", "Use CREATE TABLE … LOCATION 'path' to register an existing table"),
            ("UNDROP", "Use CREATE TABLE … LOCATION 'path' if the files still exist"),
            ("KILL", "Use the client's cancel, or POST to the statement's cancel over HTTP"),
            ("ALTER SCHEMA | ALTER NAMESPACE | ALTER DATABASE", _SCHEMAS),
            ("ALTER FUNCTION", "Use CREATE OR REPLACE FUNCTION, or ALTER FUNCTION … OWNER TO"),
            ("ALTER TABLE … ADD PARTITION | ALTER TABLE … DROP PARTITION", _PARTITIONS),
            ("ALTER TABLE … DROP IF EXISTS PARTITION | ALTER TABLE … ADD IF NOT EXISTS PARTITION", _PARTITIONS),
            ("ALTER VIEW", "Use ALTER VIEW v with AS query, RENAME TO, SET TBLPROPERTIES, OWNER TO or SET TAGS"),
            ("CALL of", "Use SHOW PROCEDURES, which lists the procedures of catalogs: CALL system.name(…)"),
            ("SET PATH", "Use USE schema, and qualify the names of other schemas' objects"),
            ("SET COLLATION", "Use COLLATE in expressions, and STRING COLLATE name as the type of a column"),
            ("ALTER TABLE … RENAME PARTITION", _PARTITIONS),
            ("ALTER TABLE … PARTITION | ALTER TABLE … RECOVER | ALTER TABLE … EXCHANGE", _PLACE),
            ("ALTER TABLE … ARCHIVE | ALTER TABLE … UNARCHIVE | ALTER TABLE … TOUCH", _PLACE),
            ("ALTER TABLE … SET SERDE | ALTER TABLE … SET SERDEPROPERTIES", _FORMAT),
            ("ALTER TABLE … UNSET SERDEPROPERTIES | ALTER TABLE … SET FILEFORMAT", _FORMAT),
            ("ALTER TABLE … COMPACT | ALTER TABLE … CONCATENATE", "Use OPTIMIZE, which compacts small files"),
            ("ALTER TABLE … CLUSTERED | ALTER TABLE … SORTED | ALTER TABLE … SKEWED | ALTER TABLE … NOT", _BUCKETS),
            ("ALTER TABLE … STORED | ALTER TABLE … SET SKEWED", _BUCKETS),
            ("ALTER TABLE … DEFAULT COLLATION", "Use ALTER TABLE … ALTER COLUMN c TYPE STRING COLLATE name"),
            ("COMMENT ON VIEW", "Use ALTER VIEW v SET TBLPROPERTIES ('comment' = 'text')"),
            ("COMMENT ON FUNCTION", "Use CREATE OR REPLACE FUNCTION … COMMENT 'text'"),
            ("EXPLAIN", "EXPLAIN takes a query, INSERT, UPDATE, DELETE or MERGE"),
            ("DESCRIBE FUNCTION of", "Use SHOW SYSTEM FUNCTIONS, and Spark's documentation"),
            ("DESCRIBE TABLE … PARTITION", "Use SHOW PARTITIONS, or DESCRIBE DETAIL for the table"),
            ("SHOW TABLE EXTENDED … PARTITION", "Use SHOW PARTITIONS, or SHOW TABLE EXTENDED without PARTITION"),
            ("SHOW CREATE TABLE … AS SERDE", "Use SHOW CREATE TABLE without AS SERDE"),
            ("SHOW CREATE", "Use SHOW CREATE TABLE (also for views), DESCRIBE FUNCTION or DESCRIBE SCHEMA"),
            ("SHOW CURRENT", "Use SHOW CURRENT NAMESPACE, or SELECT current_catalog(), current_schema()"),
            ("SHOW COLLATION | SHOW COLLATIONS", "Use SELECT * FROM collations()"),
            ("SHOW CONF", "Use SET, or SET -v for all settings"),
            ("SHOW TABLES … AS JSON", "Use SHOW TABLES, or DESCRIBE TABLE EXTENDED t AS JSON"),
            ("OPEN | FETCH | CLOSE | DECLARE … CURSOR | IF | LOOP | REPEAT | WHILE", _SCRIPT),
            ("SIGNAL | RESIGNAL | GET DIAGNOSTICS", _SCRIPT),
        )
        for leading_words in refused_words.split(" | ")
    }
)


def advice_on(kind: str) -> str:
    """Returns a sentence that suggests an alternative to the rejected statement `kind`."""
    words = kind.replace(",", "").split()
    found = next((advice for at in range(len(words), 0, -1) if (advice := _ADVICE.get(tuple(words[:at])))), None)
    return "Nothing was run." if found is None else f"{found}."


# The number of words that :func:`refused_kind` needs from a statement.
WORDS_MAX = max(map(len, REFUSED_STATEMENTS))


def refused_kind(words: Sequence[str]) -> str | None:
    """Returns the name for the longest row of :data:`REFUSED_STATEMENTS` that `words` (upper case) begin with, or
    None.
    """
    for count in range(min(len(words), WORDS_MAX), 0, -1):
        kind = REFUSED_STATEMENTS.get(tuple(words[:count]))
        if kind is not None:
            return kind
    return None
