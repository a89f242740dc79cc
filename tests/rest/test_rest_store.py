"""Commits through a REST catalog: other writers' earlier commits, and lost answers."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.conditions import CommitOutcomeUnknown, ConcurrentDrop, IcebergTableNotFound
from catalog.rest.names import RestAddress
from engine.formats.iceberg.rest_store import RestMetadataStore
from engine.iceberg.commit.updates import AddSnapshot, AssertRefSnapshotId, SetProperties, SetSnapshotRef
from engine.iceberg.spec.metadata import Reference
from engine.storage.storage import open_storage
from tests.rest.conftest import RestServer

NO_ANSWERS: list[dict[str, Any]] = [{"status": 502}, {"status": 504}, {"status": 0}]


def store(server: RestServer, table: str = "empty") -> RestMetadataStore:
    return RestMetadataStore(
        at=RestAddress(client=server.client(), namespace=("shop",), table=table),
        open=open_storage,
        clock=lambda: 1_900_000_000_000,
        folder=str(server.folder / "shop" / table),
    )


def commit(to: RestMetadataStore, snapshot_id: int) -> Any:
    """Commits a snapshot on top of the current one; its list is never read."""
    base = to.load()
    head = base.metadata.current_snapshot_id
    snapshot = {
        "snapshot-id": snapshot_id,
        **({} if head is None else {"parent-snapshot-id": head}),
        "sequence-number": base.metadata.last_sequence_number + 1,
        "timestamp-ms": base.metadata.last_updated_ms + 1,
        "manifest-list": f"{to.location}/metadata/none.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    branch = Reference(name="main", snapshot_id=snapshot_id, is_branch=True)
    return base, (AssertRefSnapshotId("main", head),), (AddSnapshot(snapshot), SetSnapshotRef(branch))


def test_a_commit_is_made_once(server: RestServer) -> None:
    to = store(server)
    base, requirements, updates = commit(to, 11)
    after = to.commit(base, requirements, updates)
    assert after is not None and after.metadata.current_snapshot_id == 11
    assert to.commit(base, requirements, updates) is None  # another writer's came first: our own
    assert to.load().metadata.current_snapshot_id == 11


@pytest.mark.parametrize("fault", NO_ANSWERS)
def test_lost_commit_answer_is_resolved_by_snapshot(server: RestServer, fault: dict[str, Any]) -> None:
    to = store(server)
    made, lost = 100 + fault["status"], 1000 + fault["status"]
    server.faults({"method": "POST", "contains": "/tables/", "applies": True, **fault})
    after = to.commit(*commit(to, made))
    assert after is not None and after.metadata.current_snapshot_id == made
    server.faults({"method": "POST", "contains": "/tables/", **fault})
    with pytest.raises(CommitOutcomeUnknown, match=str(lost)):
        to.commit(*commit(to, lost))
    server.faults({"method": "POST", "contains": "/tables/", "applies": True, **fault})
    with pytest.raises(CommitOutcomeUnknown):  # no snapshot shows if it was committed
        to.commit(to.load(), (), (SetProperties({"a": "b"}),))


@pytest.mark.parametrize("fault", [{"cut": 5}, {"body": {}}, {"body": {"metadata": {"format-version": 2}}}])
def test_unreadable_commit_answer_is_resolved(server: RestServer, fault: dict[str, Any]) -> None:
    """Its commit was made: a failure would have the data files deleted."""
    to, made = store(server), 2000 + len(str(fault))
    server.faults({"method": "POST", "contains": "/tables/", "status": 200, "applies": True, **fault})
    after = to.commit(*commit(to, made))
    assert after is not None and after.metadata.current_snapshot_id == made


def test_a_table_that_cannot_be_read_any_more_is_no_failure(server: RestServer) -> None:
    to = store(server)
    requested = commit(to, 3000)
    bad = {"status": 200, "applies": True, "body": {"metadata": {"format-version": 2}}}
    server.faults(*({"method": method, "contains": "/tables/", **bad} for method in ("POST", "GET")))
    with pytest.raises(CommitOutcomeUnknown, match="3000"):
        to.commit(*requested)
    assert to.load().metadata.current_snapshot_id == 3000


def test_a_table_that_is_gone(server: RestServer) -> None:
    server.other_client().create_table("shop.short_lived", server.other_client().load_table("shop.empty").schema())
    to = store(server, "short_lived")
    base = to.load()
    server.other_client().drop_table("shop.short_lived")
    with pytest.raises(ConcurrentDrop):
        to.commit(base, (), (SetProperties({"a": "b"}),))
    with pytest.raises(IcebergTableNotFound):
        to.load()
