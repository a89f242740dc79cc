"""CALL as text: names, arguments with and without names, and errors."""

from __future__ import annotations

import pytest

from catalog.errors import SqlError
from engine.statements.parse import parse
from engine.statements.procedures.statement import (
    AddFiles,
    AncestorsOf,
    Call,
    ExpireSnapshots,
    FastForward,
    Procedure,
    RegisterTable,
    RemoveOrphanFiles,
    RewriteDataFiles,
    RollbackToSnapshot,
    RollbackToTimestamp,
    SnapshotTable,
)

CALLS: list[tuple[str, str | None, tuple[str, ...], Procedure]] = [
    ("system.ancestors_of('t')", None, ("t",), AncestorsOf()),
    ("c.system.ANCESTORS_OF('s.t', 7)", "c", ("s", "t"), AncestorsOf(snapshot_id=7)),
    ("`c`.SYSTEM.ancestors_of(snapshot_id => NULL, table => 'c.s.`t 1`')", "c", ("c", "s", "t 1"), AncestorsOf()),
    (
        "system.rollback_to_snapshot(snapshot_id => 9223372036854775807L, Table => 't')",
        None,
        ("t",),
        RollbackToSnapshot(snapshot_id=2**63 - 1),
    ),
    (
        "system.rollback_to_timestamp('t', now() - INTERVAL 5 DAYS)",
        None,
        ("t",),
        RollbackToTimestamp(timestamp="now() - INTERVAL 5 DAYS"),
    ),
    ("system.fast_forward('t', 'main', to => 'audit')", None, ("t",), FastForward(branch="main", to="audit")),
    (
        "system.expire_snapshots('t', TIMESTAMP '2024-01-01 00:00:00', 5, snapshot_ids => array(1, -2), "
        "stream_results => true, max_concurrent_deletes => 4)",
        None,
        ("t",),
        ExpireSnapshots(older_than="TIMESTAMP '2024-01-01 00:00:00'", retain_last=5, snapshot_ids=(1, -2)),
    ),
    (
        "system.remove_orphan_files(table => 'iceberg.`/a/b`', dry_run => TRUE, equal_schemes => map('s3a,s3n', 's3'))",
        None,
        ("iceberg", "/a/b"),
        RemoveOrphanFiles(dry_run=True, equal_schemes={"s3a,s3n": "s3"}),
    ),
    (
        "system.rewrite_data_files(table => 't', options => map('rewrite-all', true, 'min-input-files', 2), "
        "where => 'id > 3', strategy => 'sort', sort_order => 'zorder(a, b)')",
        None,
        ("t",),
        RewriteDataFiles(
            strategy="sort",
            sort_order="zorder(a, b)",
            where="id > 3",
            options={"rewrite-all": "true", "min-input-files": "2"},
        ),
    ),
    (
        "system.add_files('t', '`parquet`.`/x`', map(), false)",
        None,
        ("t",),
        AddFiles(folder="/x", check_duplicate_files=False),
    ),
]


@pytest.mark.parametrize(("text", "catalog", "parts", "procedure"), CALLS, ids=[each[0] for each in CALLS])
def test_calls(text: str, catalog: str | None, parts: tuple[str, ...], procedure: Procedure) -> None:
    found = parse(f"CALL {text};")
    assert isinstance(found, Call)
    assert (found.catalog, found.table_parts, found.procedure) == (catalog, parts, procedure)


def test_a_table_is_registered() -> None:
    found = parse("CALL c.system.register_table(table => 's.t', metadata_file => '/x/v1.metadata.json')")
    assert found == RegisterTable(catalog="c", table_parts=("s", "t"), metadata_file="/x/v1.metadata.json")


SNAPSHOTS = [
    ("c.system.snapshot('s.d', 't')", SnapshotTable(catalog="c", source_parts=("s", "d"), table_parts=("t",))),
    (
        "system.snapshot(table => '`a b`', source_table => 'delta.`/x y`', location => '/l',"
        " properties => map('k', 'v'), parallelism => 4)",
        SnapshotTable(
            catalog=None,
            source_parts=("delta", "/x y"),
            table_parts=("a b",),
            location="/l",
            properties={"k": "v"},
        ),
    ),
]


@pytest.mark.parametrize(("text", "expected"), SNAPSHOTS)
def test_a_snapshot_is_taken_of_a_table(text: str, expected: SnapshotTable) -> None:
    assert parse(f"CALL {text}") == expected


WRONG = [
    ("system.snapshot('d')", "REQUIRED_PARAMETER_NOT_FOUND"),
    ("system.snapshot(table => 't')", "REQUIRED_PARAMETER_NOT_FOUND"),
    ("system.snapshot('d', 't', '/l', map('k', 'v'), 4, 5)", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
    ("run('t')", "UNSUPPORTED_STATEMENT"),
    ("other.run('t')", "UNSUPPORTED_STATEMENT"),
    ("a.b.system.ancestors_of('t')", "UNSUPPORTED_STATEMENT"),
    ("system.nothing('t')", "FAILED_TO_LOAD_ROUTINE"),
    ("system.migrate('t')", "UNSUPPORTED_CLAUSE"),
    ("system.rollback_to_snapshot('t')", "REQUIRED_PARAMETER_NOT_FOUND"),
    ("system.rollback_to_snapshot(snapshot_id => 5)", "REQUIRED_PARAMETER_NOT_FOUND"),
    ("system.rollback_to_snapshot('t', NULL)", "REQUIRED_PARAMETER_NOT_FOUND"),
    ("system.rollback_to_snapshot('t', 5, 6)", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"),
    ("system.rollback_to_snapshot(tabl => 't')", "UNRECOGNIZED_PARAMETER_NAME"),
    ("system.rollback_to_snapshot(table => 't', 5)", "UNEXPECTED_POSITIONAL_ARGUMENT"),
    (
        "system.rollback_to_snapshot('t', table => 't')",
        "DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE",
    ),
    ("system.rollback_to_snapshot('t', 'x')", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.rollback_to_snapshot('t', 1.5)", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.rollback_to_snapshot('t', 9223372036854775808)", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.rollback_to_snapshot('t', 1 + 1)", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.ancestors_of(t)", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.ancestors_of('t; DROP TABLE u')", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.ancestors_of('t''')", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.ancestors_of('')", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.ancestors_of('a.b.c.d')", "IDENTIFIER_TOO_MANY_NAME_PARTS"),
    ("system.rewrite_data_files('t', options => map('a'))", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.expire_snapshots('t', snapshot_ids => array('x'))", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.expire_snapshots('t', retain_last => 3000000000)", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("system.expire_snapshots('t', reflect('java.lang.System', 'exit', 1))", "UNSUPPORTED_FUNCTION"),
    ("system.remove_orphan_files('t', file_list_view => 'v')", "UNSUPPORTED_CLAUSE"),
    ("system.ancestors_of('t') x", "PARSE_SYNTAX_ERROR"),
    ("system.ancestors_of('t'", "PARSE_SYNTAX_ERROR"),
    ("system.ancestors_of", "PARSE_SYNTAX_ERROR"),
    ("", "PARSE_SYNTAX_ERROR"),
]


@pytest.mark.parametrize(("text", "condition"), WRONG, ids=[each[0] for each in WRONG])
def test_wrong_calls(text: str, condition: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(f"CALL {text}")
    assert caught.value.condition == condition
