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

/**
 * Spark's reader of lines of text, for files that really lie below their root; see {@link
 * ConfinedFileReader}.
 */
public final class ConfinedTextFormat extends TextFileFormat {
  private final TableRoot root;
  private final VolumePaths places;

  public ConfinedTextFormat(StatementRequest.Scan scan) {
    this.root = scan.tableRoot();
    this.places = scan.volumePlaces();
  }

  public scala.collection.immutable.Map<String, scala.Function1<PartitionedFile, Object>>
      fileConstantMetadataExtractors() {
    return VolumePaths.extractors(super.fileConstantMetadataExtractors(), places);
  }

  public scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> buildReader(
      SparkSession spark,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      scala.collection.immutable.Seq<Filter> filters,
      scala.collection.immutable.Map<String, String> options,
      Configuration conf) {
    return new ConfinedFileReader(
        super.buildReader(
            spark, dataSchema, partitionSchema, requiredSchema, filters, options, conf),
        root,
        places);
  }
}
