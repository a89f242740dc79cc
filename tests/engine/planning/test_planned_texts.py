"""The texts that planning gives to Spark: statements and their texts are in `planned_texts.txt`.

`UPDATE_GOLDEN=1` writes the file again. A line `? columns` has the columns that Spark reports for a query.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.delta.spec.actions import AddCdcFile
from tests.engine.planning.lake import PlanningLake, data_file

GOLDEN = Path(__file__).with_name("planned_texts.txt")
_PLANS = ("engine.planning.", "engine.formats.")


@pytest.fixture(scope="module", autouse=True)
def relations(planning: PlanningLake) -> None:
    planning.make_view("smaller", "SELECT a + 1 FROM small", "b INT")
    planning.make_view("hiding", "SELECT a AS __scan_0 FROM plain", "b INT")
    planning.make("CREATE TABLE fed_reads (a INT) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    planning.commit("fed_reads", data_file("1.parquet"))
    planning.commit("fed_reads", data_file("2.parquet"), AddCdcFile(path="_change_data/c.parquet", size=10))


def test_planned_texts_read_as_the_golden_file(planning: PlanningLake) -> None:
    expected = GOLDEN.read_text(encoding="utf-8")
    found = "\n".join(plan_all(planning, expected)) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == expected


def plan_all(planning: PlanningLake, golden: str) -> Iterator[str]:
    """Yields the golden file's lines, with the texts in each statement's plan after it."""
    blocks = re.split(r"\n\n(?=> |== )", golden.rstrip("\n"))
    for number, block in enumerate(blocks):
        given = [line for line in block.split("\n") if line.startswith(("> ", "? "))]
        yield from given or [block]
        if given:
            statement = "\n".join(line.removeprefix("> ") for line in given if line.startswith("> "))
            columns = "".join(line.removeprefix("? ") for line in given if line.startswith("? "))
            for path, text in texts_of(planning.plan(object, statement, columns)):
                yield f"{path}: {text}".replace("\n", "\n    ")
        if number < len(blocks) - 1:
            yield ""


def texts_of(value: object, path: str = "plan") -> Iterator[tuple[str, str]]:
    """Yields the texts in a plan, with the path of attributes that leads to them."""
    if isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from texts_of(item, f"{path}[{number}]")
    elif is_dataclass(value) and type(value).__module__.startswith(_PLANS):
        for field in fields(value):
            inner: Any = getattr(value, field.name)
            if field.name == "text" and isinstance(inner, str):
                yield path, inner
            else:
                yield from texts_of(inner, f"{path}.{field.name}")
