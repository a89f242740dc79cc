"""Each library is imported in one place."""

from __future__ import annotations

import re
import sys
import tomllib

import pytest

from tests.paths import ROOT
from tests.tidy.sources import MODULES, PACKAGES

LIBRARY_IMPORTERS = {
    "joserfc": r"gateway/authenticators/(issuer|jwt)\.py$",
    "cryptography": r"(catalog/store/sealed_credentials|gateway/(audit/signed_digests|process/tls))\.py$",
    "ldap3": r"gateway/authenticators/ldap\.py$",
    "argon2": r"gateway/authenticators/passwords\.py$",
    "opentelemetry": r"gateway/observability/open_telemetry\.py$",
    "prompt_toolkit": r"gateway/cli/lines\.py$",
    "pygments": r"gateway/cli/lines\.py$",
    "sqlglot": r"engine/sql/",
    "google": r"gateway/(connect|flight)/",
    "grpc": r"gateway/connect/",
    "grpc_status": r"gateway/connect/",
    "pyspark": r"(engine/spark/|gateway/connect/(proto|rows)\.py$)",
    "py4j": r"engine/spark/",
    "thrift": r"gateway/(hs2/|catalog_import/hive_metastore\.py$)",
    "flask": r"gateway/(http/|server\.py$)",
    "werkzeug": r"gateway/http/",
    "zstandard": r"gateway/connect/plans\.py$",
    "duckdb": r"gateway/postgres/catalog/database\.py$",
    "fastavro": r"engine/iceberg/manifests/avro\.py$",
    "fsspec": r"catalog/store/conditional_put\.py$",
    "httpx": r"(catalog/rest/transport|gateway/catalog_import/unity)\.py$",
}
SUBMODULE_IMPORTERS = {"pyarrow.flight": "gateway/flight/"}
# Comes with a library that is declared.
# With the extra that declares it.
OPTIONAL = {
    "duckdb": "postgres",
    "google": "connect",
    "grpc": "connect",
    "grpc_status": "connect",
    "opentelemetry": "otel",
    "zstandard": "connect",
}
# Modules that are not named after the distribution that declares them.
DECLARED_AS = {"google": "protobuf", "grpc": "grpcio", "grpc_status": "grpcio-status"}
COMES_WITH = {"argon2": "argon2_cffi", "py4j": "pyspark", "werkzeug": "flask"}


@pytest.mark.parametrize("library", LIBRARY_IMPORTERS)
def test_library_is_imported_only_by_its_importer(library: str) -> None:
    wrong = [
        f"{module.path}:{line}"
        for module in MODULES.values()
        for name, line in module.imports
        if name.partition(".")[0] == library and not re.match(LIBRARY_IMPORTERS[library], module.path)
    ]
    assert not wrong


@pytest.mark.parametrize("name", SUBMODULE_IMPORTERS)
def test_part_of_a_library_is_imported_only_by_its_importer(name: str) -> None:
    found = [
        module.path
        for module in MODULES.values()
        if any(imported == name or imported.startswith(f"{name}.") for imported, _ in module.imports)
    ]
    assert found and all(path.startswith(SUBMODULE_IMPORTERS[name]) for path in found)


def test_every_imported_library_is_declared_and_every_declared_one_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[<>=\[]", line)[0].replace("-", "_") for line in project["dependencies"]}
    imported = {name.partition(".")[0] for module in MODULES.values() for name, _ in module.imports}
    libraries = imported - set(sys.stdlib_module_names) - set(PACKAGES) - set(OPTIONAL)
    assert {COMES_WITH.get(name, name) for name in libraries} == declared
    for library, extra in OPTIONAL.items():
        declared_as = DECLARED_AS.get(library, library)
        assert library in imported
        assert any(line.startswith(declared_as) for line in project["optional-dependencies"][extra])
