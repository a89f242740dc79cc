"""Databricks' SQL Warehouses API 2.0: one running warehouse that cannot be changed.

    GET /api/2.0/sql/warehouses
    GET /api/2.0/sql/warehouses/{id}    the same under any id, since connection paths accept any
    POST /api/2.0/sql/warehouses/{id}/start    no change, since it is running

Airflow's Databricks hook and the SDK look up an `http_path` here by warehouse name.
"""

from __future__ import annotations

from urllib.parse import quote

from flask import Blueprint, request

from gateway.http.delivery import API
from gateway.http.statements import StatementApi

WAREHOUSE = "delta-gateway"
_DEFAULT_PORTS = {"http": 80, "https": 443}


def warehouses_blueprint(api: StatementApi) -> Blueprint:
    """Returns the routes below `/api/2.0/sql/warehouses`, for the only warehouse. Starting it has no effect."""
    routes = Blueprint("warehouses", __name__)
    routes.before_request(api.authenticate)

    @routes.get(f"{API}/warehouses")
    def warehouses() -> dict[str, object]:
        return {"warehouses": [_warehouse(api, WAREHOUSE)]}

    @routes.get(f"{API}/warehouses/<warehouse_id>")
    def warehouse(warehouse_id: str) -> dict[str, object]:
        return _warehouse(api, warehouse_id)

    @routes.post(f"{API}/warehouses/<warehouse_id>/start")
    def start(warehouse_id: str) -> dict[str, object]:
        del warehouse_id
        return {}

    return routes


def _warehouse(api: StatementApi, warehouse_id: str) -> dict[str, object]:
    """Returns its fields; the sessions are the ones that the user may end, its own or all."""
    host, _, port = (
        request.host.rpartition(":") if request.host.rpartition(":")[2].isdigit() else (request.host, "", "")
    )
    path = f"/sql/1.0/warehouses/{quote(warehouse_id, safe='')}"
    number = int(port) if port.isdigit() else _DEFAULT_PORTS[request.scheme]
    return {
        "id": warehouse_id,
        "name": WAREHOUSE,
        "state": "RUNNING",
        "health": {"status": "HEALTHY"},
        "warehouse_type": "PRO",
        "auto_stop_mins": 0,
        "num_clusters": 1,
        "min_num_clusters": 1,
        "max_num_clusters": 1,
        "num_active_sessions": sum(1 for _ in api.registry().managed_sessions(api.identity())),
        "enable_photon": False,
        "enable_serverless_compute": False,
        "odbc_params": {"hostname": host, "path": path, "port": number, "protocol": request.scheme},
        "jdbc_url": f"jdbc:databricks://{host}:{number}/default;transportMode=http;"
        f"ssl={int(request.scheme == 'https')};AuthMech=3;httpPath={path};",
    }
