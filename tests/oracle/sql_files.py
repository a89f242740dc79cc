"""Spark's own SQL tests: the files from `sql-tests/inputs` in spark-sql's test jar, as statements.

Files are parsed like in Spark's `SQLQueryTestSuite`: lines that begin with `--` are comments, some with directives
(`--SET key = value`, `--IMPORT file`, `--QUERY-DELIMITER-START` and `-END` around a statement with semicolons or
comments inside); a semicolon ends a statement unless a backslash precedes it. `--CONFIG_DIM` repeats a file with other
physical plans, which change no answer: each file runs once.

The gateway has Delta tables only, so `USING parquet` (orc, json, csv, text, hive) becomes `USING delta` on its side.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.paths import ROOT

JAR = ROOT / ".oracle" / "spark-sql-tests.jar"
_INPUTS = "sql-tests/inputs/"
_SET = re.compile(r"--SET\s+(.*)")
_IMPORT = re.compile(r"--IMPORT\s+(.*)")
_DELIMITER = "--QUERY-DELIMITER-"
_END = re.compile(r"(?<!\\);")
_PROVIDER = re.compile(r"(?i)\bUSING\s+(?:`?(?:parquet|orc|json|csv|text|hive)`?)(?![\w.(])")


@dataclass(frozen=True, slots=True)
class SqlFile:
    """`settings` are keys and values that hold for the whole file."""

    name: str
    settings: tuple[tuple[str, str], ...]
    statements: tuple[str, ...]


def read_files(pattern: str = "*") -> list[SqlFile]:
    """Returns the files whose names, without `.sql`, match `pattern`: names with stars, commas between them."""
    with zipfile.ZipFile(JAR) as jar:
        names = [name for name in jar.namelist() if name.startswith(_INPUTS) and name.endswith(".sql")]
        texts = {name.removeprefix(_INPUTS).removesuffix(".sql"): jar.read(name).decode() for name in names}
    found = re.compile("|".join(re.escape(part).replace(r"\*", ".*") for part in pattern.split(",")))
    return [_read(name, texts) for name in sorted(texts) if found.fullmatch(name)]


def for_gateway(statement: str) -> str:
    """Returns the statement as the gateway gets it: tables are Delta's."""
    if not re.match(r"(?i)\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(?:CREATE|REPLACE)\b", statement):
        return statement
    return _PROVIDER.sub("USING delta", statement)


def write_tables(folder: Path) -> dict[str, Path]:
    """Returns the suite's own tables that come from data, as Parquet: their names and files."""
    wide = "unique1 unique2 two four ten twenty hundred thousand twothousand fivethous tenthous odd even".split()
    columns = {name: pa.int32() for name in wide} | dict.fromkeys(("stringu1", "stringu2", "string4"), pa.string())
    data = {"aggtest": ("agg", {"a": pa.int32(), "b": pa.float32()}), "onek": ("onek", columns)}
    data["tenk1"] = ("tenk", columns)
    files = {}
    with zipfile.ZipFile(JAR) as jar:
        for name, (source, types) in data.items():
            table = pa.csv.read_csv(
                pa.BufferReader(jar.read(f"test-data/postgresql/{source}.data")),
                read_options=pa.csv.ReadOptions(column_names=list(types)),
                parse_options=pa.csv.ParseOptions(delimiter="\t"),
                convert_options=pa.csv.ConvertOptions(column_types=types),
            )
            files[name] = folder / f"{name}.parquet"
            pq.write_table(table, files[name])
    return files


# The suite's own tables that a query makes.
MADE_TABLES = {
    "testdata": "SELECT cast(id AS int) AS key, string(id) AS value FROM range(1, 101)",
    "arraydata": "SELECT * FROM VALUES (array(1, 2, 3), array(array(1, 2, 3))), (array(2, 3, 4), array(array(2, 3, 4)))"
    " AS t(arraycol, nestedarraycol)",
    "mapdata": "SELECT * FROM VALUES (map(1, 'a1', 2, 'b1', 3, 'c1', 4, 'd1', 5, 'e1')),"
    " (map(1, 'a2', 2, 'b2', 3, 'c2', 4, 'd2')), (map(1, 'a3', 2, 'b3', 3, 'c3')), (map(1, 'a4', 2, 'b4')),"
    " (map(1, 'a5')) AS t(mapcol)",
}


def _read(name: str, texts: dict[str, str]) -> SqlFile:
    lines = texts[name].split("\n")
    imported = [_read(other.strip().removesuffix(".sql"), texts) for other in _found(_IMPORT, lines)]
    pairs = [pair.split("=", 1) for line in _found(_SET, lines) for pair in re.split(r",(?=\s*spark\.)", line)]
    settings = tuple((key.strip(), value.strip()) for key, value in pairs)
    statements = [text for other in imported for text in other.statements] + _statements(lines)
    return SqlFile(name, settings, tuple(statements))


def _found(pattern: re.Pattern[str], lines: list[str]) -> list[str]:
    return [match[1] for line in lines if (match := pattern.match(line.strip()))]


def _statements(lines: list[str]) -> list[str]:
    remaining = [line for line in lines if not line.strip().startswith("--") or line.strip().startswith(_DELIMITER)]
    statements: list[str] = []
    plain: list[str] = []
    whole: list[str] | None = None
    for line in remaining:
        if line.strip().startswith(_DELIMITER + "START"):
            statements += _split(plain)
            plain, whole = [], []
        elif line.strip().startswith(_DELIMITER + "END"):
            statements.append("\n".join(whole or ()).removesuffix(";"))
            whole = None
        else:
            (plain if whole is None else whole).append(line)
    statements += _split(plain)
    return [text.strip() for text in statements if text.strip()]


def _split(lines: list[str]) -> list[str]:
    return [piece.replace("\\;", ";") for piece in _END.split("\n".join(lines))]
