package deltagateway.scan.formats;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PhysicalColumns;
import deltagateway.scan.TableRoot;
import deltagateway.scan.VolumePaths;
import deltagateway.scan.credentials.VendedCredentials;
import java.util.HashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.avro.AvroFileFormat;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Reads Avro files of a table: Spark plans with the logical columns, files are read by physical
 * names, and fields that they lack are null. Dates are in the proleptic Gregorian calendar, as
 * Iceberg specifies, whatever the session's rebase mode.
 */
public final class TableAvroFormat extends AvroFileFormat {
  private static final long serialVersionUID = 1;
  private static final String CALENDAR = "datetimeRebaseMode";

  private final PhysicalColumns columns;
  private final TableRoot root;
  private final String location;
  private final VolumePaths volumePaths;
  private final String relation;
  private final String lease;

  public TableAvroFormat(StatementRequest.Scan scan) {
    this.columns = new PhysicalColumns(scan.schema, scan.physical);
    this.root = scan.tableRoot();
    this.location = scan.root;
    this.volumePaths = scan.volumePlaces();
    this.relation = scan.relation;
    this.lease = scan.lease;
  }

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReader(
      SparkSession spark,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      Seq<Filter> filters,
      Map<String, String> options,
      Configuration sessionConf) {
    java.util.Map<String, String> all = new HashMap<>(CollectionConverters.asJava(options));
    all.put(CALENDAR, "CORRECTED");
    Configuration conf =
        VendedCredentials.with(lease, sessionConf, root.path(), spark.sparkContext());
    return new ConfinedFileReader(
        super.buildReader(
            spark,
            columns.of(dataSchema),
            partitionSchema,
            columns.read(requiredSchema, relation),
            ScalaConversions.emptySeq(),
            ScalaConversions.map(all),
            conf),
        root,
        volumePaths);
  }

  @Override
  public Map<String, Function1<PartitionedFile, Object>> fileConstantMetadataExtractors() {
    return VolumePaths.extractors(super.fileConstantMetadataExtractors(), volumePaths);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TableAvroFormat that
        && location.equals(that.location)
        && columns.equals(that.columns);
  }

  @Override
  public int hashCode() {
    return columns.hashCode();
  }
}
