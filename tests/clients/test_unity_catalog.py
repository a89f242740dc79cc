"""Clients that browse by Unity Catalog's API: databricks-sdk, the open-source client, and Terraform's data sources."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import NotFound

from tests.clients.environments import client_environment
from tests.clients.fix_agents import Agents
from tests.security.secure_server import basic

pytestmark = [pytest.mark.clients, pytest.mark.spark]

SCRIPT = Path(__file__).with_name("unity_browsing.py")
API = "/api/2.1/unity-catalog"
IN_SALES = ("spark_catalog", "sales")
FUNCTIONS = ["hidden", "in_north", "plan_count", "plus", "tagged"]


def token_of(agents: Agents, user: str) -> str:
    headers = {"Content-Type": "application/json"} | basic(user)
    request = urllib.request.Request(f"{agents.url}/api/2.0/token/create", b"{}", headers)
    with urllib.request.urlopen(request) as answer:
        token: str = json.load(answer)["token_value"]
    return token


def sdk(agents: Agents, user: str) -> WorkspaceClient:
    return WorkspaceClient(host=agents.url, token=token_of(agents, user), auth_type="pat")


def get(agents: Agents, user: str, path: str) -> tuple[int, dict[str, Any]]:
    """Returns the status and the JSON of a request."""
    request = urllib.request.Request(f"{agents.url}{path}", headers=basic(user))
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_databricks_sdk_browses_what_the_user_may_see(agents: Agents) -> None:
    bob, ann = sdk(agents, "bob"), sdk(agents, "ann")
    assert [each.name for each in bob.catalogs.list()] == ["spark_catalog", "system"]
    for client, schemas in ((bob, ["sales"]), (ann, ["sales", "secret"])):
        found = [each.name for each in client.schemas.list("spark_catalog")]
        assert [name for name in found if name != "default"] == schemas
        assert [each.full_name for each in client.tables.list(*IN_SALES)] == [
            f"spark_catalog.sales.{name}" for name in ("ids", "people", "plain")
        ]
        assert [len(each.columns or []) for each in client.tables.list(*IN_SALES)] == [1, 3, 3]
        assert [each.name for each in client.functions.list(*IN_SALES)] == FUNCTIONS
        assert [each.name for each in client.volumes.list(*IN_SALES)] == ["files"]
    assert [each.name for each in ann.tables.list("spark_catalog", "secret")] == ["plans"]
    assert [each.name for each in ann.volumes.list("spark_catalog", "secret")] == ["safe"]


def test_databricks_sdk_reads_the_fields_of_each_kind(agents: Agents) -> None:
    bob = sdk(agents, "bob")
    schema = bob.schemas.get("spark_catalog.sales")
    assert (schema.catalog_name, schema.owner, schema.comment) == ("spark_catalog", "ann", "what is sold")
    people = bob.tables.get("spark_catalog.sales.people")
    assert people.table_type and people.data_source_format and people.columns
    assert (people.table_type.value, people.data_source_format.value) == ("MANAGED", "DELTA")
    assert (people.comment, people.owner, people.created_by) == ("those who buy", "ann", "ann")
    assert [(one.name, one.type_text, one.position, one.partition_index, one.comment) for one in people.columns] == [
        ("id", "int", 0, None, "a key"),
        ("region", "string", 1, 0, None),
        ("email", "string", 2, None, None),
    ]
    plain = bob.tables.get("SPARK_CATALOG.Sales.PLAIN").columns or []
    assert [(one.type_name and one.type_name.value, one.type_text, one.type_scale) for one in plain] == [
        ("INT", "int", None),
        ("DECIMAL", "decimal(10,2)", 2),
        ("ARRAY", "array<string>", None),
    ]
    assert [json.loads(one.type_json or "")["type"] for one in plain] == [
        "integer",
        "decimal(10,2)",
        {"type": "array", "elementType": "string", "containsNull": True},
    ]
    view = bob.tables.get("spark_catalog.sales.ids")
    assert (view.table_type and view.table_type.value, view.view_definition) == ("VIEW", None)
    volume = bob.volumes.read("spark_catalog.sales.files")
    assert (volume.volume_type and volume.volume_type.value, volume.comment) == ("MANAGED", "papers")
    plus = bob.functions.get("spark_catalog.sales.plus")
    parameters = plus.input_params and plus.input_params.parameters or []
    assert [(one.name, one.type_text, one.parameter_default, one.comment) for one in parameters] == [
        ("x", "INT", None, "a number"),
        ("y", "INT", "2", None),
    ]
    count = bob.functions.get("spark_catalog.sales.plan_count")
    assert (count.data_type and count.data_type.value, count.full_data_type) == ("LONG", "BIGINT")
    tagged = bob.functions.get("spark_catalog.sales.tagged")
    assert (tagged.data_type and tagged.data_type.value) == "TABLE_TYPE"
    assert tagged.full_data_type == "(tag STRING, price DECIMAL(20,2))"


def test_places_and_texts_are_shown_to_managers_only(agents: Agents) -> None:
    for user, is_shown in (("bob", False), ("ann", True)):
        client = sdk(agents, user)
        shown = (
            client.tables.get("spark_catalog.sales.people").storage_location,
            client.tables.get("spark_catalog.sales.ids").view_definition,
            client.functions.get("spark_catalog.sales.plus").routine_definition,
            client.volumes.read("spark_catalog.sales.files").storage_location,
        )
        assert [value is not None for value in shown] == [is_shown] * 4


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("tables?catalog_name=spark_catalog&schema_name=secret", "SCHEMA_DOES_NOT_EXIST"),
        ("functions?catalog_name=spark_catalog&schema_name=secret", "SCHEMA_DOES_NOT_EXIST"),
        ("volumes?catalog_name=spark_catalog&schema_name=secret", "SCHEMA_DOES_NOT_EXIST"),
        ("schemas/spark_catalog.secret", "SCHEMA_DOES_NOT_EXIST"),
        ("tables/spark_catalog.secret.plans", "TABLE_DOES_NOT_EXIST"),
        ("functions/spark_catalog.secret.all_plans", "FUNCTION_DOES_NOT_EXIST"),
        ("volumes/spark_catalog.secret.safe", "VOLUME_DOES_NOT_EXIST"),
    ],
)
def test_hidden_object_is_unknown(agents: Agents, path: str, code: str) -> None:
    status, answer = get(agents, "bob", f"{API}/{path}")
    assert (status, answer["error_code"]) == (404, code)
    assert get(agents, "ann", f"{API}/{path}")[0] == 200
    unknown = path.replace("secret", "nowhere")
    assert get(agents, "bob", f"{API}/{unknown}")[0] == 404


def test_existence_of_a_hidden_table_is_not_revealed(agents: Agents) -> None:
    for user, exists in (("bob", False), ("ann", True)):
        assert sdk(agents, user).tables.exists("spark_catalog.secret.plans").table_exists is exists
    with pytest.raises(NotFound):
        sdk(agents, "bob").tables.get("spark_catalog.secret.plans")


def test_lists_have_pages(agents: Agents) -> None:
    path, found = f"{API}/tables?catalog_name=spark_catalog&schema_name=sales&max_results=1", list[str]()
    status, page = get(agents, "bob", path)
    while status == 200:
        found += [table["name"] for table in page["tables"]]
        if "next_page_token" not in page:
            break
        status, page = get(agents, "bob", f"{path}&page_token={page['next_page_token']}")
    assert found == ["ids", "people", "plain"]
    omitted = get(agents, "bob", f"{path}&omit_columns=true&omit_properties=true")[1]["tables"]
    assert "columns" not in omitted[0]
    for query in ("max_results=-1", "max_results=x", "page_token=%FF", "page_token=a"):
        assert get(agents, "bob", f"{path.replace('&max_results=1', '')}&{query}")[0] == 400
    for other in ("tables", "tables?catalog_name=spark_catalog", "schemas", "tables/spark_catalog.sales", "schemas/x"):
        assert get(agents, "bob", f"{API}/{other}")[0] == 400


def test_client_of_the_open_source_catalog_browses(agents: Agents) -> None:
    python = client_environment("unitycatalog", "unitycatalog-client==0.7.0") / "python"
    command: list[str | Path] = [python, SCRIPT, agents.url, token_of(agents, "bob")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout) == {
        "catalogs": ["spark_catalog", "system"],
        "schemas": ["default", "sales"],
        "pages": [["ids", "people"], ["plain"]],
        "columns": [["id", "INT", "int", None], ["region", "STRING", "string", 0], ["email", "STRING", "string", None]],
        "table": ["MANAGED", "DELTA", "those who buy"],
        "function": ["INT", [["x", "INT"], ["y", "INT"]]],
        "functions": FUNCTIONS,
        "volume": ["MANAGED", "papers"],
        "hidden": None,
    }


@pytest.mark.parametrize(
    ("source", "path", "names"),
    [
        ("databricks_catalogs", f"{API}/catalogs", ["spark_catalog", "system"]),
        ("databricks_catalogs of newer releases", f"{API}/catalogs?max_results=0", ["spark_catalog", "system"]),
        ("databricks_catalog", f"{API}/catalogs/spark_catalog?", "spark_catalog"),
        ("databricks_schemas", f"{API}/schemas?catalog_name=spark_catalog&max_results=0", ["default", "sales"]),
        ("databricks_schema", f"{API}/schemas/spark_catalog.sales?", "sales"),
        ("databricks_tables", f"{API}/tables?catalog_name=spark_catalog&schema_name=sales", ["ids", "people", "plain"]),
        ("databricks_views", f"{API}/tables?catalog_name=spark_catalog&max_results=0&schema_name=sales",
         ["ids", "people", "plain"]),
        ("databricks_table", f"{API}/tables/spark_catalog.sales.plain?", "plain"),
        ("databricks_functions",
         f"{API}/functions?catalog_name=spark_catalog&include_browse=true&max_results=0&schema_name=sales", FUNCTIONS),
        ("databricks_volumes", f"{API}/volumes?catalog_name=spark_catalog&schema_name=sales", ["files"]),
        ("databricks_volume", f"{API}/volumes/spark_catalog.sales.files?", "files"),
        ("databricks_sql_warehouses", "/api/2.0/sql/warehouses?", ["delta-gateway"]),
        ("databricks_sql_warehouse", "/api/2.0/sql/warehouses/any?", "delta-gateway"),
    ],
)  # fmt: skip
def test_request_of_a_terraform_data_source(agents: Agents, source: str, path: str, names: list[str] | str) -> None:
    status, answer = get(agents, "bob", path)
    assert status == 200, source
    if isinstance(names, str):
        assert answer["name"] == names
    else:
        (listed,) = (value for key, value in answer.items() if isinstance(value, list))
        assert [each["name"] for each in listed] == names
