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
import org.apache.spark.sql.avro.AvroFileFormat;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/**
 * Spark's reader of Avro under the names of a table: Spark plans with the logical columns, files
 * are read by physical names, and fields that they lack are null. Dates are those of the calendar
 * that Iceberg has, whatever a session sets.
 */
public final class TableAvroFormat extends AvroFileFormat {
  private static final String CALENDAR = "datetimeRebaseMode";

  private final PhysicalColumns columns;
  private final TableRoot root;
  private final String place;
  private final VolumePaths places;
  private final String relation;
  private final String lease;

  public TableAvroFormat(StatementRequest.Scan scan) {
    this.columns = new PhysicalColumns(scan.schema, scan.physical);
    this.root = scan.tableRoot();
    this.place = scan.root;
    this.places = scan.volumePlaces();
    this.relation = scan.relation;
    this.lease = scan.lease;
  }

  public scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> buildReader(
      SparkSession spark,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      scala.collection.immutable.Seq<Filter> filters,
      scala.collection.immutable.Map<String, String> options,
      Configuration asked) {
    Configuration conf = VendedCredentials.with(lease, asked, root.path(), spark.sparkContext());
    return new ConfinedFileReader(
        super.buildReader(
            spark,
            columns.of(dataSchema),
            partitionSchema,
            columns.read(requiredSchema, relation),
            ScalaConversions.seq(new ArrayList<>()),
            (scala.collection.immutable.Map<String, String>) options.updated(CALENDAR, "CORRECTED"),
            conf),
        root,
        places);
  }

  public scala.collection.immutable.Map<String, scala.Function1<PartitionedFile, Object>>
      fileConstantMetadataExtractors() {
    return VolumePaths.extractors(super.fileConstantMetadataExtractors(), places);
  }

  public boolean equals(Object other) {
    if (this == other) return true;
    if (!(other instanceof TableAvroFormat)) return false;
    TableAvroFormat that = (TableAvroFormat) other;
    return place.equals(that.place) && columns.equals(that.columns);
  }

  public int hashCode() {
    return columns.hashCode();
  }
}
