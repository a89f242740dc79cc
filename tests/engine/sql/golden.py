"""Loads `splice.sql`: blocks with a title, a query, `=>` and the query with `r0`, `r1`, … instead of its tables.

A title may end in options in brackets: `[no spark]` if Spark alone cannot run it (time travel, markers), and `[full:
catalog.schema.table]`, one per relation, for relations' full names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"(?ms)^-- (?P<title>.*?)\n(?P<query>.*?)\n=>\n(?P<expected>.*?)(?:\n\n|\n?\Z)")
_OPTION = re.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpliceCase:
    title: str
    query: str
    expected: str
    full_names: tuple[tuple[str, ...], ...]
    runs_in_spark: bool


def load_cases() -> list[SpliceCase]:
    """Returns all blocks in `splice.sql`, in order."""
    text = Path(__file__).with_name("splice.sql").read_text(encoding="utf-8")
    return [_case(match) for match in _BLOCK.finditer(text)]


def _case(match: re.Match[str]) -> SpliceCase:
    options = _OPTION.findall(match["title"])
    full = next((option.removeprefix("full: ") for option in options if option.startswith("full: ")), "")
    return SpliceCase(
        title=_OPTION.sub("", match["title"]).strip(),
        query=match["query"],
        expected=match["expected"],
        full_names=tuple(tuple(name.split(".")) for name in full.split(", ")) if full else (),
        runs_in_spark="no spark" not in options,
    )
