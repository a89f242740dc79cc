"""Java code that Janino would compile differently than written."""

from __future__ import annotations

import re

from tests.paths import ROOT

JAVA = ROOT / "engine" / "spark" / "java"
_MODIFIERS = re.compile(
    r"^\s*((?:(?:public|protected|private|static|final|synchronized)\s+)+)[\w.<>\[\]]+ \w+\(", re.MULTILINE
)


def locks_its_class(modifiers: str) -> bool:
    """Private methods become static ones (`engine/spark/jvm.py`): unlike the object's other methods they would lock the
    class.
    """
    return {"private", "synchronized"} <= set(modifiers.split()) and "static" not in modifiers


def test_no_private_method_is_synchronized() -> None:
    methods = {file.name: _MODIFIERS.findall(file.read_text(encoding="utf-8")) for file in JAVA.glob("*.java")}
    assert any("synchronized" in each for found in methods.values() for each in found)
    assert not {name for name, found in methods.items() if any(map(locks_its_class, found))}


def test_the_search_finds_one() -> None:
    text = "  private final synchronized void grown(int partition, Segment file) throws IOException {"
    assert locks_its_class(_MODIFIERS.findall(text)[0])
    assert not locks_its_class(_MODIFIERS.findall(text.replace("final", "static"))[0])
