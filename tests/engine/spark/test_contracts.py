"""Contracts with Spark's internals, stated once more, so that a Spark upgrade that breaks one fails here with its name.

The classes in `engine/spark/java` are compiled against the pinned Spark, so a missing signature stops the build. These
tests also notice changes that still compile: a method added to a class that we implement, and behavior that no
signature shows. If one fails, read the new Spark before changing the expectation.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyspark
import pytest

from engine.planning.plans.file_writes import WriteTarget
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession, SparkDriver
from engine.sql.query.values import ExplainMode
from engine.tables.scan import Scan
from tests.engine.spark.scans import DataFile, write_scan

pytestmark = pytest.mark.spark

DATASOURCES = "org.apache.spark.sql.execution.datasources"
VECTORS = "org.apache.spark.sql.execution.vectorized"

# Every method that Spark may call in our implementations.
IMPLEMENTED = {
    f"{DATASOURCES}.FileIndex": {
        "inputFiles()",
        "isTimeTravel()",
        "listFiles(Seq,Seq)",
        "metadataOpsTimeNs()",
        "partitionSchema()",
        "refresh()",
        "rootPaths()",
        "sizeInBytes()",
    },
    "org.apache.spark.sql.sources.BaseRelation": {
        "needConversion()",
        "schema()",
        "sizeInBytes()",
        "sqlContext()",
        "unhandledFilters(Filter[])",
    },
    "org.apache.spark.sql.sources.TableScan": {"buildScan()"},
    "org.apache.spark.internal.io.FileCommitProtocol": {
        "abortJob(JobContext)",
        "abortTask(TaskAttemptContext)",
        "commitJob(JobContext,Seq)",
        "commitTask(TaskAttemptContext)",
        "deleteWithJob(FileSystem,Path,boolean)",
        "newTaskTempFile(TaskAttemptContext,Option,FileNameSpec)",
        "newTaskTempFile(TaskAttemptContext,Option,String)",
        "newTaskTempFileAbsPath(TaskAttemptContext,String,FileNameSpec)",
        "newTaskTempFileAbsPath(TaskAttemptContext,String,String)",
        "onTaskCommit(FileCommitProtocol$TaskCommitMessage)",
        "setupJob(JobContext)",
        "setupTask(TaskAttemptContext)",
    },
}

# Spark internals that we call.
CALLED = {
    f"{DATASOURCES}.HadoopFsRelation": "(FileIndex,StructType,StructType,Option,FileFormat,Map,SparkSession)",
    f"{DATASOURCES}.PartitionDirectory$": "apply(InternalRow,FileStatus[])",
    f"{DATASOURCES}.FileFormatWriter$": "write(SparkSession,SparkPlan,FileFormat,FileCommitProtocol,"
    "FileFormatWriter$OutputSpec,Configuration,Seq,Option,Seq,Map,int,Function0)",
    f"{DATASOURCES}.WriteJobDescription": "(String,SerializableConfiguration,OutputWriterFactory,Seq,Seq,Seq,Option,"
    "String,Map,long,String,Seq)",
    "org.apache.spark.sql.execution.arrow.ArrowConverters$": "fromBatchIterator(Iterator,StructType,String,boolean,"
    "boolean,TaskContext)",
    "org.apache.spark.sql.internal.SessionState": "executePlan(LogicalPlan,Enumeration$Value)",
    "org.apache.spark.sql.execution.SQLExecution$": "withNewExecutionId(QueryExecution,Option,Function0)",
    "org.apache.spark.sql.catalyst.parser.ParserInterface": "parsePlanWithParameters(String,ParameterContext)",
    "org.apache.spark.sql.connect.planner.SparkConnectPlanner": "transformRelation(Relation)",
    "org.apache.spark.sql.connect.service.SessionHolder$": "apply(String,String,SparkSession)",
}

# Private fields that are set or read, by class. Without them all works, only slower, and nothing would show it.
FIELDS = {
    "org.apache.spark.scheduler.DAGScheduler": {"nextStageId": "java.util.concurrent.atomic.AtomicInteger"},
    f"{VECTORS}.WritableColumnVector": {
        "capacity": "int",
        "numNulls": "int",
        "dictionary": f"{VECTORS}.Dictionary",
        "dictionaryIds": f"{VECTORS}.WritableColumnVector",
    },
    f"{VECTORS}.OnHeapColumnVector": {
        "nulls": "[B",
        "byteData": "[B",
        "shortData": "[S",
        "intData": "[I",
        "longData": "[J",
        "floatData": "[F",
        "doubleData": "[D",
    },
    f"{DATASOURCES}.RecordReaderIterator": {"rowReader": "org.apache.hadoop.mapreduce.RecordReader"},
    f"{DATASOURCES}.parquet.VectorizedParquetRecordReader": {
        "rowIndexGenerator": f"{DATASOURCES}.parquet.ParquetRowIndexUtil$RowIndexGenerator",
    },
}

_LOGGING = re.compile(r"log|initialize|isTraceEnabled|LogStringContext|MDC|withLogContext|org\$apache")
_OBJECT = {"equals", "getClass", "hashCode", "notify", "notifyAll", "wait"}


def load(driver: SparkDriver, class_name: str) -> Any:
    jvm: Any = driver.process.gateway.jvm  # the JVM is the subject here
    return jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(class_name)


def signatures(driver: SparkDriver, class_name: str) -> set[str]:
    """Returns public methods and constructors, `name(Simple,Types)`, without logging and Object's methods."""
    loaded = load(driver, class_name)
    found = set()
    for member in (*loaded.getMethods(), *loaded.getConstructors()):
        shown = re.fullmatch(r"(.*?)([^ ]+)\((.*)\).*", member.toString())
        assert shown is not None
        modifiers, name, parameters = shown.groups()
        name = "" if name == class_name else name.rsplit(".", 1)[-1]
        simple = ",".join(parameter.rsplit(".", 1)[-1] for parameter in parameters.split(","))
        if "static" not in modifiers.split() and not _LOGGING.match(name) and name not in _OBJECT:
            found.add(f"{name}({simple})")
    return found


