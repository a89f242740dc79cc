"""Every table feature has a table that uses it, and our documented behavior on it is the actual one."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.conditions import UnsupportedReaderFeatures, UnsupportedWriterFeatures
from engine.delta.snapshot.snapshot import load_snapshot
from engine.delta.spec.features import FEATURES
from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from engine.tables.operations import TableOperation
from tests.engine.lake_sessions import rows
from tests.feature_tables import FEATURE_TABLES

# Features that appear only in the protocol, not in the metadata.
NO_USE_OF_ITS_OWN = {"domainMetadata", "vacuumProtocolCheck"}
READ = [name for name, table in FEATURE_TABLES.items() if table.is_read]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("features")
    for name, table in FEATURE_TABLES.items():
        table.write(root / name)
    return root


def test_every_feature_has_a_table() -> None:
    assert FEATURE_TABLES.keys() == FEATURES.keys()


@pytest.mark.parametrize("name", FEATURE_TABLES)
def test_the_feature_is_in_use_and_known_as_its_row_says(lake: Path, name: str) -> None:
    feature, table = FEATURES[name], FEATURE_TABLES[name]
    config = load_snapshot(str(lake / name)).config
    assert name in config.features
    assert feature.is_in_use(config.facts) != (name in NO_USE_OF_ITS_OWN)
    for operation, is_done, refusal in (
        (TableOperation.READ, table.is_read, UnsupportedReaderFeatures),
        (TableOperation.APPEND, table.is_appended, UnsupportedWriterFeatures),
    ):
        if is_done:
            config.ensure_supported(operation)
        else:
            with pytest.raises(refusal, match=name):
                config.ensure_supported(operation)


def test_rows_are_read(lake: Path, spark_driver: SparkDriver) -> None:
    """In one statement, since a query per table costs more."""
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    parts = (f"SELECT '{name}', array_sort(collect_list({FEATURE_TABLES[name].shown})) FROM `{name}`" for name in READ)
    found = dict(rows(session, " UNION ALL ".join(parts)))
    session.close()
    assert found == {name: list(FEATURE_TABLES[name].values) for name in READ}
