"""A Hive metastore with four tables, served by the classes that Hive's own interface generates."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hive_metastore import ThriftHiveMetastore
from hive_metastore.ttypes import (
    Database,
    HiveObjectPrivilege,
    HiveObjectRef,
    MetaException,
    PrivilegeGrantInfo,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from thrift.protocol.TBinaryProtocol import TBinaryProtocolFactory
from thrift.server.TServer import TThreadedServer
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TTransport import TBufferedTransportFactory

DELTA = Table(
    tableName="orders",
    dbName="shop",
    tableType="EXTERNAL_TABLE",
    sd=StorageDescriptor(
        location="file:/x-__PLACEHOLDER__", serdeInfo=SerDeInfo(parameters={"path": "s3a://b/orders"})
    ),
    parameters={"spark.sql.sources.provider": "DELTA"},
)
ICEBERG = Table(
    tableName="events",
    dbName="shop",
    tableType="EXTERNAL_TABLE",
    sd=StorageDescriptor(location="s3a://b/events"),
    parameters={"table_type": "ICEBERG", "metadata_location": "s3a://b/events/metadata/3.metadata.json"},
)
PARQUET = Table(
    tableName="old",
    dbName="shop",
    tableType="MANAGED_TABLE",
    sd=StorageDescriptor(
        location="hdfs://n/old", inputFormat="org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
    ),
    parameters={},
)
VIEW = Table(
    tableName="big",
    dbName="shop",
    tableType="VIRTUAL_VIEW",
    viewOriginalText="SELECT * FROM orders WHERE amount > 10",
    sd=StorageDescriptor(),
    parameters={
        "comment": "large ones",
        "view.catalogAndNamespace.numParts": "2",
        "view.catalogAndNamespace.part.0": "spark_catalog",
        "view.catalogAndNamespace.part.1": "sales",
    },
)


def granted(principal: str, kind: int, privilege: str) -> HiveObjectPrivilege:
    return HiveObjectPrivilege(
        hiveObject=HiveObjectRef(),
        principalName=principal,
        principalType=kind,
        grantInfo=PrivilegeGrantInfo(privilege=privilege),
    )


class Handler:
    """A metastore's answers, in the classes that Hive's interface generates."""

    tables = {table.tableName: table for table in (DELTA, ICEBERG, PARQUET, VIEW)}

    def get_all_databases(self) -> list[str]:
        return ["shop"]

    def get_database(self, database: str) -> Database:
        return Database(name=database, description="what we sell", locationUri="hdfs://n/shop")

    def get_all_tables(self, database: str) -> list[str]:
        return list(self.tables)

    def get_table(self, database: str, table: str) -> Table:
        return self.tables[table]

    def list_privileges(self, principal: str, kind: int, on: HiveObjectRef) -> list[HiveObjectPrivilege]:
        assert principal is None and kind is None
        if on.objectName == "orders":
            return [granted("ann", 1, "SELECT"), granted("sales", 2, "INSERT"), granted("ops", 3, "LOCK")]
        return [granted("staff", 3, "ALL")] if on.objectType == 2 else []


class BrokenHandler(Handler):
    def get_table(self, database: str, table: str) -> Table:
        raise MetaException("the database is down")


@contextmanager
def metastore(handler: Handler) -> Iterator[int]:
    socket = TServerSocket("127.0.0.1", 0)
    socket.listen()
    port: int = socket.handle.getsockname()[1]
    processor = ThriftHiveMetastore.Processor(handler)
    server = TThreadedServer(processor, socket, TBufferedTransportFactory(), TBinaryProtocolFactory(), daemon=True)
    server.serverTransport.listen = lambda: None
    threading.Thread(target=server.serve, daemon=True).start()
    yield port
    socket.close()
