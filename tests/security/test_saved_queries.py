"""Saved queries over HTTP: folders, changes, sharing, rights, limits, and what the audit log records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.entries import GroupEntry
from catalog.grants.privileges import user
from catalog.grants.right_changes import CreateGroup, DropGroup
from catalog.queries import queries
from catalog.queries.store import QueryStore
from catalog.store.files import LocalFiles
from engine.saved_queries import SavedQueries
from gateway.audit.audit_log import log_contents
from tests.security.secure_server import Answer, SecureServer, basic

QUERIES = "/api/2.0/sql/queries"


@pytest.fixture
def server(folder: Path) -> Iterator[SecureServer]:
    methods = ["password", "token"]
    audit = str(folder / "audit")
    server = SecureServer(
        folder, authentication__methods=methods, authentication__admins=["zoë"], audit__folder=audit
    ).start()
    use_files(server, folder)
    yield server
    server.stop()


def use_files(server: SecureServer, folder: Path) -> None:
    engine = server.engine
    store = QueryStore(LocalFiles(str(folder / "catalog/queries")))
    engine.saved_queries = SavedQueries(store, engine.catalog, lambda name: engine.activity.knows_user(name))


def save(server: SecureServer, owner: str = "ann", /, **fields: object) -> dict[str, Any]:
    query = {"display_name": "Revenue", "query_text": "SELECT 1"} | fields
    return expect(server.ask("POST", QUERIES, {"query": query}, **basic(owner)))


def expect(answer: Answer, status: int = 200) -> dict[str, Any]:
    body: dict[str, Any] = answer.body
    assert answer.status == status, body
    return body


def share(server: SecureServer, query: dict[str, Any], *shares: dict[str, str], by: str = "ann") -> Answer:
    return server.ask("PUT", f"{QUERIES}/{query['id']}/permissions", {"access_control_list": list(shares)}, **basic(by))


def get(server: SecureServer, query: dict[str, Any], by: str = "ann") -> Answer:
    return server.ask("GET", f"{QUERIES}/{query['id']}", **basic(by))


def change(
    server: SecureServer, query: dict[str, Any], /, by: str = "ann", etag: str | None = None, **fields: object
) -> Answer:
    body = {"query": fields} | ({} if etag is None else {"etag": etag})
    return server.ask("PATCH", f"{QUERIES}/{query['id']}", body, **basic(by))


def names(server: SecureServer, by: str = "ann", parameters: str = "") -> list[str]:
    found = expect(server.ask("GET", f"{QUERIES}{parameters}", **basic(by)))
    return [each["display_name"] for each in found["results"]]


def test_saved_query_is_returned_with_all_fields(server: SecureServer) -> None:
    fields = {
        "display_name": "  Revenue per day ",
        "description": "For the board",
        "query_text": "SELECT :day; -- é𝄞",
        "parent_path": "/reports//daily/",
        "catalog": "spark_catalog",
        "schema": "shop",
        "parameters": [{"name": "day", "type": "date", "value": "2026-01-01", "title": "Day"}, {"name": "n"}],
        "chart": {"kind": "bar", "y": [1, 2.5, None]},
    }
    made = save(server, **fields)
    assert made == expect(get(server, made))
    assert {name: made[name] for name in fields} == fields | {
        "display_name": "Revenue per day",
        "parent_path": "/reports/daily",
        "parameters": [
            {"name": "day", "type": "DATE", "value": "2026-01-01", "title": "Day"},
            {"name": "n", "type": "STRING", "value": None, "title": None},
        ],
    }
    assert (made["owner_user_name"], made["last_modifier_user_name"]) == ("ann", "ann")
    assert (made["permission"], made["etag"], made["is_shared"]) == ("OWNER", "1", False)
    assert made["create_time"] == made["update_time"] and made["create_time"].endswith("Z")


def test_list_has_own_and_shared_queries_in_order_without_texts(server: SecureServer) -> None:
    save(server, display_name="b", parent_path="/reports")
    save(server, display_name="A", parent_path="/reports")
    save(server, display_name="top", query_text="SELECT 'needle'")
    of_bob = save(server, "bob", display_name="of bob", parent_path="/reports/daily")
    save(server, "bob", display_name="private")
    expect(share(server, of_bob, {"user_name": "ann", "permission_level": "CAN_VIEW"}, by="bob"))
    assert names(server) == ["top", "A", "b", "of bob"]
    assert names(server, parameters="?owner=me") == ["top", "A", "b"]
    assert names(server, parameters="?owner=bob") == ["of bob"]
    assert names(server, parameters="?text=NEEDLE") == ["top"]
    assert names(server, parameters="?parent_path=/reports") == ["A", "b", "of bob"]
    assert names(server, parameters="?parent_path=/reports/daily") == ["of bob"]
    (first,) = expect(server.ask("GET", f"{QUERIES}?owner=bob", **basic("ann")))["results"]
    assert "query_text" not in first and "chart" not in first and first["permission"] == "CAN_VIEW"
    page = expect(server.ask("GET", f"{QUERIES}?page_size=3", **basic("ann")))
    assert len(page["results"]) == 3
    assert names(server, parameters=f"?page_size=3&page_token={page['next_page_token']}") == ["of bob"]
    assert expect(server.ask("GET", f"{QUERIES}/folders", **basic("ann")))["folders"] == [
        {"path": "/", "owner_user_name": "ann", "query_count": 1},
        {"path": "/reports", "owner_user_name": "ann", "query_count": 2},
        {"path": "/", "owner_user_name": "bob", "query_count": 0},
        {"path": "/reports", "owner_user_name": "bob", "query_count": 0},
        {"path": "/reports/daily", "owner_user_name": "bob", "query_count": 1},
    ]


def test_change_with_stale_etag_is_rejected(server: SecureServer) -> None:
    made = save(server, chart={"kind": "bar"}, description="old")
    changed = expect(change(server, made, etag="1", query_text="SELECT 2", chart=None))
    assert (changed["query_text"], changed["chart"], changed["description"], changed["etag"]) == (
        "SELECT 2", None, "old", "2"
    )  # fmt: skip
    for stale in ("1", "x", "3"):
        refused = expect(change(server, made, etag=stale, query_text="SELECT 3"), 409)
        assert (refused["condition"], refused["error_code"]) == ("SAVED_QUERY_CHANGED", "RESOURCE_CONFLICT")
    assert expect(get(server, made)) == changed
    same = expect(change(server, made, query_text="SELECT 2"))
    assert same["etag"] == "2", "a change of nothing is none"
    expect(share(server, made, {"user_name": "bob", "permission_level": "CAN_VIEW"}))
    assert expect(change(server, made, etag="2", display_name="New"))["etag"] == "3", "a share is no change of the text"


def test_update_mask_resets_missing_fields(server: SecureServer) -> None:
    made = save(server, description="old", parent_path="/a")
    body = {"query": {"query_text": "SELECT 2"}, "update_mask": "description, parent_path"}
    changed = expect(server.ask("PATCH", f"{QUERIES}/{made['id']}", body, **basic("ann")))
    assert (changed["description"], changed["parent_path"], changed["query_text"]) == ("", "/", "SELECT 1")
    body["update_mask"] = "owner"
    assert server.ask("PATCH", f"{QUERIES}/{made['id']}", body, **basic("ann")).status == 400


def test_query_without_a_right_does_not_exist(server: SecureServer) -> None:
    made = save(server)
    unknown = {"id": "0" * 32}
    for query in (made, unknown):
        for answer in (
            get(server, query, "bob"),
            change(server, query, "bob", query_text="x"),
            server.ask("DELETE", f"{QUERIES}/{query['id']}", **basic("bob")),
            server.ask("GET", f"{QUERIES}/{query['id']}/permissions", **basic("bob")),
            share(server, query, by="bob"),
        ):
            refused = expect(answer, 404)
            assert refused["condition"] == "SAVED_QUERY_NOT_FOUND"
            assert (
                refused["message"].replace(query["id"], "ID").startswith("[SAVED_QUERY_NOT_FOUND] The saved query 'ID'")
            )
    assert names(server, "bob") == names(server, "bob", "?owner=ann") == []
    assert names(server) == ["Revenue"]


def test_viewer_reads_editor_changes_and_only_the_owner_moves_shares_and_deletes(server: SecureServer) -> None:
    made = save(server)
    expect(share(server, made, {"user_name": "bob", "permission_level": "CAN_VIEW"}))
    assert expect(get(server, made, "bob"))["permission"] == "CAN_VIEW"
    assert expect(change(server, made, "bob", query_text="x"), 403)["condition"] == "SAVED_QUERY_NOT_ALLOWED"
    expect(share(server, made, {"user_name": "bob", "permission_level": "CAN_EDIT"}))
    edited = expect(change(server, made, "bob", query_text="SELECT 2", parent_path="/"))
    assert (edited["permission"], edited["last_modifier_user_name"]) == ("CAN_EDIT", "bob")
    for answer in (
        change(server, made, "bob", parent_path="/elsewhere"),
        server.ask("DELETE", f"{QUERIES}/{made['id']}", **basic("bob")),
        server.ask("GET", f"{QUERIES}/{made['id']}/permissions", **basic("bob")),
        share(server, made, by="bob"),
    ):
        assert expect(answer, 403)["condition"] == "SAVED_QUERY_NOT_ALLOWED"
    expect(share(server, made))
    expect(get(server, made, "bob"), 404)
    assert expect(server.ask("DELETE", f"{QUERIES}/{made['id']}", **basic("ann"))) == {}
    expect(get(server, made), 404)


def test_share_reaches_groups_and_everybody(server: SecureServer) -> None:
    server.engine.catalog.change(CreateGroup(GroupEntry(name="Analysts", members=(user("bob"),))))
    made = save(server, "zoë")
    for group in ("analysts", "account users"):
        expect(get(server, made, "bob"), 404)
        expect(share(server, made, {"group_name": group, "permission_level": "CAN_VIEW"}, by="zoë"))
        expect(get(server, made, "bob"))
        listed = expect(server.ask("GET", f"{QUERIES}/{made['id']}/permissions", **basic("zoë")))
        assert listed == {
            "access_control_list": [{"group_name": group, "permission_level": "CAN_VIEW", "is_known": True}]
        }
        expect(get(server, made, "ann"), 404 if group == "analysts" else 200)
        expect(share(server, made, by="zoë"))
    of_ann = save(server)  # in the login's group staff
    expect(share(server, of_ann, {"group_name": "STAFF", "permission_level": "CAN_VIEW"}))


def test_dropped_group_leaves_no_right_to_a_new_group_with_its_name(server: SecureServer) -> None:
    catalog = server.engine.catalog
    forget_group = server.engine.saved_queries._store.forget_group
    catalog.on_change = lambda change: forget_group(change.name) if isinstance(change, DropGroup) else None
    catalog.change(CreateGroup(GroupEntry(name="team", members=(user("zoë"),))))
    made, other = save(server), save(server)
    for query in (made, other):
        both = (
            {"group_name": "Team", "permission_level": "CAN_VIEW"},
            {"user_name": "zoë", "permission_level": "CAN_EDIT"},
        )
        expect(share(server, query, *both[: 1 if query is made else 2]))
    catalog.change(DropGroup("TEAM"))
    catalog.change(CreateGroup(GroupEntry(name="team", members=(user("bob"),))))
    for query in (made, other):
        expect(get(server, query, "bob"), 404)
    listed = expect(server.ask("GET", f"{QUERIES}/{other['id']}/permissions", **basic("ann")))
    assert listed["access_control_list"] == [{"user_name": "zoë", "permission_level": "CAN_EDIT", "is_known": True}]


@pytest.mark.parametrize("principal", [{"user_name": "bbo"}, {"user_name": "Bob"}, {"group_name": "analists"}])
def test_principal_that_was_never_seen_gets_a_right_and_is_reported(
    server: SecureServer, principal: dict[str, str]
) -> None:
    made = save(server)
    shares = ({"user_name": "bob", "permission_level": "CAN_VIEW"}, principal | {"permission_level": "CAN_EDIT"})
    shared = expect(share(server, made, *shares))["access_control_list"]
    assert shared == [shares[0] | {"is_known": True}, shares[1] | {"is_known": False}]
    assert expect(get(server, made, "bob"))["permission"] == "CAN_VIEW"


@pytest.mark.parametrize("name", [" bob", "b\tb", "b" * 300])
def test_name_that_cannot_log_in_is_rejected(server: SecureServer, name: str) -> None:
    made = save(server)
    expect(share(server, made, {"user_name": "bob", "permission_level": "CAN_VIEW"}))
    refused = expect(share(server, made, {"user_name": name, "permission_level": "CAN_VIEW"}), 400)
    assert refused["condition"] == "PRINCIPAL_NAME_INVALID"
    assert expect(get(server, made, "bob"))["permission"] == "CAN_VIEW", "nothing was changed"


def test_administrator_owns_queries_of_others_and_lists_them_by_owner(server: SecureServer) -> None:
    made = save(server)
    assert names(server, "zoë") == []
    assert names(server, "zoë", "?owner=ann") == ["Revenue"]
    assert expect(get(server, made, "zoë"))["permission"] == "OWNER"
    expect(server.ask("DELETE", f"{QUERIES}/{made['id']}", **basic("zoë")))
    assert names(server) == []


def test_shared_text_runs_with_the_rights_of_its_reader(server: SecureServer) -> None:
    made = save(server, query_text="SELECT 1")
    expect(share(server, made, {"user_name": "bob", "permission_level": "CAN_VIEW"}))
    text = expect(get(server, made, "bob"))["query_text"]
    assert server.submit(text, user="bob")["status"]["state"] == "SUCCEEDED"
    assert server.engine.sessions[-1].identity.principal == "bob"


def test_folder_moves_with_the_queries_of_its_owner(server: SecureServer) -> None:
    save(server, display_name="in", parent_path="/reports")
    deep = save(server, display_name="deep", parent_path="/reports/daily")
    save(server, display_name="other", parent_path="/reports2")
    of_bob = save(server, "bob", display_name="of bob", parent_path="/reports")
    expect(share(server, of_bob, {"user_name": "ann", "permission_level": "CAN_EDIT"}, by="bob"))

    def move(path: str, new_path: str) -> Answer:
        return server.ask("POST", f"{QUERIES}/folders/move", {"path": path, "new_path": new_path}, **basic("ann"))

    assert expect(move("/reports", "/old/reports")) == {"moved": 2}
    assert names(server, parameters="?parent_path=/old/reports") == ["in", "deep"]
    assert expect(get(server, deep))["parent_path"] == "/old/reports/daily"
    assert expect(get(server, of_bob, "bob"))["parent_path"] == "/reports"
    assert expect(move("/reports", "/x")) == {"moved": 0}
    assert expect(move("/old/reports", "/")) == {"moved": 2}
    assert expect(get(server, deep))["parent_path"] == "/daily"
    for path, new_path in (("/", "/x"), ("/a", "/a/b"), ("a", "/b"), ("/a", "/../b"), ("/a", "/" + "x" * 101)):
        assert expect(move(path, new_path), 400)["condition"] == "INVALID_PARAMETER_VALUE.HTTP_FIELD"
    removed = expect(server.ask("POST", f"{QUERIES}/folders/delete", {"path": "/daily"}, **basic("ann")))
    assert removed == {"deleted": 1} and names(server, parameters="?owner=me") == ["in", "other"]


@pytest.mark.parametrize(
    "fields",
    [
        {"display_name": " "},
        {"display_name": "x" * 201},
        {"display_name": "a\nb"},
        {"display_name": None},
        {"query_text": "é" * (128 << 10) + "x"},
        {"query_text": 1},
        {"query_text": "\ud800"},
        {"description": "x" * 4001},
        {"parent_path": "reports"},
        {"parent_path": "/a" * 21},
        {"parent_path": "/ a"},
        {"parameters": [{"name": "a"}, {"name": "a"}]},
        {"parameters": [{"name": "a b"}]},
        {"parameters": {}},
        {"chart": []},
        {"chart": {"a": "x" * (64 << 10)}},
        {"owner_user_name": "bob"},
    ],
)
def test_invalid_field_is_rejected(server: SecureServer, fields: dict[str, object]) -> None:
    body = {"query": {"display_name": "q", "query_text": "SELECT 1"} | fields}
    refused = expect(server.ask("POST", QUERIES, body, **basic("ann")), 400)
    assert refused["condition"] == "INVALID_PARAMETER_VALUE.HTTP_FIELD"
    assert next(iter(fields)) in refused["message"]
    assert names(server) == []


def test_chart_with_a_number_that_is_not_json_is_rejected(server: SecureServer) -> None:
    for number in ("NaN", "-Infinity", "1e999"):
        content = f'{{"query": {{"display_name": "q", "chart": {{"a": {number}}}}}}}'.encode()
        assert (
            expect(server.ask("POST", QUERIES, content, **basic("ann")), 400)["error_code"] == "INVALID_PARAMETER_VALUE"
        )


def test_limits_hold_per_owner(server: SecureServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "QUERIES_PER_OWNER_MAX", 2)
    made = save(server)
    save(server)
    refused = expect(server.ask("POST", QUERIES, {"query": {"display_name": "q"}}, **basic("ann")), 429)
    assert refused["condition"] == "SAVED_QUERY_LIMIT_EXCEEDED.NUMBER"
    save(server, "bob")
    monkeypatch.setattr(queries, "BYTES_PER_OWNER_MAX", 1000)
    refused = expect(change(server, made, query_text="x" * 1000), 429)
    assert refused["condition"] == "SAVED_QUERY_LIMIT_EXCEEDED.SIZE"
    monkeypatch.setattr(queries, "BYTES_PER_OWNER_MAX", 10)
    expect(change(server, made, query_text="x"))


def test_read_only_token_changes_nothing(server: SecureServer) -> None:
    made = save(server)
    token = server.ask("POST", "/api/2.0/token/create", {"scope": "read-only"}, **basic("ann")).body["token_value"]
    header = {"Authorization": f"Bearer {token}"}
    path = f"{QUERIES}/{made['id']}"
    expect(server.ask("GET", path, **header))
    for method, route, body in (
        ("POST", QUERIES, {"query": {"display_name": "q"}}),
        ("PATCH", path, {"query": {"query_text": "x"}}),
        ("DELETE", path, None),
        ("PUT", f"{path}/permissions", {"access_control_list": []}),
        ("POST", f"{QUERIES}/folders/move", {"path": "/a", "new_path": "/b"}),
        ("POST", f"{QUERIES}/folders/delete", {"path": "/"}),
    ):
        assert expect(server.ask(method, route, body, **header), 403)["condition"] == "INSUFFICIENT_PERMISSIONS.SCOPE"
    assert expect(get(server, made)) == made


def test_queries_survive_a_restart(server: SecureServer, folder: Path) -> None:
    made = save(server, chart={"kind": "bar"})
    expect(share(server, made, {"user_name": "bob", "permission_level": "CAN_EDIT"}))
    use_files(server, folder)
    assert expect(get(server, made, "bob")) == made | {"permission": "CAN_EDIT", "is_shared": True}


def test_changes_and_shares_are_recorded(server: SecureServer, folder: Path) -> None:
    made = save(server, query_text="SELECT 1 AS secret_column")
    expect(share(server, made, {"user_name": "bob", "permission_level": "CAN_VIEW"}))
    expect(change(server, made, "bob", query_text="x"), 403)
    expect(share(server, made))
    expect(server.ask("DELETE", f"{QUERIES}/{made['id']}", **basic("ann")))
    lines = [json.loads(line) for _, content in log_contents(folder / "audit") for line in content.splitlines()]
    recorded = [line for line in lines if line["event"].startswith("query.")]
    assert [(line["event"], line["principal"], line["outcome"]) for line in recorded] == [
        ("query.create.begin", "ann", "ok"),
        ("query.create", "ann", "ok"),
        ("query.share.begin", "ann", "ok"),
        ("query.share", "ann", "ok"),
        ("query.update.begin", "bob", "ok"),
        ("query.update", "bob", "denied"),
        ("query.share.begin", "ann", "ok"),
        ("query.share", "ann", "ok"),
        ("query.delete.begin", "ann", "ok"),
        ("query.delete", "ann", "ok"),
    ]
    assert all(line["objects"][0]["name"] == made["id"] for line in recorded[1:])
    added, removed = (recorded[place]["rights"][0] for place in (3, 7))
    assert (added["kind"], added["added"], added["removed"]) == ("SAVED QUERY", ["CAN_VIEW TO USER bob"], [])
    assert (removed["added"], removed["removed"]) == ([], ["CAN_VIEW TO USER bob"])


def test_audit_log_that_cannot_be_written_prevents_changes(
    server: SecureServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = save(server)
    monkeypatch.setattr("gateway.audit.audit_log.AuditLog.write", _fails)
    refused = change(server, made, query_text="x")
    monkeypatch.undo()
    assert refused.status >= 400 and expect(get(server, made)) == made


def _fails(*_: object) -> None:
    from catalog.conditions import AuditNotWritten

    raise AuditNotWritten("audit", "no space")


def test_server_without_log_ins_lets_everybody_own_every_query(folder: Path) -> None:
    server = SecureServer(folder, authentication__methods=["anonymous"], authentication__password_file="").start()
    try:
        made = expect(server.ask("POST", QUERIES, {"query": {"display_name": "q"}}))
        shares = {"access_control_list": [{"user_name": "anybody", "permission_level": "CAN_VIEW"}]}
        expect(server.ask("PUT", f"{QUERIES}/{made['id']}/permissions", shares))
        assert [each["id"] for each in expect(server.ask("GET", QUERIES))["results"]] == [made["id"]]
    finally:
        server.stop()


def break_file(folder: Path, query: dict[str, Any], content: str) -> None:
    (file,) = (folder / "catalog/queries/objects").glob(f"{query['id']}@*")
    file.write_text(content)


def test_unreadable_query_is_named_to_its_owner_and_the_others_stay(server: SecureServer, folder: Path) -> None:
    save(server, display_name="fine")
    broken = save(server, display_name="broken")
    break_file(folder, broken, '{"id"')
    use_files(server, folder)  # as after a restart
    for by, is_named in (("ann", True), ("zoë", True), ("bob", False)):
        listed = expect(server.ask("GET", QUERIES, **basic(by)))
        assert [each["display_name"] for each in listed["results"]] == (["fine"] if by == "ann" else [])
        named = [(each["id"], each["owner_user_name"]) for each in listed["unreadable"]]
        assert named == ([(broken["id"], "ann")] if is_named else [])
        assert expect(get(server, broken, by), 500 if is_named else 404)["condition"] == (
            "SAVED_QUERY_UNREADABLE" if is_named else "SAVED_QUERY_NOT_FOUND"
        )
    assert "no JSON" in expect(server.ask("GET", QUERIES, **basic("ann")))["unreadable"][0]["reason"]
    assert server.ask("DELETE", f"{QUERIES}/{broken['id']}", **basic("bob")).status == 404
    expect(server.ask("DELETE", f"{QUERIES}/{broken['id']}", **basic("ann")))
    assert expect(server.ask("GET", QUERIES, **basic("ann")))["unreadable"] == []
    assert names(server) == ["fine"]
