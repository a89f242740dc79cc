"""Random definitions: columns, partitions or clustering, features."""

from __future__ import annotations

from random import Random

from tests.engine.histories.definition import Column, Definition, Role
from tests.engine.histories.values import NOT_CLUSTERED, NOT_COMPARED, Sql, same

_ALWAYS = {"id": "long", "i": "int", "s": "string", "p": "string", "q": "int"}
_SOMETIMES = {"x": "double", "d": "date", "m": "decimal", "n": "stamp", "o": "boolean", "st": "struct", "l": "list"}
_GENERATED = (
    Column("g", "int", Role.GENERATED, same("i % 3")[0], "i"),
    Column("g", "string", Role.GENERATED, same("substring(s, 1, 1)")[0], "s"),
    Column("g", "date", Role.GENERATED, same("CAST(n AS DATE)")[0], "n"),
)
_SWITCHES: tuple[tuple[float, dict[str, str]], ...] = (
    (0.5, {"delta.enableDeletionVectors": "true"}),
    (0.5, {"delta.enableChangeDataFeed": "true"}),
    (0.45, {"delta.enableRowTracking": "true"}),
    (0.2, {"delta.columnMapping.mode": "name"}),
    (0.15, {"delta.columnMapping.mode": "id"}),
    (0.3, {"delta.checkpointInterval": "2"}),
    (0.2, {"delta.checkpointInterval": "3", "delta.checkpointPolicy": "v2"}),
    (0.2, {"delta.enableInCommitTimestamps": "true"}),
    (0.2, {"delta.enableTypeWidening": "true"}),
    (0.2, {"delta.targetFileSize": "1000"}),
    (0.15, {"delta.dataSkippingNumIndexedCols": "2"}),
    (0.1, {"delta.autoOptimize.optimizeWrite": "true"}),
    (0.1, {"delta.randomizeFilePrefixes": "true"}),
)


def random_definition(random: Random) -> Definition:
    selected = random.sample(list(_SOMETIMES), random.randrange(5))
    plain = [Column(name, of) for name, of in (_ALWAYS | {name: _SOMETIMES[name] for name in selected}).items()]
    columns, properties = [*plain], random_properties(random)
    if random.random() < 0.3:
        made = random.choice(_GENERATED)
        columns += [made] if made.base in {column.name for column in plain} else []
    if random.random() < 0.25:
        columns.append(Column("n_id", "long", Role.IDENTITY))
    if random.random() < 0.2:
        properties["delta.feature.allowColumnDefaults"] = "supported"
        columns.append(Column("w", "int", made=same("5")[0]))
    partitions, clustered = random_layout(random, columns, properties)
    checks = [random_check(random, columns, partitions, 0)] if random.random() < 0.25 else []
    return Definition(tuple(columns), partitions, clustered, properties, tuple(filter(None, checks)))


def random_properties(random: Random) -> dict[str, str]:
    properties: dict[str, str] = {}
    for chance, switch in _SWITCHES:
        if random.random() < chance:
            properties |= switch
    return properties


def random_layout(
    random: Random, columns: list[Column], properties: dict[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Partition columns, clustering columns; never both."""
    flat = [each.name for each in columns[1:] if each.of not in NOT_COMPARED and each.role is not Role.IDENTITY]
    if random.random() < 0.45:
        return tuple(random.sample(flat, random.choice((1, 1, 2)))), ()
    if random.random() < 0.35 and "delta.dataSkippingNumIndexedCols" not in properties:
        usable = [each.name for each in columns if each.of not in NOT_CLUSTERED]
        return (), tuple(random.sample(usable, random.choice((1, 2))))
    return (), ()


def random_check(
    random: Random, columns: list[Column], partitions: tuple[str, ...], number: int
) -> tuple[str, str, Sql] | None:
    """Name, column, condition: true for most rows."""
    choices = {
        "id": "id IS NULL OR id < 1000000",
        "i": "i IS NULL OR i <> 3",
        "s": "s IS NULL OR s <> 'z+'",
        "q": "coalesce(q, 0) >= 0",
        "o": "o IS NULL OR NOT o OR id % 2 = 0",
    }
    there = [name for name in choices if name in {column.name for column in columns} and name not in partitions]
    name = random.choice(there)
    return f"check{number}", name, same(choices[name])[0]
