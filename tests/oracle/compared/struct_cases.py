"""Structs whose fields are ordered differently than the column's, or differ: in UPDATE, MERGE and INSERT.

The scenarios are from Delta's suites UpdateSuiteBase, MergeIntoSuiteBase, MergeIntoSchemaEvolutionSuite,
MergeIntoStructEvolutionNullnessSuite, DeltaInsertIntoColumnOrderSuite and DeltaInsertIntoColumnOrderAdvancedSuite; many
are rows in one table here. Compared are the steps' success, and column `s` afterwards: values and type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.oracle.compared.case import Case

_ASKS = ("SELECT id, CAST(s AS STRING) AS s, typeof(s) AS type FROM {t} ORDER BY id",)
_EVOLVING = "MERGE WITH SCHEMA EVOLUTION INTO {t} t"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A type around a struct: `type` and `value` have `{}` for the struct's; `nulls` are values for `type` that are
    NULL further outside.
    """

    type: str
    value: str
    nulls: tuple[str, ...] = ()

    def values(self, *structs: str) -> tuple[str, ...]:
        return (*(self.value.format(struct) for struct in structs), *self.nulls)


_SHAPES = {
    "struct": _Shape(type="{}", value="{}"),
    "struct in struct": _Shape(
        type="STRUCT<v: {}, w: INT>", value="named_struct('v', {}, 'w', 7)", nulls=("CAST(NULL AS {})",)
    ),
    "array": _Shape(type="ARRAY<{}>", value="array({})", nulls=("CAST(NULL AS {})", "array()")),
    "array in array": _Shape(type="ARRAY<ARRAY<{}>>", value="array(array({}))"),
    "array in struct": _Shape(type="STRUCT<v: ARRAY<{}>>", value="named_struct('v', array({}))"),
    "struct in array": _Shape(type="ARRAY<STRUCT<v: {}>>", value="array(named_struct('v', {}), NULL)"),
    "map": _Shape(type="MAP<STRING, {}>", value="map('k', {})", nulls=("CAST(NULL AS {})", "map()")),
    "map in array": _Shape(type="ARRAY<MAP<STRING, {}>>", value="array(map('k', {}))"),
}
_PAIR = "STRUCT<a: INT, b: INT>"
_OLD, _SWAPPED = "named_struct('a', 1, 'b', 2)", "named_struct('b', 20, 'a', 10)"
_ORDERS = {
    "other order": "named_struct('b', 20, 'a', 10)",
    "other case": "named_struct('B', 20, 'A', 10)",
    "cast": "named_struct('b', '20', 'a', 10L)",
    "one more": "named_struct('b', 20, 'a', 10, 'c', 30)",
    "one less": "named_struct('b', 20)",
    "other names": "named_struct('x', 20, 'y', 10)",
    "one other name": "named_struct('b', 20, 'y', 10)",
}
_UPDATE, _INSERT = "WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"
_CLAUSES = {
    "update *": _UPDATE,
    "update s": "WHEN MATCHED THEN UPDATE SET s = x.s",
    "insert *": _INSERT,
    "insert s": "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (x.id, x.s)",
    "both *": f"{_UPDATE} {_INSERT}",
    "other column, insert *": f"WHEN MATCHED THEN UPDATE SET id = t.id {_INSERT}",
    "delete, insert *": f"WHEN MATCHED THEN DELETE {_INSERT}",
    "update *, by source": f"{_UPDATE} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET id = t.id + 100",
}


def _made(type_: str, *values: str) -> tuple[str, str]:
    """Returns a table with these values in `s`, by number."""
    rows = ", ".join(f"({number}, {value})" for number, value in enumerate(values, 1))
    return f"CREATE TABLE {{t}} (id INT, s {type_})", f"INSERT INTO {{t}} VALUES {rows}"


def _case(*steps: str) -> Case:
    return Case(steps=steps, asks=_ASKS, is_read=False)


def _of(forms: Mapping[str, str], shape: str, *remaining: str) -> Mapping[str, str]:
    """Returns all forms for plain structs, the `remaining` ones for others."""
    return forms if shape == "struct" else {name: forms[name] for name in remaining}


