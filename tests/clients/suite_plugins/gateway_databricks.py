"""Redirects the Databricks connector to the server at GATEWAY_URI, for any backend that a test chooses.

With an https URI, all backends but the kernel, which has certificate authorities of its own, connect with TLS.
"""

import importlib
import os
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from databricks import sql

_URI = os.environ["GATEWAY_URI"]
_connect = sql.connect


def _connect_to_gateway(*positional: Any, **settings: Any) -> Any:
    settings.setdefault("enable_telemetry", False)
    uri = urlsplit(_URI)
    if settings.get("use_kernel"):
        settings["server_hostname"] = f"http://{uri.netloc}"
    elif settings.get("use_sea"):
        host = f"{uri.hostname}" if uri.scheme == "https" else f"http://{uri.hostname}"
        settings |= {"server_hostname": host, "_port": uri.port}
    else:
        settings["_connection_uri"] = _URI
    return _connect(*positional, **settings)


sql.connect = _connect_to_gateway
with suppress(ImportError):  # dbt's default walks the stack and reads sources, which takes seconds for each command
    importlib.import_module("dbt_common.behavior_flags").BehaviorFlagRendered._default_source = lambda *_: "suite"
