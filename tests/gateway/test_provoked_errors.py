"""Errors of Spark Connect, MCP, the state folder, credentials and connectors, as users get them.

`provoked_errors.txt` has the full texts; `UPDATE_GOLDEN=1` writes it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark.sql.connect.functions as F
import pyspark.sql.connect.proto as pb2
import pytest
from pyspark.sql.connect.plan import Filter, Read
from pyspark.sql.types import ArrayType, StringType

from catalog.errors import SqlError
from engine.spark.connectors import install_connector
from gateway.cli.credentials import main as credentials
from gateway.connect.expressions import expression_sql
from gateway.connect.plans import operation_of, query_of
from gateway.connect.writes import write_of, write_v2_of
from gateway.http.mcp.messages import VERSION_KEY, MessageRefused, parse_body, parse_message
from gateway.state.folder import StateFolder

GOLDEN = Path(__file__).with_name("provoked_errors.txt")
SAVE = pb2.WriteOperation.SaveMode
SAVE_2 = pb2.WriteOperationV2.Mode


def read(kind: str, *paths: str, **options: str) -> pb2.Relation:
    source = pb2.Read.DataSource(format=kind, paths=list(paths), options=options)
    return pb2.Relation(read=pb2.Read(data_source=source))


def table(name: str, **options: str) -> pb2.Relation:
    return pb2.Relation(read=pb2.Read(named_table=pb2.Read.NamedTable(unparsed_identifier=name, options=options)))


def select(*columns: Any) -> pb2.Relation:
    found: pb2.Relation = Filter(Read("t"), *columns).plan(None)
    return found


def stream() -> pb2.Relation:
    named = pb2.Read.NamedTable(unparsed_identifier="t")
    return pb2.Relation(read=pb2.Read(is_streaming=True, named_table=named))


def typed(schema: str) -> pb2.Relation:
    relation = read("json", "/a")
    relation.read.data_source.schema = schema
    return relation


def save(**fields: Any) -> pb2.WriteOperation:
    return pb2.WriteOperation(mode=SAVE.SAVE_MODE_APPEND, table={"table_name": "t"}, **fields)


RELATIONS: dict[str, Callable[[], pb2.Relation]] = {
    'spark.read.format("jdbc").load()': lambda: read("jdbc", url="x"),
    'spark.read.csv(["/a", "/b"])': lambda: read("csv", "/a", "/b"),
    'spark.read.option("a b", 1).csv("/a")': lambda: read("csv", "/a", **{"a b": "1"}),
    'spark.readStream.table("t")': stream,
    'spark.table("a..b")': lambda: table("a..b"),
    'spark.read.option("frobnicate", 1).table("t")': lambda: table("t", frobnicate="1"),
    'spark.read.option("versionAsOf", "x").table("t")': lambda: table("t", versionAsOf="x"),
    'spark.read.option("readChangeFeed", True).table("t")': lambda: table("t", readChangeFeed="true"),
    "spark.read.schema(ArrayType(StringType())).json('/a')": lambda: typed(ArrayType(StringType()).json()),
    "spark.read.schema('{').json('/a')": lambda: typed("{"),
    'spark.table("t").filter(udf(f)("a"))': lambda: select(F.udf(lambda value: value)("a")),
}
WRITES: dict[str, Callable[[], object]] = {
    'df.write.format("csv").saveAsTable("t")': lambda: write_of(save(source="csv")),
    'df.write.option("compression", "zstd").saveAsTable("t")': lambda: write_of(save(options={"compression": "zstd"})),
    'df.write.bucketBy(4, "a").saveAsTable("t")': lambda: write_of(save(bucket_by={"num_buckets": 4})),
    'df.write.option("partitionOverwriteMode", "dynamic").option("replaceWhere", …).saveAsTable("t")': lambda: write_of(
        save(options={"partitionOverwriteMode": "dynamic", "replaceWhere": "a = 1"})
    ),
    'df.write.option("partitionOverwriteMode", "all").saveAsTable("t")': lambda: write_of(
        save(options={"partitionOverwriteMode": "all"})
    ),
    'df.writeTo("t").option("txnVersion", "x").append()': lambda: write_v2_of(
        pb2.WriteOperationV2(table_name="t", mode=SAVE_2.MODE_APPEND, options={"txnVersion": "x"})
    ),
    "a condition with a window": lambda: expression_sql(pb2.Expression(window=pb2.Expression.Window())),
    "an empty plan": lambda: operation_of(pb2.Plan()),
}
MESSAGES: dict[str, tuple[bytes, dict[str, str]]] = {
    "{": (b"{", {}),
    "an empty batch": (b"[]", {}),
    "an id that is true": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', {}),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":1,"method":1}', {}),
    "an unknown version": (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', {"MCP-Protocol-Version": "1999-01-01"}),
    "no capabilities": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"%s":"2026-07-28"}}}' % VERSION_KEY.encode(),
        {"MCP-Protocol-Version": "2026-07-28"},
    ),
}


def reads(make: Callable[[], pb2.Relation]) -> Callable[[], object]:
    return lambda: query_of(make())


def parses(content: bytes, headers: dict[str, str]) -> Callable[[], object]:
    return lambda: parse_message(parse_body(content, headers), headers)


def provoke(call: Callable[[], object]) -> str:
    """Returns the error's text as the client shows it."""
    try:
        call()
    except SqlError as error:
        return error.full_message
    except MessageRefused as error:
        return str(error)
    return "no error"


