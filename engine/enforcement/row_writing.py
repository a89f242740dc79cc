"""Converts a write plan to the projections that Spark runs, and a failed check to its error.

    given columns ─► + constants ─► + identities ─► as stored ─► + generated ─► + outcome of each check ─► raise or pass

Each SQL text is a separate projection expression, so it can contain nothing but an expression, and a check's outcome is
a column before it is used. A violation is passed through Spark in the text of `raise_error`: a token that is unique to
this write, the check's number, and the values to show as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from catalog.conditions import LengthExceeded, SparkFailure
from catalog.errors import SqlError
from catalog.names import quote
from engine.enforcement.stored_values import is_stored, stored_columns
from engine.planning.plans.file_writes import (
    FILE_BYTES,
    SMALL_BYTES,
    Counter,
    Curve,
    NamedExpression,
    OrderColumn,
    PartitionValue,
    RowWriting,
    Step,
)
from engine.planning.plans.write_plan import (
    AlongCurve,
    FilePerPartition,
    InOrder,
    LiteralRows,
    RowCheck,
    TaskPerFile,
    WritePlan,
)
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.sql.query.composed import Names
from engine.tables.column_metadata import captured_with
from engine.tables.config import Distribution, PartitionSource, SortColumn
from engine.types.schema import PrimitiveType, StructField, StructType

_RAISED, _TOO_LONG = "USER_RAISED_EXCEPTION", "EXCEED_LIMIT_LENGTH"
_FIELDS_DIFFER = frozenset(
    f"INCOMPATIBLE_DATA_FOR_TABLE.{subclass}"
    for subclass in ("CANNOT_FIND_DATA", "EXTRA_STRUCT_FIELDS", "STRUCT_MISSING_FIELDS")
)
_VALUE_CHARACTERS_MAX = 100
_VALUES_MAX = 20


def row_writing(plan: WritePlan, token: str) -> RowWriting:
    """Returns the input for `RowEnforcer`, for a plan to which the rules have been applied."""
    config = plan.config
    given = (*plan.target_columns, *plan.extra_columns, *_copied_columns(plan))
    input_columns = StructType(tuple(_plain(column) for column in given))
    target = config.target_file_size
    stored = [
        own for own, field in zip(config.stored_schema.fields, config.schema.fields, strict=True) if is_stored(field)
    ]
    writing = RowWriting(
        label=plan.table,
        token=token,
        columns=input_columns.to_json(),
        by_name=plan.source_columns is not None,
        fields=plan.fields,
        steps=tuple(_steps(plan, token)),
        stored=StructType((*stored, *plan.extra_columns)).to_json(),
        partition_columns=config.partition_keys,
        rebalanced=bool(config.optimizes_writes)
        or (target is not None and config.distribution is not Distribution.NONE),
        file_bytes=target or FILE_BYTES,
        small_bytes=0 if config.optimizes_writes is False else SMALL_BYTES,
        distribution=config.distribution,
        partitions=tuple(
            PartitionValue(name=name, text=_source(each), transform=each.transform, width=each.width)
            for name, each in zip(config.partition_keys, config.partition_sources, strict=False)
        ),
        order=_order(config.sort_columns),
        names=tuple(field.name for field in config.schema.fields if is_stored(field)),
    )
    return _with_arrangement(writing, plan)


def _order(columns: Iterable[SortColumn]) -> tuple[OrderColumn, ...]:
    return tuple(
        OrderColumn(
            text=_source(each),
            descending=each.descending,
            nulls_first=each.nulls_first,
            transform=each.transform,
            width=each.width,
        )
        for each in columns
    )


def _source(source: PartitionSource | SortColumn) -> str:
    column = ".".join(map(quote, source.path))
    return column if source.divisor == 1 else f"{column} div {source.divisor}"


def _with_arrangement(writing: RowWriting, plan: WritePlan) -> RowWriting:
    """Applies the plan's file arrangement, if it has one."""
    match plan.arrangement:
        case None:
            return writing
        case TaskPerFile():
            return replace(writing, is_arranged=True)
        case LiteralRows():
            return replace(writing, literals=True)
        case InOrder(columns=columns):
            return replace(writing, order=_order(columns), distribution=None)
        case FilePerPartition(target_bytes=target_bytes):
            return replace(writing, rebalanced=True, file_bytes=target_bytes)
        case AlongCurve() as along:
            curve = Curve(
                columns=tuple(".".join(map(quote, path)) for path in along.stored_columns),
                is_hilbert=along.is_hilbert,
                num_files=along.num_files,
                sampled=along.sampled,
            )
            return replace(writing, rebalanced=True, file_bytes=along.target_bytes, curve=curve)
        case _:
            assert_never(plan.arrangement)


