"""Conditions of writes that break a table's rules, under Delta's own names."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class NotNullViolated(SqlError, condition="DELTA_NOT_NULL_CONSTRAINT_VIOLATED", sqlstate="23502"):
    column: str
    template = "NOT NULL constraint violated for column: {column}. A row has no value there; nothing was written."


@dataclass(eq=False)
class ConstraintViolated(SqlError, condition="DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", sqlstate="23001"):
    """`values` are lines of a column and its value."""

    name: str
    expression: str
    values: str
    template = "CHECK constraint {name} {expression} violated by row with values:{values}\nNothing was written."


@dataclass(eq=False)
class ReplaceWhereViolated(SqlError, condition="DELTA_REPLACE_WHERE_MISMATCH", sqlstate="44000"):
    condition_text: str
    values: str
    template = (
        "Written data does not conform with the condition REPLACE WHERE ({condition_text}); a row has the values:"
        "{values}\nNothing was written. Correct the query, or widen the condition."
    )


@dataclass(eq=False)
class PartitionValueNotText(SqlError, condition="MALFORMED_CHARACTER_CODING", sqlstate="22000"):
    column: str
    template = (
        "The bytes of a value for the partition column {column} are no text in UTF-8, and partitions are named by "
        "texts. Nothing was written. Partition by another column, or by hex({column})."
    )


@dataclass(eq=False)
class ValueNotOfType(SqlError, condition="CAST_INVALID_INPUT.STORED_TYPE", sqlstate="22018"):
    """`value` begins as the value that a row has."""

    value: str
    column: str
    type_name: str
    template = (
        "The column {column} is of the type {type_name}, and {value} is no value of it. Nothing was written. Write a "
        "uuid as 8-4-4-4-12 hexadecimal digits, a time as HH:MM:SS[.ffffff], a fixed[n] as exactly n bytes, a "
        "timestamp of nanoseconds between 1677-09-21 and 2262-04-11, a geometry as its WKB."
    )


@dataclass(eq=False)
class LengthExceeded(SqlError, condition="DELTA_EXCEED_CHAR_VARCHAR_LIMIT", sqlstate="22001"):
    detail: str
    template = "A value is longer than its column of type char or varchar allows. {detail} Nothing was written."


@dataclass(eq=False)
class NotNullColumnMissing(SqlError, condition="DELTA_MISSING_NOT_NULL_COLUMN_VALUE", sqlstate="23502"):
    column: str
    template = "The column {column} is NOT NULL and has no default, but the statement gives no value for it."


@dataclass(eq=False)
class PartitionColumnListed(SqlError, condition="STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST", sqlstate="42713"):
    column: str
    template = "The partition column {column} has a value in the PARTITION clause and is in the column list too."


@dataclass(eq=False)
class NoPartitionColumn(SqlError, condition="NON_PARTITION_COLUMN", sqlstate="42000"):
    column: str
    columns: str
    template = "PARTITION cannot have the column {column}; the table's partition columns are: {columns}."


@dataclass(eq=False)
class IdentityValueGiven(SqlError, condition="DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", sqlstate="42808"):
    column: str
    template = (
        "The column {column} is GENERATED ALWAYS AS IDENTITY: the table gives it its values. Leave it out, with a list "
        "of the other columns after the table's name, or with BY NAME."
    )


@dataclass(eq=False)
class IncompleteIdempotence(
    SqlError, condition="DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS.MISSING_SESSION_CONFS", sqlstate="42616"
):
    missing: str
    template = "A write that may be sent again needs an application and a version: set {missing}, or reset the other."


@dataclass(eq=False)
class NothingToStore(SqlError, condition="DELTA_CANNOT_WRITE_EMPTY_SCHEMA", sqlstate="428GU"):
    table: str
    template = (
        "The table {table} has no column that can be stored: it has none, or all are of type void. Add one with ALTER "
        "TABLE … ADD COLUMNS, or cast the NULLs of the query to the types that are meant."
    )
