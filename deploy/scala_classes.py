"""Copies of Spark's class files in which javac does not see methods that keep Java classes from extending Spark's.

Scala's compiler copies a trait's methods into the classes that extend it, without their generics, and lets an
overriding method have another element type in its result. javac rejects a class that inherits both: `mapChildren` of
LogicalRelation returns a TreeNode, and the method of LeafLike that it implements a LogicalPlan. In the copies these
methods have the flag of synthetic members, which javac ignores: it finds the inherited ones, which have the same
descriptors. Only javac reads the copies.
"""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

_FORWARDERS = frozenset({"mapChildren", "withNewChildrenInternal"})
_HIDDEN = {
    "spark-catalyst": {
        "org/apache/spark/sql/catalyst/expressions/LeafExpression.class": _FORWARDERS,
    },
    "spark-sql": {
        "org/apache/spark/sql/execution/ColumnarToRowExec.class": _FORWARDERS,
        "org/apache/spark/sql/execution/SparkPlanner.class": frozenset({"strategies"}),
        "org/apache/spark/sql/execution/datasources/LogicalRelation.class": _FORWARDERS | {"output"},
    },
}
_SYNTHETIC = 0x1000
_MAGIC = 0xCAFEBABE
_UTF8 = 1
# The bytes of a constant after its tag (Java Virtual Machine Specification, section 4.4).
_CONSTANT_BYTES = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
_TWO_ENTRIES = (5, 6)


def write_copies(jars: Path, folder: Path) -> None:
    """Writes the copies below `folder`, which goes before Spark's jars on javac's class path."""
    for jar, classes in _HIDDEN.items():
        (file,) = jars.glob(f"{jar}_*.jar")
        with zipfile.ZipFile(file) as archive:
            for name, methods in classes.items():
                copy = folder / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(hide_methods(archive.read(name), methods))


def hide_methods(content: bytes, hidden: frozenset[str]) -> bytes:
    """Returns a class file whose methods with these names are synthetic. Raises `ValueError` if one is missing."""
    changed = bytearray(content)
    names, at = _read_names(content)
    at += 6  # the access flags, this class and its superclass
    at += 2 + 2 * _u2(content, at)
    fields, at = _u2(content, at), at + 2
    for _ in range(fields):
        at = _skip_member(content, at)
    methods, at = _u2(content, at), at + 2
    found = set()
    for _ in range(methods):
        flags, name = struct.unpack_from(">HH", content, at)
        if names[name] in hidden:
            found.add(names[name])
            struct.pack_into(">H", changed, at, flags | _SYNTHETIC)
        at = _skip_member(content, at)
    if found != hidden:
        raise ValueError(f"the class has no methods {sorted(hidden - found)}")
    return bytes(changed)


def _read_names(content: bytes) -> tuple[dict[int, str], int]:
    """Returns the texts in the constant pool by their index, and the position after the pool.

    Names in ASCII are the same in Java's own form of UTF-8.
    """
    if struct.unpack_from(">I", content)[0] != _MAGIC:
        raise ValueError("no class file")
    names: dict[int, str] = {}
    at, index = 10, 1
    while index < _u2(content, 8):
        tag = content[at]
        if tag == _UTF8:
            size = _u2(content, at + 1)
            names[index] = content[at + 3 : at + 3 + size].decode("latin-1")
            at += 3 + size
        else:
            at += 1 + _CONSTANT_BYTES[tag]
        index += 2 if tag in _TWO_ENTRIES else 1
    return names, at


def _skip_member(content: bytes, at: int) -> int:
    """Returns the position after a field or method, whose flags are at `at`."""
    attributes = _u2(content, at + 6)
    at += 8
    for _ in range(attributes):
        at += 6 + struct.unpack_from(">I", content, at + 2)[0]
    return at


def _u2(content: bytes, at: int) -> int:
    value: int = struct.unpack_from(">H", content, at)[0]
    return value
