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
import scala.Option;

/** Formats and columns of files that belong to no table, or that are not Parquet. */
final class ExternalFiles {
  private ExternalFiles() {}

  static FileFormat format(StatementRequest.Scan scan) {
    return switch (scan.format.kind) {
      case "csv" -> new ConfinedCsvFormat(scan);
      case "json" -> new ConfinedJsonFormat(scan);
      case "text" -> new ConfinedTextFormat(scan);
      case "orc" -> new TableOrcFormat(scan);
      case "avro" -> new TableAvroFormat(scan);
      default -> new TableParquetFormat(scan, false);
    };
  }

  /** Returns the columns that Spark infers from the files, which may take a job. */
  static StructType columns(
      SparkSession spark, StatementRequest.Scan scan, FileFormat format, PrunedFileIndex files) {
    Option<StructType> found = format.inferSchema(spark, scan.format.options, files.statuses());
    if (found.isEmpty() || found.get().length() == 0)
      throw new RejectionException("no columns", scan.root);
    return found.get().asNullable();
  }
}