def test_spark_is_the_one_that_was_read() -> None:
    assert pyspark.__version__ == "4.3.0"


@pytest.mark.parametrize("class_name", IMPLEMENTED)
def test_we_implement_all_there_is(spark_driver: SparkDriver, class_name: str) -> None:
    found = {signature for signature in signatures(spark_driver, class_name) if not signature.startswith("(")}
    assert found - {"toString()"} == IMPLEMENTED[class_name]


@pytest.mark.parametrize("class_name", CALLED)
def test_called_spark_internals_exist(spark_driver: SparkDriver, class_name: str) -> None:
    assert CALLED[class_name] in signatures(spark_driver, class_name)


@pytest.mark.parametrize("class_name", FIELDS)
def test_the_fields_that_we_set_are_there(spark_driver: SparkDriver, class_name: str) -> None:
    loaded = load(spark_driver, class_name)
    assert {name: loaded.getDeclaredField(name).getType().getName() for name in FIELDS[class_name]} == FIELDS[
        class_name
    ]


@pytest.fixture
def sales(tmp_path: Path) -> Scan:
    files = [
        DataFile(path=f"{day}.parquet", columns={"id": [day]}, partition_values={"day": str(day)}) for day in range(3)
    ]
    return write_scan(tmp_path / "sales", {"day": "integer", "id": "long"}, files, partition_columns=["day"])


def explain(spark: ExecSession, text: str, *scans: Scan) -> str:
    plan = ReadPlan(text=text, scans=scans)
    shown = spark.explain(plan, ExplainMode.SIMPLE, "", StatementRequest(identity=Identity("alice")))
    text = next(shown.batches()).column(0)[0].as_py()
    return text


def test_partition_filters_are_left_to_the_index(spark: ExecSession, sales: Scan) -> None:
    """No Filter stands above the scan; if one did, the index would do its work twice."""
    shown = explain(spark, "SELECT * FROM __scan_0 WHERE day = 1", sales)
    assert re.search(r"PartitionFilters: \[.*day.* = 1", shown)
    assert "Filter (" not in shown


def test_conditions_that_name_constants_are_not_pushed(spark: ExecSession, sales: Scan) -> None:
    shown = explain(spark, "SELECT id FROM __scan_0 WHERE (id = 7 OR day <= 1) AND id > 0", sales)
    assert "PushedFilters: [IsNotNull(id), GreaterThan(id,0)]" in shown
    assert re.search(r"DataFilters: .*knownnotnull", shown)


def test_scans_are_spark_own_vectorized_parquet_reader(spark: ExecSession, sales: Scan) -> None:
    shown = explain(spark, "SELECT id FROM __scan_0 WHERE id > 0", sales)
    assert "FileScan parquet" in shown
    assert "Batched: true" in shown
    assert "PrunedFileIndex" in shown
    assert "PushedFilters: [IsNotNull(id), GreaterThan(id,0)]" in shown
    assert "ReadSchema: struct<id:bigint>" in shown


def test_partition_columns_in_the_data_schema_keep_their_place(spark: ExecSession, sales: Scan) -> None:
    plan = ReadPlan(text="SELECT * FROM __scan_0", scans=(sales,))
    described = spark.describe(plan, StatementRequest(identity=Identity("alice")))
    assert next(described.batches()).column("col_name").to_pylist() == ["day", "id"]


def test_writer_asks_the_protocol_for_every_name(spark: ExecSession, tmp_path: Path) -> None:
    """No `_SUCCESS`, no `_temporary`, no `.crc`: the folder has only the returned names."""
    target = WriteTarget(folder=str(tmp_path / "t"), partition_columns=("p",))
    plan = ReadPlan(text="SELECT id, id % 2 AS p FROM range(0, 10, 1, 2)", scans=())
    written = spark.write_files(plan, target, StatementRequest(identity=Identity("alice")))
    assert {str(path.relative_to(tmp_path / "t")) for path in (tmp_path / "t").rglob("*") if path.is_file()} == {
        file.path for file in written
    }
    assert all(re.fullmatch(r"p=[01]/part-\d{5}-[0-9a-f-]{36}\.c\d{3}\.snappy\.parquet", f.path) for f in written)
