"""Our interface against the stubs inside real clients: same names, field ids, types and enum numbers."""

from __future__ import annotations

from enum import IntEnum
from types import ModuleType
from typing import Any

import pytest
import TCLIService.ttypes as pyhive
from databricks.sql.thrift_api.TCLIService import ttypes as databricks
from impala._thrift_gen.TCLIService import ttypes as impyla
from thrift.Thrift import TType

from gateway.hs2.gen import ttypes as ours

# Databricks extensions that are neither read nor sent.
SKIPPED = {
    ("TStatus", "errorDetailsJson"),
    ("TExecuteStatementReq", "statementConf"),  # for statements without a session
    ("TGetResultSetMetadataResp", "cacheLookupResult"),
}


def fields(struct: Any) -> dict[str, tuple[int, int]]:
    return {spec[2]: (spec[0], spec[1]) for spec in getattr(struct, "thrift_spec", ()) or () if spec}


def structs(module: ModuleType) -> dict[str, Any]:
    return {name: member for name, member in vars(module).items() if name.startswith("T") and fields(member)}


@pytest.mark.parametrize("client", [pyhive, impyla, databricks], ids=["pyhive", "impyla", "databricks"])
def test_every_field_that_a_client_knows_is_ours_too(client: ModuleType) -> None:
    known = {(name, *field) for name, struct in structs(client).items() for field in fields(struct).items()}
    mine = {(name, *field) for name, struct in structs(ours).items() for field in fields(struct).items()}
    same_names = {name for name in structs(client) if hasattr(ours, name)}
    assert len(same_names) > 60
    assert {entry[:2] for entry in known - mine if entry[0] in same_names} <= SKIPPED


@pytest.mark.parametrize("client", [pyhive, impyla, databricks], ids=["pyhive", "impyla", "databricks"])
def test_every_number_of_an_enum_that_a_client_knows_is_ours_too(client: ModuleType) -> None:
    checked = 0
    for name, member in vars(client).items():
        numbers = getattr(member, "_NAMES_TO_VALUES", None)
        mine = getattr(ours, name, None)
        if numbers and mine is not None:
            known = {label: number for label, number in numbers.items() if not label.startswith("__")}
            assert known.items() <= {entry.name: entry.value for entry in mine}.items(), name
            checked += 1
    assert checked >= 7


def test_extension_ids_do_not_collide() -> None:
    for name, struct in structs(ours).items():
        assert all(field_id < 20 or field_id > 1280 for field_id, _ in fields(struct).values()), name
    assert fields(ours.TOpenSessionReq)["client_protocol_i64"] == (1282, TType.I64)
    assert issubclass(ours.TProtocolVersion, IntEnum)