def _assigned() -> Iterator[tuple[str, Case]]:
    """UPDATE and MERGE without evolution."""
    for shape_name, shape in _SHAPES.items():
        steps = [
            *_made(shape.type.format(_PAIR), shape.value.format(_OLD), shape.value.format("NULL")),
            *(f"UPDATE {{t}} SET s = {shape.value.format(value)}" for value in _ORDERS.values()),
        ]
        yield f"update, {shape_name}", _case(*steps)
        for clause_name, clauses in _of(_CLAUSES, shape_name, "both *").items():
            merges = [
                f"MERGE INTO {{t}} t USING (SELECT id, {shape.value.format(value)} AS s "
                f"FROM VALUES (2), ({number}) v(id))"
                f" x ON t.id = x.id {clauses}"
                for number, value in enumerate(_ORDERS.values(), 10)
            ]
            yield f"merge {clause_name}, {shape_name}", _case(*steps[:2], *merges)
    keys = "MAP<STRUCT<a: INT, b: INT>, INT>"
    yield (
        "update, map keys",
        _case(
            *_made(keys, f"map({_OLD}, 1)"), *(f"UPDATE {{t}} SET s = map({value}, 2)" for value in _ORDERS.values())
        ),
    )


_DEEP = _made(
    "STRUCT<i: STRUCT<a: INT, b: INT>, j: INT, l: ARRAY<STRUCT<a: INT>>, m: MAP<STRING, INT>>",
    "named_struct('i', named_struct('a', 1, 'b', 2), 'j', 3, 'l', array(named_struct('a', 1)), 'm', map('k', 1))",
    "NULL",
)
_FIELDS = (
    f"UPDATE {{t}} SET s.i = {_SWAPPED}",
    "UPDATE {t} SET s.i.a = 5, s.j = s.i.b",
    "UPDATE {t} SET s.i = NULL WHERE id = 1",
    "UPDATE {t} SET s.i.b = '6'",
    "UPDATE {t} SET S.I.B = 7, s.l = array(named_struct('A', 9L))",
    f"UPDATE {{t}} SET s = named_struct('m', map(), 'l', NULL, 'j', 5, 'i', {_SWAPPED}) WHERE id = 2",
    "UPDATE {t} SET s.i.x = 1",
    "UPDATE {t} SET s.i.a = 1, s.i = NULL",
    "UPDATE {t} SET s.j = 1, s.j = 2",
    "UPDATE {t} SET s.l.a = 1",
    "UPDATE {t} SET s.m.k = 1",
    "UPDATE {t} SET s.i = 5",
    "UPDATE {t} SET s.j = s",
    "UPDATE {t} SET s.i = named_struct('a', 1, 'A', 2)",
    "UPDATE {t} SET s.i = named_struct('b', 1, 'z', 2)",
    "UPDATE {t} SET s = NULL",
)


# --- INSERT ----------------------------------------------------------------------------------------------------------

_INSERTS = {
    "into": "INSERT INTO {t} SELECT id, s FROM q",
    "overwrite": "INSERT OVERWRITE {t} SELECT id, s FROM q",
    "columns": "INSERT INTO {t} (id, s) SELECT id, s FROM q",
    "columns, overwrite": "INSERT OVERWRITE {t} (s, id) SELECT s, id FROM q",
    "by name": "INSERT INTO {t} BY NAME SELECT s, id FROM q",
    "replace where": "INSERT INTO {t} REPLACE WHERE id = 1 SELECT id, s FROM q",
    "other names": "INSERT INTO {t} SELECT id AS k, s AS v FROM q",
    "evolving": "INSERT WITH SCHEMA EVOLUTION INTO {t} SELECT id, s FROM q",
    "evolving by name": "INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT s, id FROM q",
}
_PARTITIONED = {
    "partition": "INSERT INTO {t} PARTITION (id = 1) SELECT s FROM q",
    "overwrite partition": "INSERT OVERWRITE {t} PARTITION (id = 1) SELECT s FROM q",
    "partition, columns": "INSERT OVERWRITE {t} PARTITION (id = 1) (s) SELECT s FROM q",
}


