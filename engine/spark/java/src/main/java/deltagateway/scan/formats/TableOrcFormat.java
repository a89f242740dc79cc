package deltagateway.scan.formats;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PhysicalColumns;
import deltagateway.scan.TableRoot;
import deltagateway.scan.VolumePaths;
import deltagateway.scan.credentials.VendedCredentials;
import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/**
 * Spark's reader of ORC under the names of a table: Spark plans with the logical columns, files are
 * read by physical names. No condition is pushed into the files, which would name columns of
 * Spark's plan.
 */
public final class TableOrcFormat extends OrcFileFormat {
  private final PhysicalColumns columns;
  private final TableRoot root;
  private final String place;
  private final VolumePaths places;
  private final String relation;
  private final String lease;

  public TableOrcFormat(StatementRequest.Scan scan) {
    this.columns = new PhysicalColumns(scan.schema, scan.physical);
    this.root = scan.tableRoot();
    this.place = scan.root;
    this.places = scan.volumePlaces();
    this.relation = scan.relation;
    this.lease = scan.lease;
  }

  public scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>>
      buildReaderWithPartitionValues(
          SparkSession spark,
          StructType dataSchema,
          StructType partitionSchema,
          StructType requiredSchema,
          scala.collection.immutable.Seq<Filter> filters,
          scala.collection.immutable.Map<String, String> options,
          Configuration asked) {
    Configuration conf = VendedCredentials.with(lease, asked, root.path(), spark.sparkContext());
    return new ConfinedFileReader(
        super.buildReaderWithPartitionValues(
            spark,
            columns.of(dataSchema),
            partitionSchema,
            columns.read(requiredSchema, relation),
            ScalaConversions.seq(new ArrayList<>()),
            options,
            conf),
        root,
        places);
  }

  public boolean supportBatch(SparkSession spark, StructType schema) {
    return super.supportBatch(spark, columns.of(schema));
  }

  public scala.collection.immutable.Map<String, scala.Function1<PartitionedFile, Object>>
      fileConstantMetadataExtractors() {
    return VolumePaths.extractors(super.fileConstantMetadataExtractors(), places);
  }

  public boolean equals(Object other) {
    if (this == other) return true;
    if (!(other instanceof TableOrcFormat)) return false;
    TableOrcFormat that = (TableOrcFormat) other;
    return place.equals(that.place) && columns.equals(that.columns);
  }

  public int hashCode() {
    return columns.hashCode();
  }
}
