"""Runs SQL with the Iceberg runtime and returns the rows; the tests start it in a separate environment.

Like `delta_spark.py`: lines in, one file with answers out. The tables in the catalog `c` are below `lake`, in the
working folder. Besides SQL, a line may request an operation without SQL syntax in the runtime, as a list in JSON: a
`Maker` method's name, and its arguments.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

JAR = Path(sys.executable).parent.parent / "iceberg-spark-runtime.jar"
_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
_JAVA = """
import java.util.*;
import org.apache.iceberg.*;
import org.apache.iceberg.data.*;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

public class Maker {
    public void deleteEqual(Table table, Dataset frame, List keys, boolean everywhere) throws Exception {
        List names = Arrays.asList(frame.columns());
        Schema schema = table.schema().select((Collection) names);
        int[] ids = new int[keys.size()];
        for (int i = 0; i < ids.length; i++) ids[i] = schema.findField((String) keys.get(i)).fieldId();
        PartitionSpec spec = table.spec();
        if (everywhere) {
            Iterator specs = table.specs().values().iterator();
            while (specs.hasNext()) {
                PartitionSpec each = (PartitionSpec) specs.next();
                if (each.isUnpartitioned()) spec = each;
            }
        }
        GenericFileWriterFactory factory = new GenericFileWriterFactory.Builder(table)
            .equalityFieldIds(ids).equalityDeleteRowSchema(schema).build();
        OutputFileFactory files = OutputFileFactory.builderFor(table, 1, System.nanoTime()).build();
        Map groups = new LinkedHashMap();
        Map partitions = new HashMap();
        Iterator rows = frame.collectAsList().iterator();
        while (rows.hasNext()) {
            Row row = (Row) rows.next();
            GenericRecord record = GenericRecord.create(schema);
            for (int i = 0; i < names.size(); i++) record.setField((String) names.get(i), value(row.get(i)));
            PartitionKey key = null;
            if (!spec.isUnpartitioned()) {
                key = new PartitionKey(spec, schema);
                key.partition(new InternalRecordWrapper(schema.asStruct()).wrap(record));
            }
            String path = key == null ? "" : spec.partitionToPath(key);
            if (!groups.containsKey(path)) groups.put(path, new ArrayList());
            ((List) groups.get(path)).add(record);
            partitions.put(path, key);
        }
        RowDelta delta = table.newRowDelta();
        Iterator paths = groups.keySet().iterator();
        while (paths.hasNext()) {
            Object path = paths.next();
            PartitionKey key = (PartitionKey) partitions.get(path);
            EqualityDeleteWriter writer = (EqualityDeleteWriter) factory.newEqualityDeleteWriter(
                files.newOutputFile(spec, key), spec, key);
            Iterator records = ((List) groups.get(path)).iterator();
            while (records.hasNext()) writer.write(records.next());
            writer.close();
            delta.addDeletes(writer.toDeleteFile());
        }
        delta.commit();
    }

    private Object value(Object value) {
        if (value instanceof java.time.Instant)
            return java.time.OffsetDateTime.ofInstant((java.time.Instant) value, java.time.ZoneOffset.UTC);
        return value;
    }

    public void addColumn(Table table, String parent, String name, String type, String json) {
        Type parsed = Types.fromPrimitiveString(type);
        Object value = SingleValueParser.fromJson(parsed, json);
        UpdateSchema update = table.updateSchema();
        if (parent == null) update.addColumn(name, parsed, Expressions.lit(value));
        else update.addColumn(parent, name, parsed, Expressions.lit(value));
        update.commit();
    }

    public void setColumnDefault(Table table, String name, String type, String json) {
        Object value = SingleValueParser.fromJson(Types.fromPrimitiveString(type), json);
        table.updateSchema().updateColumnDefault(name, Expressions.lit(value)).commit();
    }
}
"""


def open_spark() -> SparkSession:
    """Returns a small Spark with Iceberg."""
    catalog = "spark.sql.catalog.c"
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.extraClassPath", str(JAR))
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config(catalog, "org.apache.iceberg.spark.SparkCatalog")
        .config(f"{catalog}.type", "hadoop")
        .config(f"{catalog}.warehouse", str(Path.cwd() / "lake"))
        .config(f"{catalog}.cache-enabled", "false")
        .config("spark.sql.datetime.java8API.enabled", "true")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", _QUICK_START)
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )


class Maker:
    """Operations through Iceberg's own API."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark, self._jvm = spark, spark._jvm
        compiler = self._jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(_JAVA)
        self._java = compiler.getClassLoader().loadClass("Maker").getDeclaredConstructors()[0].newInstance(None)

    def _table(self, name: str) -> Any:
        return self._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self._spark._jsparkSession, name)

    def delete_equal(self, table: str, query: str, keys: list[str], everywhere: bool = False) -> None:
        """Writes equality deletes by `keys` with a query's rows, which include the partition fields' sources;
        `everywhere`: in all partitions, which requires a formerly unpartitioned table.
        """
        names = self._jvm.java.util.ArrayList()
        for key in keys:
            names.add(key)
        self._java.deleteEqual(self._table(table), self._spark.sql(query)._jdf, names, everywhere)

    def add_column(self, table: str, parent: str | None, name: str, type: str, default: str) -> None:
        self._java.addColumn(self._table(table), parent, name, type, default)

    def set_column_default(self, table: str, name: str, type: str, default: str) -> None:
        self._java.setColumnDefault(self._table(table), name, type, default)


def answer(spark: SparkSession, maker: Maker, requested: Any) -> dict[str, Any]:
    try:
        if isinstance(requested, list):
            getattr(maker, requested[0])(*requested[1:])
            return {"columns": [], "rows": []}
        frame = spark.sql(requested)
        quoted = ["`" + name.replace("`", "``") + "`" for name in frame.columns]
        texts = frame.selectExpr(*(f"cast({name} as string)" for name in quoted)) if quoted else frame
        return {"columns": frame.columns, "rows": [list(row) for row in texts.collect()]}
    except Exception as error:  # noqa: BLE001 whatever Spark raises is an answer too
        return {"error": str(error)}


def main() -> None:
    spark = open_spark()
    maker = Maker(spark)
    Path(sys.argv[1]).write_text(
        json.dumps([answer(spark, maker, requested) for requested in map(json.loads, sys.stdin)])
    )
    spark.stop()


if __name__ == "__main__":
    main()