def _inserted() -> Iterator[tuple[str, Case]]:
    for order in ("other order", "cast"):
        for shape_name, shape in _SHAPES.items():
            type_, value = shape.type.format(_PAIR), shape.value.format(_ORDERS[order])
            null = f"CAST(NULL AS {shape.type.format('STRUCT<b: INT, a: INT>')})"
            view = (
                f"WITH q AS (SELECT 1 AS id, {value} AS s{'' if order == 'cast' else f' UNION ALL SELECT 1, {null}'})"
            )
            for name, insert in _of({**_INSERTS, **_PARTITIONED}, shape_name, "into", "by name").items():
                parted = " PARTITIONED BY (id)" if name in _PARTITIONED else ""
                yield (
                    f"insert {name}, {order}, {shape_name}",
                    _case(f"CREATE TABLE {{t}} (id INT, s {type_}){parted}", f"{view} {insert}"),
                )
    for order in ("one more", "one less", "other names", "one other name"):
        view = f"WITH q AS (SELECT 1 AS id, {_ORDERS[order]} AS s)"
        for name, insert in _INSERTS.items():
            yield f"insert {name}, {order}", _case(f"CREATE TABLE {{t}} (id INT, s {_PAIR})", f"{view} {insert}")
    yield (
        "insert values",
        _case(
            f"CREATE TABLE {{t}} (id INT, s {_PAIR})",
            f"INSERT INTO {{t}} VALUES (1, {_SWAPPED})",
            f"INSERT INTO {{t}} (id, s) VALUES (2, {_SWAPPED})",
            "INSERT INTO {t} VALUES (3, named_struct('x', 20, 'y', 10))",
            f"INSERT INTO {{t}} SELECT * FROM VALUES (4, {_SWAPPED}) v(id, s)",
            f"INSERT INTO {{t}} SELECT 5, {_SWAPPED}",
        ),
    )


# --- MERGE WITH SCHEMA EVOLUTION -------------------------------------------------------------------------------------

_TRIPLE = "STRUCT<x: INT, y: INT>"
_GIVEN = ("named_struct('x', 10, 'y', 20)", "named_struct('x', CAST(NULL AS INT), 'y', CAST(NULL AS INT))", "NULL")
_HAD = ("named_struct('y', 2, 'z', 3)", "named_struct('y', CAST(NULL AS INT), 'z', CAST(NULL AS INT))", "NULL")
_ACTIONS = {
    "update *": _UPDATE,
    "update s": "WHEN MATCHED THEN UPDATE SET s = x.s",
    "update s.x": "WHEN MATCHED THEN UPDATE SET s.x = x.s.x",
    "update s.y": "WHEN MATCHED THEN UPDATE SET s.y = x.s.y",
    "insert *": _INSERT,
    "insert s": "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (x.id, x.s)",
    "update s, insert *": f"WHEN MATCHED THEN UPDATE SET s = x.s {_INSERT}",
    "update * and s": f"WHEN MATCHED AND t.id < 5 THEN UPDATE SET s = x.s {_UPDATE} {_INSERT}",
}


def _nullness() -> Iterator[tuple[str, Case]]:
    """Yields each target value with each source value; and unmatched rows on either side."""
    for shape_name, shape in _SHAPES.items():
        own, given = shape.type.format("STRUCT<y: INT, z: INT>"), shape.type.format(_TRIPLE)
        had = [value.replace("AS {}", f"AS {own}") for value in (*shape.values(*_HAD), "NULL")]
        gave = [value.replace("AS {}", f"AS {given}") for value in (*shape.values(*_GIVEN), "NULL")]
        pairs = [(old, new) for old in had for new in gave]
        source = " UNION ALL ".join(
            f"SELECT {number}, CAST({new} AS {given})"
            for number, new in [*enumerate((new for _, new in pairs), 1), *enumerate(gave, 200)]
        )
        for name, action in _of(_ACTIONS, shape_name, "update *", "update s", "insert *").items():
            yield (
                f"nullness {name}, {shape_name}",
                _case(
                    *_made(own, *(old for old, _ in pairs), had[0]),
                    f"{_EVOLVING} USING (SELECT * FROM ({source}) q(id, s)) x ON t.id = x.id {action}",
                ),
            )