def violation(plan: WritePlan, token: str, failure: SparkFailure) -> SqlError | None:
    """Returns the error of the check that failed the write, or None if the write failed for another reason."""
    if failure.condition == _TOO_LONG:
        return LengthExceeded(failure.text)
    if plan.assigns and failure.condition in _FIELDS_DIFFER:
        return plan.config.field_mismatch(failure.text)
    # The token is unique to this write: a user's own `raise_error`, in a query or a
    # default, must not pass for a violated constraint.
    found = re.search(rf"{token}:(\d+):(.*)", failure.text, re.DOTALL)
    if failure.condition != _RAISED or found is None:
        return None
    try:
        values = json.loads(found[2])
    except ValueError:  # truncated, because the values are very long
        values = {}
    return plan.checks[int(found[1])].error(values)


def _plain(column: StructField) -> StructField:
    """Returns the parts that store assignment needs."""
    declared = column.metadata.get(CHAR_VARCHAR_TYPE)
    # Nullability is checked by our own checks, with Delta's error: Spark's store assignment
    # would reject the whole query by its type, even if no row has a null.
    return StructField(column.name, column.data_type, True, {} if declared is None else {CHAR_VARCHAR_TYPE: declared})


def _copied_columns(plan: WritePlan) -> tuple[StructField, ...]:
    """Returns the columns in which the query passes rows that do not change."""
    if plan.copied_columns is None:
        return ()
    types = {column.name: column.data_type for column in plan.schema.fields}
    before = (StructField(new, types[name]) for name, new in plan.copied_columns.before.items())
    return (StructField(plan.copied_columns.flag, PrimitiveType.BOOLEAN), *before)


def _steps(plan: WritePlan, token: str) -> Iterable[Step]:
    extra = [column.name for column in (*plan.extra_columns, *_copied_columns(plan))]
    names = (*plan.schema.names, *extra)
    if [*(column.name for column in plan.target_columns), *extra] != list(names):
        known = [name for name in names if name not in plan.generated.keys() | plan.identity_names]
        yield _value_step(plan, known, plan.constants)
        given = [name for name in names if name not in plan.generated]
        if plan.identities:
            yield _identity_step(plan, known)
            yield _columns(given, {})
        if plan.generated:
            if plan.stored_as.keys() & given:  # generated values depend on the values as stored
                yield _columns(given, plan.stored_as)
            yield from _generated_column_steps(plan, names)
    if plan.stored_as:
        yield _columns(names, plan.stored_as)
    if plan.checks:
        # Outcomes become columns first; checks with the same captured settings share a projection.
        outcomes = Names(names).several("check", len(plan.checks))
        checks = dict(zip(outcomes, plan.checks, strict=True))
        with_outcomes: tuple[str, ...] = names
        for settings in dict.fromkeys(check.settings for check in plan.checks):
            same = {name: check for name, check in checks.items() if check.settings == settings}
            with_outcomes = (*with_outcomes, *same)
            texts = {name: _true_unless_copied(plan, check.text) for name, check in same.items()}
            yield replace(_columns(with_outcomes, texts), settings=settings)
        # One more projection raises for the first check whose outcome is not true.
        yield _columns(names, {_first_stored_column(plan): _raise_unless_true(plan, outcomes, token)})
    stored = (*stored_columns(plan.schema).names, *(column.name for column in plan.extra_columns))
    if stored != names:
        yield _columns(stored, _of_before(plan))
    values = {name: each.text for name, each in plan.config.stored_values.items() if each.text is not None}
    if values:
        yield _columns(stored, values)


