"""Statements about row filters and column masks. Values before name binding."""

from __future__ import annotations

from dataclasses import dataclass, field

from catalog.policies.policies import ColumnMatch, PolicyArgument, PolicyKind
from catalog.policies.tags import AllOf, TagCondition, TagPairs
from engine.runtime.statement import Statement
from engine.sql.query.values import STORED, Query
from engine.statements.grants.statement import PrincipalName, SecurableName


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCall:
    """A function name and its arguments. `probe` is a query for its result on each table row."""

    function_parts: tuple[str, ...]
    probe: Query = field(metadata=STORED)
    arguments: tuple[PolicyArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterRowFilter(Statement):
    """`ALTER TABLE t SET ROW FILTER f ON (…)`, or `DROP ROW FILTER`, for which `call` is None."""

    table_parts: tuple[str, ...]
    call: PolicyCall | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterColumnMask(Statement):
    """`ALTER TABLE t ALTER COLUMN c SET MASK f [USING COLUMNS (…)]`, or `DROP MASK`, for which `call` is None."""

    table_parts: tuple[str, ...]
    column_parts: tuple[str, ...]
    call: PolicyCall | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPolicy:
    """`WITH ROW FILTER f ON (…)` on a new table, or `MASK f [USING COLUMNS (…)]` on its `column`."""

    function_parts: tuple[str, ...]
    arguments: tuple[PolicyArgument, ...] = ()
    column: str | None = None


PolicyStatement = AlterRowFilter | AlterColumnMask


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTags(Statement):
    """`ALTER kind name [ALTER COLUMN c] SET TAGS ('key' = 'value', …) | UNSET TAGS ('key', …)`"""

    securable: SecurableName
    column: str | None = None
    new: TagPairs = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePolicy(Statement):
    """`CREATE [OR REPLACE] POLICY p ON kind name … FOR TABLES …`; `arguments` are column aliases."""

    name: str
    securable: SecurableName
    kind: PolicyKind
    function_parts: tuple[str, ...]
    to: tuple[PrincipalName, ...]
    but: tuple[PrincipalName, ...] = ()
    when: TagCondition = AllOf()
    matches: tuple[ColumnMatch, ...] = ()
    on_column: str | None = None
    arguments: tuple[PolicyArgument, ...] = ()
    comment: str | None = None
    or_replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPolicy(Statement):
    """`DROP POLICY [IF EXISTS] p ON kind name`"""

    name: str
    securable: SecurableName
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPolicies(Statement):
    """`SHOW [EFFECTIVE] POLICIES ON kind name`; effective policies include the parents' policies."""

    securable: SecurableName
    effective: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribePolicy(Statement):
    """`DESCRIBE POLICY p ON kind name`"""

    name: str
    securable: SecurableName


TagStatement = AlterTags | CreatePolicy | DropPolicy


PolicyListing = ShowPolicies | DescribePolicy
