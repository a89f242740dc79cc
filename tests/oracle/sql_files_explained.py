"""Accepted differences from Spark in Spark's own SQL tests, with reasons; any other difference fails the test.

A statement that depends on an object (table, view, function or variable) whose creation was an explained error is
explained by that error (:class:`Follower`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# File names, optionally with a final star, and why they are not run.
SKIPPED_FILES = {
    "udf/*": "the suite registers functions of Scala and Python under the names udf and udaf",
    "udaf/*": "the suite registers functions of Scala",
    "udtf/*": "the suite registers table functions of Python",
    "double-quoted-identifiers*": "names in double quotes are a setting that the gateway refuses",
    "nonansi/double-quoted-identifiers": "names in double quotes are a setting that the gateway refuses",
    "explain*": "plans show files and names, which are the gateway's own",
    "transform": "TRANSFORM runs programs on the server",
    "xml-functions": "from_xml and its like read files of the server as schemas",
    "to_from_avro": "from_avro and its like read files of the server as schemas",
    "try_reflect": "reflection calls any method of the server",
    "sql-on-files": "files are no tables of the gateway",
    "sql-path": "the path of function names is Spark's catalog's",
    "sql-udf*": "functions cannot be created",
    "view-schema-*": "views of the gateway follow their tables; Spark's have modes",
    "parse-query-correctness-old-behavior": "spark.sql.legacy.parseQueryWithoutEof would leave the end of texts unread",
    "non-excludable-rule": "which rules a plan passes cannot be set",
    "st-functions": "geometries have no form that clients read",
    "random": "random values",
    "query_regex_column": "regular expressions as names of columns are a setting that the gateway refuses",
}

# A pattern in the gateway's error, and why it refuses.
REFUSALS = (
    (r"\[UNSUPPORTED_STATEMENT\] .*FUNCTION", "functions cannot be created, described or dropped"),
    (r"\[UNSUPPORTED_STATEMENT\] .*(?:CACHE|ANALYZE|REPAIR|CALL)", "the gateway keeps no such state"),
    (r"\[UNSUPPORTED_STATEMENT\] .*(?:GLOBAL TEMP|MATERIALIZED)", "views are made, replaced and dropped"),
    (r"\[UNSUPPORTED_STATEMENT\] .*PARTITION", "partitions of Delta tables are made by their rows"),
    (r"\[UNSUPPORTED_STATEMENT\] .*(?:AS SERDE|SERDE|USING)", "forms of other catalogs and formats"),
    (r"\[UNSUPPORTED_STATEMENT\] EXPLAIN", "EXPLAIN takes queries and writes"),
    (r"\[UNSUPPORTED_STATEMENT\] (?:SHOW|ALTER SCHEMA|ALTER DATABASE|ALTER TABLE)", "refused by name"),
    (r"\[UNSUPPORTED_STATEMENT\] INSERT OVERWRITE DIRECTORY", "it writes files of the server"),
    (r"\[UNSUPPORTED_FUNCTION\]", "each excluded function has its reason in engine/sql/dialect/functions.py"),
    (r"\[UNSUPPORTED_CLAUSE\]", "refused by name, with advice"),
    (r"\[UNRESOLVED_ROUTINE\]", "functions that cannot be created, or are excluded"),
    (r"\[UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY\]", "files are no tables of the gateway"),
    (r"\[DELTA_UNSUPPORTED_DATA_TYPES\]", "Delta tables have no such columns (collations, intervals, TIME)"),
    (r"\[DELTA_", "Delta's own rule, where Spark's Parquet tables have none"),
    (r"\[EXPECT_TABLE_NOT_VIEW\]", "what Spark tells of views there, or does to them, it does to tables alone"),
    (r"\[CONFIG_NOT_AVAILABLE\].* spark\.sql\.(?:ansi\.doubleQuoted|parser\.|optimizer\.excludedRules)", "unsafe"),
    (r"\[CONFIG_NOT_AVAILABLE\].* spark\.sql\.legacy\.(?:consecutiveString|raiseErrorWithout|viewSchema)", "unsafe"),
    (r"\[CONFIG_NOT_AVAILABLE\].* spark\.sql\.legacy\.(?:identifierClause|parseQueryWithoutEof)", "unsafe"),
    (r"\[CONFIG_NOT_AVAILABLE\].* spark\.sql\.(?:caseSensitive|timestampType|charAsVarchar|preserveChar)", "unsafe"),
    (r"\[PARSE_SYNTAX_ERROR\].*(?i:temporary view .* using)", "temporary views of files"),
    (r"\[PARSE_SYNTAX_ERROR\].*(?i:drop outer\.|order by x desc\s+order by)", "sqlglot does not read it"),
    (r"\[PARSE_SYNTAX_ERROR\].*(?i:tablesample \(100 percent\))", "the alias of a sampled subquery comes first"),
    (r"\[PARSE_SYNTAX_ERROR\].*DEFAULT COLLATION", "views have no collation of their own"),
    (r"select 1 \| extend y", "spark.sql.parser.singleCharacterPipeOperator.enabled cannot be set"),
    (r"\[CONFIG_NOT_AVAILABLE\].*decorrelateExistsIn", "Spark 4.3 has no such setting, but takes any"),
    (r"\$\{colname\}", "variables are one token, and no part of strings and quoted names"),
    (r"\[INVALID_IDENTIFIER\].*'``'", "no column has an empty name"),
    (r"\[UNSUPPORTED_FEATURE.STATEMENT\] OPTIONS in CREATE TABLE", "Delta tables have no options"),
    (r"\[PATH_NOT_ALLOWED\]", "the suite's paths are outside of the lake"),
    (r"FROM view_ansi", "views run with the settings of their reader, and not of their maker"),
    (r"global_temp", "global temporary views would be seen by other sessions"),
    (r"\[PARSE_SYNTAX_ERROR\].*\bselect \* select \*", "several SELECT behind one FROM"),
)

# File, a pattern in the statement or its column names, and why its answer differs.
DIFFERENCES = (
    ("binary*", r"to_(?:csv|xml)", "the file sets how bytes are shown, which is the client's side of a result"),
    (
        "identifier-clause*",
        r"FROM IDENTIFIER\(.*t.*a.*b",
        "UPDATE and MERGE before it, which Spark's CSV table has not",
    ),
    ("join-lateral", r"\(outer\(", "Spark names the column after the catalog's table, which here is a list of files"),
    ("grouping_set_grand_total_disabled", r"GROUPING SETS", "the setting is the analyzer's own"),
    ("metadata_column_resolution", r"_metadata\.\*", "_metadata of Delta tables has row_index among its fields"),
    ("pipe-operators", r"outer\(", "Spark names the column after the view, which here is a query"),
    ("postgreSQL/date", r"5874897|5874898|make_date", "dates before year 1 and after 9999 have their sign"),
    ("nonansi/literals", r"S(?:\"\"|'')par", "spark.sql.legacy.consecutiveStringLiterals.enabled, as in literals"),
    ("literals", r"S(?:\"\"|'')par", "spark.sql.legacy.consecutiveStringLiterals.enabled changes how texts are split"),
)

_MADE = re.compile(
    r"(?is)\b(?:CREATE|DECLARE|REPLACE)\b.*?\b(?:TABLE|VIEW|FUNCTION|SCHEMA|DATABASE|VARIABLE|DECLARE)\s+"
    r"(?:IF\s+NOT\s+EXISTS\s+)?([\w.`]+)"
)
_DECLARED = re.compile(r"(?is)\s*DECLARE\s+(?:OR\s+REPLACE\s+)?(?:VAR(?:IABLE)?\s+)?([\w.`]+)")


@dataclass
class Follower:
    """Objects missing after explained errors in a file, while its statements are processed in order."""

    missing: set[str] = field(default_factory=set)

    def reason(self, statement: str, error: str | None) -> str | None:
        """Returns why the statement may fail or differ, or None without an explanation."""
        found = next(
            (why for pattern, why in REFUSALS if error and re.search(pattern, f"{error} {statement}", re.S)), None
        )
        if found is None and self._requires_missing(statement):
            found = "needs what was refused before"
        if found is not None and error:
            self._note(statement)
        return found

    def _note(self, statement: str) -> None:
        made = _MADE.search(statement) or _DECLARED.match(statement)
        if made is not None:
            self.missing.add(made[1].replace("`", "").rpartition(".")[2].lower())
        if re.match(r"(?i)\s*(?:INSERT|ALTER|SET|DELETE|UPDATE|MERGE|DROP|BEGIN|EXECUTE|USE)\b", statement):
            words = re.findall(r"\w+", statement.lower())
            self.missing.update(words[2:4] if words[0] in ("insert", "alter", "delete", "merge") else words[1:2])

    def _requires_missing(self, statement: str) -> bool:
        return not self.missing.isdisjoint(re.findall(r"\w+", statement.lower()))


def explained_difference(file: str, statement: str, columns: str) -> str | None:
    return next(
        (
            why
            for pattern, found, why in DIFFERENCES
            if matches(file, pattern) and re.search(found, f"{statement} {columns}", re.S)
        ),
        None,
    )


def skipped(file: str) -> str | None:
    """Why a file is not run."""
    return next((why for pattern, why in SKIPPED_FILES.items() if matches(file, pattern)), None)


def matches(file: str, pattern: str) -> bool:
    """Returns if the pattern matches; a final star matches any rest."""
    return file.startswith(pattern[:-1]) if pattern.endswith("*") else file == pattern