def calls(folder: Path, patch: pytest.MonkeyPatch) -> dict[str, Callable[[], object]]:
    def state(name: str, file: str, content: bytes) -> Callable[[], object]:
        path = folder / name
        path.mkdir()
        (path / file).write_bytes(content)
        return lambda: StateFolder(path)

    def without_maven() -> object:
        patch.setenv("PATH", str(folder))
        return install_connector("s3", folder / "connectors")

    return {
        **{name: reads(make) for name, make in RELATIONS.items()},
        **WRITES,
        **{f"MCP: {name}": parses(*message) for name, message in MESSAGES.items()},
        "state.folder with another format": state("newer", "format.json", b'{"version": 99}'),
        "state.folder with a damaged format": state("damaged", "format.json", b""),
        "state.folder with a damaged key": state("without-key", "key", b"short"),
        "delta-gateway prepare --with s3": without_maven,
    }


def commands(folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Returns the output of `delta-gateway credentials` for wrong arguments and settings."""
    config, key = folder / "gateway.toml", folder / "key"
    lake = f'[lake]\nfolder = "{folder}"\ncatalog_folder = "{folder}/catalog"\n'
    credentials(["key", str(key)])

    def run(setting: str, given: str, *arguments: str) -> str:
        config.write_text(f'{lake}[storage]\ncredentials_key = "{setting}"\n')
        patch.setattr("sys.stdin", io.StringIO(given))
        assert credentials([*arguments, "--config", str(config)]) == 1
        return capsys.readouterr().err.strip()

    add = ("add", "lake", "--url", "s3://lake")
    assert credentials(["key", str(key)]) == 1
    return {
        "delta-gateway credentials key FILE, which exists": capsys.readouterr().err.strip(),
        "delta-gateway credentials add lake, without a key": run("", 'secret_access_key = "x"', *add),
        "delta-gateway credentials add lake, with a key that is missing": run(f"file:{folder}/none", "", *add),
        "delta-gateway credentials add lake < text": run(f"file:{key}", "nonsense", *add),
        "delta-gateway credentials add lake < /dev/null": run(f"file:{key}", "", *add),
        "delta-gateway credentials add lake, with an unknown field": run(f"file:{key}", 'colour = "x"', *add),
        "delta-gateway credentials remove lake": run(f"file:{key}", "", "remove", "lake"),
    }


def test_provoked_errors_of_front_ends_read_as_the_golden_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = commands(tmp_path, monkeypatch, capsys)
    texts |= {name: provoke(call) for name, call in calls(tmp_path, monkeypatch).items()}
    found = "\n".join(f"> {name}\n{text}\n" for name, text in texts.items()).replace(str(tmp_path), "{folder}")
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")
