"""Spark's own SQL tests, each statement on both sides: the gateway's engine, and plain Spark in the same release.

The gateway returns the same columns and rows as Spark, or `sql_files_explained.py` has a reason. Afterwards
`.oracle/sql_files.tsv` has each file's results, and `.oracle/sql_files.txt` each differing statement.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.spark.session import SparkDriver
from tests.oracle.sql_answers import Answer, Compared, Verdict, answers, compare
from tests.oracle.sql_files import JAR, MADE_TABLES, SqlFile, read_files, write_tables
from tests.oracle.sql_files_explained import Follower, explained_difference, matches, skipped

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(7200)]

PLAIN = Path(__file__).with_name("plain_spark.py")
# Files by name prefix; to run some: `make oracle TEST_ARGS="-k 'sparks and pi'"`.
GROUPS = (
    *("a*", "b*", "ca*", "ce*", "ch*", "col*", "com*", "con*", "cou*", "cr*", "cs*", "ct*", "cu*", "d*", "e*", "f*"),
    *("g*", "h*", "i*", "j*", "k*", "l*", "m*", "na*", "no*", "nu*", "o*", "pa*", "pe*", "pi*", "po*", "pr*", "q*"),
    *("r*", "s*", "t*", "u*", "v*", "w*", "x*"),
)


@pytest.fixture(scope="module", autouse=True)
def no_old_report() -> None:
    for name in ("sql_files.tsv", "sql_files.txt"):
        JAR.with_name(name).unlink(missing_ok=True)


def test_every_file_is_in_one_group() -> None:
    names = [file.name for file in read_files()]
    assert len(names) == 350
    assert {sum(matches(name, group) for group in GROUPS) for name in names} == {1}


@pytest.mark.parametrize("group", GROUPS)
def test_answers_are_sparks(group: str, spark_driver: SparkDriver, tmp_path: Path) -> None:
    files = [file for file in read_files(group) if skipped(file.name) is None]
    tables = write_tables(tmp_path)
    plain = plain_answers(files, tmp_path, tables)
    wrong = []
    for number, file in enumerate(files):
        ours = list(answers(file, spark_driver, tmp_path / "lakes" / str(number), tables))
        found = list(compared(file, ours, plain[file.name]))
        report(file, found)
        wrong += [f"{file.name}: {each.verdict}: {each.statement}" for each in found if each.is_wrong]
    assert not wrong, "\n\n".join(wrong)


def plain_answers(files: list[SqlFile], folder: Path, tables: dict[str, Path]) -> dict[str, list[Answer]]:
    """Returns plain Spark's answers, from a separate process."""
    requested, described = folder / "asked.json", folder / "answers.jsonl"
    made = {"folder": str(folder / "plain"), "tables": {name: str(path) for name, path in tables.items()}}
    listed = [{"name": file.name, "settings": file.settings, "statements": file.statements} for file in files]
    requested.write_text(json.dumps({**made, "made": MADE_TABLES, "files": listed}))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
    subprocess.run(
        [sys.executable, PLAIN, requested, described], cwd=folder, env=environment, check=True, capture_output=True
    )
    lines = (json.loads(line) for line in described.read_text().splitlines())
    return {line["name"]: line["answers"] for line in lines}


def compared(file: SqlFile, ours: list[Answer], plain: list[Answer]) -> Iterator[Compared]:
    """Yields each statement with its verdict, `skipped` if an explained difference applies."""
    follower = Follower()
    for statement, our, theirs in zip(file.statements, ours, plain, strict=True):
        found = compare(statement, our, theirs)
        error = our.get("error")
        reason = follower.reason(statement, error)
        if found.verdict is Verdict.DIFFERENT:
            reason = reason or explained_difference(file.name, statement, str(theirs["columns"]))
        yield found.explained(reason) if found.is_wrong and reason else found


def report(file: SqlFile, found: list[Compared]) -> None:
    counts = Counter(each.verdict for each in found)
    with JAR.with_name("sql_files.tsv").open("a") as summary:
        summary.write("\t".join([file.name, *(f"{verdict} {counts[verdict]}" for verdict in Verdict)]) + "\n")
    with JAR.with_name("sql_files.txt").open("a") as details:
        for each in found:
            if each.verdict not in (Verdict.SAME, Verdict.NEITHER):
                details.write(f"{file.name}: {each.verdict} ({each.reason})\n{each.statement}\n")
                details.write(f"  gateway: {each.ours}\n  spark: {each.plain}\n\n")
