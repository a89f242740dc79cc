package deltagateway.scan.formats;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PhysicalColumns;
import deltagateway.scan.TableRoot;
import deltagateway.scan.VolumePaths;
import deltagateway.scan.credentials.VendedCredentials;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Reads ORC files of a table: Spark plans with the logical columns, files are read by physical
 * names. No filter is pushed into the files, because filters have logical names.
 */
public final class TableOrcFormat extends OrcFileFormat {
  private static final long serialVersionUID = 1;

  private final PhysicalColumns columns;
  private final TableRoot root;
  private final String location;
  private final VolumePaths volumePaths;
  private final String relation;
  private final String lease;

  public TableOrcFormat(StatementRequest.Scan scan) {
    this.columns = new PhysicalColumns(scan.schema, scan.physical);
    this.root = scan.tableRoot();
    this.location = scan.root;
    this.volumePaths = scan.volumePlaces();
    this.relation = scan.relation;
    this.lease = scan.lease;
  }

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
      SparkSession spark,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      Seq<Filter> filters,
      Map<String, String> options,
      Configuration sessionConf) {
    Configuration conf =
        VendedCredentials.with(lease, sessionConf, root.path(), spark.sparkContext());
    return new ConfinedFileReader(
        super.buildReaderWithPartitionValues(
            spark,
            columns.of(dataSchema),
            partitionSchema,
            columns.read(requiredSchema, relation),
            ScalaConversions.emptySeq(),
            options,
            conf),
        root,
        volumePaths);
  }

  @Override
  public boolean supportBatch(SparkSession spark, StructType schema) {
    return super.supportBatch(spark, columns.of(schema));
  }

  @Override
  public Map<String, Function1<PartitionedFile, Object>> fileConstantMetadataExtractors() {
    return VolumePaths.extractors(super.fileConstantMetadataExtractors(), volumePaths);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TableOrcFormat that
        && location.equals(that.location)
        && columns.equals(that.columns);
  }

  @Override
  public int hashCode() {
    return columns.hashCode();
  }
}
