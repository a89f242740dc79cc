package deltagateway.scan.formats;

import deltagateway.protocol.StatementRequest;
import deltagateway.scan.TableRoot;
import deltagateway.scan.VolumePaths;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/** Spark's text format, confined to files below their root ({@link ConfinedFileReader}). */
public final class ConfinedTextFormat extends TextFileFormat {
  private static final long serialVersionUID = 1;

  private final TableRoot root;
  private final VolumePaths volumePaths;

  public ConfinedTextFormat(StatementRequest.Scan scan) {
    this.root = scan.tableRoot();
    this.volumePaths = scan.volumePlaces();
  }

  @Override
  public Map<String, Function1<PartitionedFile, Object>> fileConstantMetadataExtractors() {
    return VolumePaths.extractors(super.fileConstantMetadataExtractors(), volumePaths);
  }

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReader(
      SparkSession spark,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      Seq<Filter> filters,
      Map<String, String> options,
      Configuration conf) {
    return new ConfinedFileReader(
        super.buildReader(
            spark, dataSchema, partitionSchema, requiredSchema, filters, options, conf),
        root,
        volumePaths);
  }
}
