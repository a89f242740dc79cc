"""Resolution of metadata paths, for a table in its recorded location or a moved one."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.iceberg.snapshot.places import Places

PATHS: list[tuple[str, str, str, str]] = [
    ("/lake/t", "/lake/t", "/lake/t/data/a.parquet", "data/a.parquet"),
    ("/lake/t", "file:///lake/t", "file:///lake/t/data/a.parquet", "data/a.parquet"),
    ("/lake/t", "file:/lake/t", "file:///lake/t/data/a.parquet", "data/a.parquet"),
    ("/lake/t", "file:///lake/t", "file:///lake/t//data/a.parquet", "data/a.parquet"),
    ("/lake/t", "file:///lake/t", "/lake/t/p=%3A é/a.parquet", "p=%3A é/a.parquet"),
    ("/elsewhere/t", "s3://bucket/t", "s3://bucket/t/data/a.parquet", "data/a.parquet"),
    ("/elsewhere/t", "s3://bucket/t", "s3://bucket/table/a.parquet", "s3://bucket/table/a.parquet"),
    ("/lake/t", "/lake/t", "file:///other/a.parquet", "/other/a.parquet"),
    ("/x/data/persistent/t", "data/persistent/t", "data/persistent/t/a.parquet", "a.parquet"),
    ("/x/data/persistent/t", "data/persistent/t", "data/persistent/u/a.parquet", "/x/data/persistent/u/a.parquet"),
    ("/x/t", "./t", "t/metadata/m.avro", "metadata/m.avro"),
    ("/lake/t", "/lake/t", "/lake/t/../u/a.parquet", "../u/a.parquet"),
]


@pytest.mark.parametrize(("root", "location", "text", "expected"), PATHS)
def test_paths(root: str, location: str, text: str, expected: str) -> None:
    places = Places(root, location)
    assert places.path(text) == expected
    assert places.paths(pa.chunked_array([[text, f"{location}/data/b.parquet"]])).to_pylist()[0] == expected
