"""Catalogs that older releases wrote are read, changed and written by this one without losing anything.

`releases/<date>/` has the newest generation and its objects as a server of that date wrote them. A release that changes
the format adds a folder, and its expectations here; it never edits an older one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.changes import CreateSchema, apply
from catalog.conditions import CatalogUnreadable
from catalog.entries import (
    CloneEntry,
    Entry,
    FunctionEntry,
    FunctionParameter,
    GroupEntry,
    LocationEntry,
    SchemaEntry,
    TableEntry,
    ViewColumn,
    ViewEntry,
)
from catalog.grants.privileges import Grant, Kind, Principal, PrincipalKind, Privilege
from catalog.grants.right_changes import GrantPrivileges, Securable
from catalog.names import ICEBERG, SchemaName, TableName
from catalog.policies.policies import (
    ColumnMask,
    ColumnMatch,
    NamedPolicy,
    Policies,
    PolicyArgument,
    PolicyFunction,
    PolicyKind,
)
from catalog.policies.tags import HasTag, Tags
from catalog.store.file_store import FileStore
from catalog.store.files import LocalFiles

RELEASES = Path(__file__).parent / "releases"
SALES = SchemaName("spark_catalog", "sales")
DEFAULT = SchemaName("spark_catalog", "default")
ANALYSTS = Principal(PrincipalKind.GROUP, "analysts")
ANN = Principal(PrincipalKind.USER, "ann@example.com")


def named(name: str) -> TableName:
    return TableName("spark_catalog", "sales", name)


def granted(principal: Principal, privilege: Privilege) -> tuple[Grant, ...]:
    return (Grant(principal, privilege, grantor="anonymous"),)


IS_EU = FunctionEntry(
    name=named("is_eu"),
    parameters=(FunctionParameter(name="r", type="STRING"),),
    returns="BOOLEAN",
    body="r = 'EU'",
    current=DEFAULT,
    owner="anonymous",
    grants=granted(ANALYSTS, Privilege.EXECUTE),
    comment="In Europe",
    created_ms=1795942603461,
)
HIDE = FunctionEntry(
    name=named("hide"),
    parameters=(FunctionParameter(name="v", type="DECIMAL(10,2)"),),
    returns="DECIMAL(10,2)",
    body="CASE WHEN is_member('finance') THEN v END",
    current=DEFAULT,
    owner="anonymous",
    created_ms=1795942603663,
)
REGION_FILTER = NamedPolicy(
    name="region_filter",
    kind=PolicyKind.ROW_FILTER,
    function=IS_EU.name,
    to=(ANALYSTS,),
    matches=(ColumnMatch(HasTag("class"), "c"),),
    arguments=(PolicyArgument(column="c"),),
)
EXPECTED: dict[str, list[Entry]] = {
    "2026-11-24": [
        SchemaEntry(
            name=SALES,
            owner="anonymous",
            grants=granted(ANALYSTS, Privilege.USE_SCHEMA),
            named_policies=(REGION_FILTER,),
            comment="Orders and customers",
        ),
        TableEntry(
            name=named("orders"),
            location="/data/lake/sales/orders",
            managed=True,
            owner="ann@example.com",
            grants=granted(ANALYSTS, Privilege.SELECT),
            tags=Tags(
                own=(("domain", "sales"), ("pii", "no")),
                columns=(("region", (("class", "geo"),)),),
            ),
            policies=Policies(
                row_filter=PolicyFunction(IS_EU.name, (PolicyArgument(column="region"),)),
                masks=(ColumnMask("amount", PolicyFunction(HIDE.name)),),
            ),
            created_ms=1795942601534,
        ),
        TableEntry(
            name=named("ice"),
            location="/data/lake/sales/ice",
            format=ICEBERG,
            managed=True,
            owner="anonymous",
            created_ms=1795942601702,
        ),
        TableEntry(
            name=named("orders_copy"),
            location="/data/lake/sales/orders_copy",
            managed=True,
            owner="anonymous",
            created_ms=1795942601734,
        ),
        ViewEntry(
            name=named("totals"),
            text="SELECT region, sum(amount) FROM sales.orders GROUP BY region",
            current=DEFAULT,
            columns=(
                ViewColumn(name="region", source="region", type="string", comment="Of the customer"),
                ViewColumn(name="total", source="sum(amount)", type="decimal(20,2)"),
            ),
            owner="anonymous",
            grants=granted(ANN, Privilege.SELECT),
            comment="Amount per region",
            created_ms=1795942602690,
        ),
        CloneEntry(location="/data/lake/sales/orders_copy", sources=("/data/lake/sales/orders",)),
        IS_EU,
        HIDE,
        LocationEntry(
            name="landing",
            location="/data/lake/landing",
            owner="anonymous",
            grants=granted(ANALYSTS, Privilege.READ_FILES),
        ),
        GroupEntry(name="analysts", members=(ANN,)),
    ],
}


def store_of(release: str, folder: Path) -> FileStore:
    shutil.copytree(RELEASES / release, folder)
    return FileStore(LocalFiles(str(folder)))


def keyed(entries: Iterable[Entry]) -> dict[tuple[str, str], Entry]:
    return {(type(entry).__name__, name_of(entry)): entry for entry in entries}


def name_of(entry: Entry) -> str:
    return entry.location if isinstance(entry, CloneEntry) else str(getattr(entry, "name", ""))


def test_each_release_has_expectations() -> None:
    assert {folder.name for folder in RELEASES.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("release", EXPECTED)
def test_a_catalog_of_an_older_release_is_read(release: str, tmp_path: Path) -> None:
    found = keyed(store_of(release, tmp_path / "catalog").load().entries())
    expected = keyed(EXPECTED[release])
    assert {key: found.get(key) for key in expected} == expected
    assert len(expected) == len(EXPECTED[release])


@pytest.mark.parametrize("release", EXPECTED)
def test_entries_of_an_older_release_survive_a_change(release: str, tmp_path: Path) -> None:
    store = store_of(release, tmp_path / "catalog")
    base = store.load()
    marts = SchemaEntry(name=SchemaName("spark_catalog", "marts"))
    grant = GrantPrivileges(Securable(Kind.TABLE, named("orders")), ANN, (Privilege.MODIFY,), grantor="anonymous")
    assert store.swap(base, apply(base, CreateSchema(marts), grant))
    found = keyed(FileStore(LocalFiles(str(tmp_path / "catalog"))).load().entries())
    expected = keyed([*EXPECTED[release], marts])
    orders = expected["TableEntry", str(named("orders"))]
    assert isinstance(orders, TableEntry)
    changed = replace(orders, grants=(*orders.grants, *granted(ANN, Privilege.MODIFY)))
    expected["TableEntry", str(named("orders"))] = changed
    assert {key: found.get(key) for key in expected} == expected


def test_a_catalog_of_a_newer_format_is_rejected_and_not_changed(tmp_path: Path) -> None:
    store = store_of("2026-11-24", tmp_path / "catalog")
    (path,) = (tmp_path / "catalog" / "generations").iterdir()
    newer = json.loads(path.read_text()) | {"format": 2}
    path.write_text(json.dumps(newer))
    with pytest.raises(CatalogUnreadable, match="its format is not 1"):
        store.load()
    assert json.loads(path.read_text()) == newer
