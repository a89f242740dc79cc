package deltagateway;

import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.types.StructType;

/** Files that are no table's, or not Parquet, read by Spark's own readers where they really lie. */
final class OtherFiles {
  private OtherFiles() {}

  static FileFormat format(Request.Scan scan) {
    if (scan.format.kind.equals("csv")) return new ConfinedCsv(scan);
    if (scan.format.kind.equals("json")) return new ConfinedJson(scan);
    if (scan.format.kind.equals("text")) return new ConfinedText(scan);
    if (scan.format.kind.equals("orc")) return new TableOrcFormat(scan);
    if (scan.format.kind.equals("avro")) return new TableAvroFormat(scan);
    return new TableFileFormat(scan, false);
  }

  /** The columns that the files have, which may take a job to find out. */
  static StructType columns(SparkSession spark, Request.Scan scan, FileFormat format, ListedFileIndex files) {
    scala.Option<StructType> found = format.inferSchema(spark, scan.format.options, files.statuses());
    if (!found.isDefined() || found.get().length() == 0) throw new Refusal("no columns", scan.root);
    return found.get().asNullable();
  }
}
