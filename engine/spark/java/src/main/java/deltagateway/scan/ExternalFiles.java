package deltagateway.scan;

import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.formats.ConfinedCsvFormat;
import deltagateway.scan.formats.ConfinedJsonFormat;
import deltagateway.scan.formats.ConfinedTextFormat;
import deltagateway.scan.formats.TableAvroFormat;
import deltagateway.scan.formats.TableOrcFormat;
import deltagateway.scan.formats.TableParquetFormat;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.types.StructType;

/** Files that are no table's, or not Parquet, read by Spark's own readers where they really lie. */
public final class ExternalFiles {
  private ExternalFiles() {}

  static FileFormat format(StatementRequest.Scan scan) {
    if (scan.format.kind.equals("csv")) return new ConfinedCsvFormat(scan);
    if (scan.format.kind.equals("json")) return new ConfinedJsonFormat(scan);
    if (scan.format.kind.equals("text")) return new ConfinedTextFormat(scan);
    if (scan.format.kind.equals("orc")) return new TableOrcFormat(scan);
    if (scan.format.kind.equals("avro")) return new TableAvroFormat(scan);
    return new TableParquetFormat(scan, false);
  }

  /** The columns that the files have, which may take a job to find out. */
  static StructType columns(
      SparkSession spark, StatementRequest.Scan scan, FileFormat format, PrunedFileIndex files) {
    scala.Option<StructType> found =
        format.inferSchema(spark, scan.format.options, files.statuses());
    if (!found.isDefined() || found.get().length() == 0)
      throw new RejectionException("no columns", scan.root);
    return found.get().asNullable();
  }
}