def _generated_column_steps(plan: WritePlan, names: Sequence[str]) -> Iterable[Step]:
    """Yields a step for each set of captured settings; no generated column depends on another one."""
    captured = {name: captured_with(field) for name in plan.generated if (field := plan.schema.field(name)) is not None}
    missing = set(plan.generated)
    for settings in dict.fromkeys(captured.values()):
        texts = {
            name: _for_changed_rows(plan, plan.generated[name]) for name, each in captured.items() if each == settings
        }
        missing -= texts.keys()
        yield replace(_value_step(plan, [name for name in names if name not in missing], texts), settings=settings)


def _for_changed_rows(plan: WritePlan, text: str) -> str:
    """Restricts a value to changed rows: other rows' values may be invalid arguments for its expression."""
    return text if plan.copied_columns is None else f"CASE WHEN {quote(plan.copied_columns.flag)} THEN {text} END"


def _true_unless_copied(plan: WritePlan, condition: str) -> str:
    return condition if plan.copied_columns is None else f"NOT {quote(plan.copied_columns.flag)} OR ({condition})"


def _of_before(plan: WritePlan) -> Mapping[str, str]:
    copied = plan.copied_columns
    if copied is None:
        return {}
    return {
        name: f"CASE WHEN {quote(copied.flag)} THEN {quote(name)} ELSE {quote(before)} END"
        for name, before in copied.before.items()
    }


def _columns(names: Iterable[str], texts: Mapping[str, str]) -> Step:
    """Returns the previous step's columns, with those in `texts` replaced."""
    return Step(expressions=tuple(NamedExpression(name=name, text=texts.get(name, quote(name))) for name in names))


def _identity_step(plan: WritePlan, known: Sequence[str]) -> Step:
    """Adds identity columns. Any shuffle must precede this step (`engine.enforcement.identity`)."""
    partitions = plan.config.partition_columns
    counters = tuple(Counter(name=each.name, first=each.next_value, step=each.step) for each in plan.identities)
    return replace(
        _columns(known, {}),
        counters=counters,
        spread_by=partitions if all(name in known for name in partitions) else (),
    )


def _value_step(plan: WritePlan, names: Sequence[str], texts: Mapping[str, str]) -> Step:
    """Adds values that the query does not provide, by store assignment and with length checks, like provided values."""
    columns = {column.name: column for column in (*plan.schema.fields, *plan.extra_columns, *_copied_columns(plan))}
    fields = [columns[name] for name in names]
    assigned = [_plain(field) if field.name in texts else replace(_plain(field), metadata={}) for field in fields]
    is_assigned = bool(plan.static_partitions) or any(field.metadata for field in assigned)
    return replace(_columns(names, texts), assigned=StructType(tuple(assigned)).to_json() if is_assigned else None)


def _first_stored_column(plan: WritePlan) -> str:
    """Returns the column that carries `raise_error`: Spark prunes an expression that the writer does not read."""
    return stored_columns(plan.schema).names[0]


def _raise_unless_true(plan: WritePlan, outcomes: list[str], token: str) -> str:
    """Returns the first stored column, unless a check is not true."""
    cases = (
        # "CHECK Constraints": a row is rejected if the expression is false or null. SQL's
        # own CHECK would accept null.
        f"WHEN {quote(outcome)} IS NOT TRUE THEN raise_error(concat('{token}:{number}:', {_values(plan, check)}))"
        for number, (outcome, check) in enumerate(zip(outcomes, plan.checks, strict=True))
    )
    return f"CASE {' '.join(cases)} ELSE {quote(_first_stored_column(plan))} END"


def _values(plan: WritePlan, check: RowCheck) -> str:
    """Returns SQL for the JSON text with the values that the check's error shows."""
    paths = [path for path in check.shown if plan.schema.field(path[0]) is not None][:_VALUES_MAX]
    if not paths:
        return "'{}'"
    pairs = ", ".join(
        f"{_literal('.'.join(path))}, left(CAST({'.'.join(map(quote, path))} AS STRING), {_VALUE_CHARACTERS_MAX})"
        for path in dict.fromkeys(paths)
    )
    return f"to_json(named_struct({pairs}), map('ignoreNullFields', 'false'))"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
