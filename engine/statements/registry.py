"""The registry of all statement families.

A stage looks up the :class:`~engine.statements.spec.StatementSpec` for its statement. A type that is missing here
cannot be run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.statements.alter_table import spec as alter_table
from engine.statements.comments import spec as comments
from engine.statements.compatibility import spec as compatibility
from engine.statements.containers import grammar as containers_grammar
from engine.statements.containers import spec as containers
from engine.statements.copy_into import grammar as copy_into_grammar
from engine.statements.copy_into import spec as copy_into
from engine.statements.create_table import grammar as create_table_grammar
from engine.statements.create_table import spec as create_table
from engine.statements.describe import grammar as describe_grammar
from engine.statements.describe import spec as describe
from engine.statements.explain import grammar as explain_grammar
from engine.statements.explain import spec as explain
from engine.statements.functions import grammar as functions_grammar
from engine.statements.functions import spec as functions
from engine.statements.grants import grammar as grants_grammar
from engine.statements.grants import spec as grants
from engine.statements.insert import grammar as insert_grammar
from engine.statements.insert import spec as insert
from engine.statements.insert.statement import MultiInsert
from engine.statements.listings import spec as listings
from engine.statements.maintenance import grammar as maintenance_grammar
from engine.statements.maintenance import spec as maintenance
from engine.statements.merge import grammar as merge_grammar
from engine.statements.merge import spec as merge
from engine.statements.policies import grammar as policies_grammar
from engine.statements.policies import spec as policies
from engine.statements.procedures import grammar as procedures_grammar
from engine.statements.procedures import spec as procedures
from engine.statements.row_changes import grammar as row_changes_grammar
from engine.statements.row_changes import spec as row_changes
from engine.statements.scripting.statement import Executable, RunnableStatement
from engine.statements.select import spec as select
from engine.statements.session import grammar as session_grammar
from engine.statements.session import spec as session
from engine.statements.show import collations as show_collations
from engine.statements.show import grammar as show_grammar
from engine.statements.show import procedures as show_procedures
from engine.statements.show import spec as show
from engine.statements.spec import StatementSpec
from engine.statements.tokens import spec as tokens
from engine.statements.variables import spec as variables
from engine.statements.views import grammar as views_grammar
from engine.statements.views import spec as views
from engine.statements.volumes import grammar as volumes_grammar
from engine.statements.volumes import spec as volumes

# The families by their titles in the SQL reference.
FAMILIES: Mapping[str, tuple[StatementSpec[Any], ...]] = MappingProxyType(
    {
        "Queries": select.SPECS,
        "EXPLAIN": explain.SPECS,
        "INSERT": insert.SPECS,
        "DELETE, UPDATE and TRUNCATE": row_changes.SPECS,
        "MERGE": merge.SPECS,
        "COPY INTO": copy_into.SPECS,
        "Tables": create_table.SPECS,
        "ALTER TABLE": alter_table.SPECS,
        "Maintenance": maintenance.SPECS,
        "Iceberg procedures": procedures.SPECS,
        "Catalogs and schemas": containers.SPECS,
        "Views": views.SPECS,
        "Functions": functions.SPECS,
        "Volumes": volumes.SPECS,
        "Comments": comments.SPECS,
        "SHOW": (*show.SPECS, *show_collations.SPECS, *show_procedures.SPECS),
        "DESCRIBE": describe.SPECS,
        "Lists for drivers": listings.SPECS,
        "Session": session.SPECS,
        "Variables": variables.SPECS,
        "Privileges": grants.SPECS,
        "Policies and tags": policies.SPECS,
        "Tokens": tokens.SPECS,
        "Other systems' statements": compatibility.SPECS,
    }
)

STATEMENTS: Mapping[type[Statement], StatementSpec[Any]] = MappingProxyType(
    {spec.statement: spec for specs in FAMILIES.values() for spec in specs}
)


def may_answer_rows(statement: Executable) -> bool:
    """Returns True if `statement` may have a result set; drivers ask before it runs. The result of a nested text is not
    known by then.
    """
    if isinstance(statement, Statement):
        return spec_of(statement).answers_rows
    return not isinstance(statement, MultiInsert)


def spec_of(statement: Statement) -> StatementSpec[Any]:
    """Returns the specification that is registered for the statement's type."""
    return STATEMENTS[type(statement)]


# A statement's first words, in upper case → the parser for the remaining text.
LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], RunnableStatement]] = MappingProxyType(
    {
        leading_words: read
        for grammar in (
            alter_table,
            comments,
            compatibility,
            containers_grammar,
            copy_into_grammar,
            create_table_grammar,
            describe_grammar,
            explain_grammar,
            functions_grammar,
            grants_grammar,
            insert_grammar,
            maintenance_grammar,
            merge_grammar,
            policies_grammar,
            procedures_grammar,
            row_changes_grammar,
            session_grammar,
            show_collations,
            show_grammar,
            show_procedures,
            tokens,
            views_grammar,
            volumes_grammar,
        )
        for leading_words, read in grammar.LEADING_WORDS.items()
    }
)
