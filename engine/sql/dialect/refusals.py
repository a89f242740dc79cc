"""The statements that are known by name and do not run here: a table of their first words.

The longest row that the text begins with names the refusal, so `CREATE FUNCTION` says more than `CREATE`. A statement
whose first words are in no row is a syntax error. Rows leave this table as the statements come to be supported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

_ROWS = """
ADD ARCHIVE | ADD ARCHIVES | ADD FILE | ADD FILES | ADD JAR | ADD JARS | ALTER | ALTER CATALOG
ALTER DATABASE | ALTER NAMESPACE | ALTER SCHEMA | ALTER TABLE | ALTER VIEW | ANALYZE TABLE | ANALYZE TABLES
BEGIN | BEGIN TRANSACTION | BEGIN WORK
CACHE | CACHE LAZY TABLE | CACHE TABLE | CALL | CLEAR CACHE | CLOSE | COMMENT | COMMENT ON | COMMIT
CONVERT TO DELTA | COPY INTO | CREATE | CREATE CATALOG | CREATE DATABASE | CREATE EXTERNAL TABLE | CREATE FLOW
CREATE FUNCTION | CREATE GLOBAL TEMPORARY VIEW | CREATE INDEX | CREATE MATERIALIZED VIEW | CREATE NAMESPACE
CREATE OR REPLACE FUNCTION | CREATE OR REPLACE GLOBAL TEMPORARY VIEW | CREATE OR REPLACE TABLE
CREATE OR REPLACE TEMP VIEW | CREATE OR REPLACE TEMPORARY FUNCTION | CREATE OR REPLACE TEMPORARY VIEW
CREATE OR REPLACE VIEW | CREATE SCHEMA | CREATE STREAMING TABLE | CREATE TABLE | CREATE TEMP VIEW
CREATE TEMPORARY FUNCTION | CREATE TEMPORARY TABLE | CREATE TEMPORARY VIEW | CREATE VARIABLE | CREATE VIEW
DECLARE | DELETE | DELETE FROM | DFS | DROP | DROP CATALOG | DROP DATABASE | DROP FUNCTION | DROP INDEX
DROP MATERIALIZED VIEW | DROP NAMESPACE | DROP SCHEMA | DROP TABLE | DROP TEMPORARY FUNCTION
DROP TEMPORARY VARIABLE | DROP VIEW | EXECUTE | EXECUTE IMMEDIATE | EXPORT TABLE | FETCH | FSCK | GENERATE
GRANT | GET DIAGNOSTICS | IF | IMPORT | INSERT | INSERT INTO | INSERT OVERWRITE | INSERT OVERWRITE DIRECTORY
INSERT OVERWRITE LOCAL DIRECTORY | KILL | LIST | LIST ARCHIVE | LIST FILE | LIST JAR | LOAD DATA | LOCK | LOOP
MAP | MERGE | MERGE INTO | MSCK | MSCK REPAIR TABLE | OPEN | OPTIMIZE | PREPARE | PUT | REDUCE | REFRESH
REFRESH FUNCTION | REFRESH TABLE | REORG TABLE | REPAIR TABLE | REPEAT | REPLACE TABLE | RESIGNAL | RESTORE | REVOKE
ROLLBACK | SIGNAL | START TRANSACTION | SYNC | TRUNCATE | TRUNCATE TABLE | UNCACHE TABLE | UNDROP | UNLOCK
UPDATE | VACUUM | WHILE
"""

REFUSED_STATEMENTS: Mapping[tuple[str, ...], str] = MappingProxyType(
    {tuple(row.split()): row.strip() for line in _ROWS.strip().splitlines() for row in line.split("|")}
    | {
        ("BEGIN",): "SQL scripting (BEGIN … END)",
        ("MAP",): "MAP … USING (a script)",
        ("REDUCE",): "REDUCE … USING (a script)",
    }
)
"""First words of a statement, in upper case → how the refusal calls it."""

WORDS_MAX = max(map(len, REFUSED_STATEMENTS))
"""How many words of a statement :func:`refused_kind` looks at."""


def refused_kind(words: Sequence[str]) -> str | None:
    """The longest row of :data:`REFUSED_STATEMENTS` that `words` (upper case) begin with, or None."""
    for count in range(min(len(words), WORDS_MAX), 0, -1):
        kind = REFUSED_STATEMENTS.get(tuple(words[:count]))
        if kind is not None:
            return kind
    return None