def _evolved() -> Iterator[tuple[str, Case]]:
    for shape_name, shape in _SHAPES.items():
        for order, value in _of(_ORDERS, shape_name, "one more", "one less").items():
            made = _made(shape.type.format(_PAIR), shape.value.format(_OLD), shape.value.format("NULL"), "NULL")
            for name, clauses in _of(_CLAUSES, shape_name, "both *", "other column, insert *").items():
                source = f"SELECT id, {shape.value.format(value)} AS s FROM VALUES (1), (2), (3), (4) v(id)"
                yield (
                    f"evolved {name}, {order}, {shape_name}",
                    _case(*made, f"{_EVOLVING} USING ({source}) x ON t.id = x.id {clauses}"),
                )
    keyed = _made("MAP<STRUCT<a: INT, b: INT>, STRUCT<c: INT>>", f"map({_OLD}, named_struct('c', 1))")
    for order, value in _of(_ORDERS, "map keys", "other order", "one more", "one less").items():
        source = f"SELECT id, map({value}, named_struct('d', 5, 'c', 6)) AS s FROM VALUES (1), (2) v(id)"
        for name, clauses in _of(_CLAUSES, "map keys", "both *", "other column, insert *").items():
            yield (
                f"evolved {name}, {order}, map keys",
                _case(*keyed, f"{_EVOLVING} USING ({source}) x ON t.id = x.id {clauses}"),
            )


_SOURCE = (
    "SELECT id, named_struct('i', named_struct('n', 5, 'a', 6), 'p', 8) AS s,"
    " named_struct('i', CAST(NULL AS STRUCT<a: INT>), 'j', 4) AS r,"
    " 9 AS c FROM VALUES (1), (2), (3) v(id)"
)
_NEW_FIELDS = {
    "one new field": "WHEN MATCHED THEN UPDATE SET s.p = x.s.p",
    "one new field inside": "WHEN MATCHED THEN UPDATE SET s.i.n = x.s.i.n",
    "new field by another value": "WHEN MATCHED THEN UPDATE SET s.i.n = x.c",
    "new and known fields": "WHEN MATCHED THEN UPDATE SET s.i.n = x.s.i.n, s.j = x.s.p",
    "new fields in several clauses": (
        "WHEN MATCHED AND t.id = 1 THEN UPDATE SET s.p = x.s.p WHEN MATCHED THEN UPDATE SET s.i = x.s.i "
        "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (x.id, x.s)"
    ),
    "field of another column": "WHEN MATCHED THEN UPDATE SET s = x.r",
    "value of another column, insert": "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (x.id, x.r)",
    "new column": "WHEN MATCHED THEN UPDATE SET c = x.c",
    "new struct column": "WHEN MATCHED THEN UPDATE SET r = x.r, s.i = x.s.i",
    "one field of a new column": "WHEN MATCHED THEN UPDATE SET r.j = x.r.j",
    "new column, insert": "WHEN NOT MATCHED THEN INSERT (id, c) VALUES (x.id, x.c)",
    "missing field by source": f"{_UPDATE} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = named_struct('j', 5)",
    "new field by source": f"{_INSERT} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s.p = 5",
    "unknown field": "WHEN MATCHED THEN UPDATE SET s.unknown = x.s.p",
    "unknown column": "WHEN MATCHED THEN UPDATE SET unknown = x.s.p",
    "field and its struct": "WHEN MATCHED THEN UPDATE SET s.i = x.s.i, s.i.n = 5",
    "field in an insert": "WHEN NOT MATCHED THEN INSERT (id, s.p) VALUES (x.id, x.s.p)",
}


def _new_fields() -> Iterator[tuple[str, Case]]:
    made = _made(
        "STRUCT<i: STRUCT<a: INT>, j: INT>",
        "named_struct('i', named_struct('a', 1), 'j', 2)",
        "NULL",
    )
    for name, clauses in _NEW_FIELDS.items():
        merge = f"{_EVOLVING} USING ({_SOURCE}) x ON t.id = x.id {clauses}"
        by_source = f"{made[1]}, (9, named_struct('i', NULL, 'j', 3))"
        yield f"evolved {name}", _case(made[0], by_source, merge, "SELECT * FROM {t}")


STRUCT_CASES: dict[str, Case] = {
    "update fields": _case(*_DEEP, *_FIELDS),
    **dict(_assigned()),
    **dict(_inserted()),
    **dict(_nullness()),
    **dict(_evolved()),
    **dict(_new_fields()),
}
