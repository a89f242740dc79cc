package deltagateway.scan.formats;

import deltagateway.cache.CachedColumnReader;
import deltagateway.cache.ColumnCache;
import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.OptimizerRule;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PhysicalColumns;
import deltagateway.scan.TableRoot;
import deltagateway.scan.TaskConfiguration;
import deltagateway.scan.VolumePaths;
import deltagateway.scan.credentials.VendedCredentials;
import deltagateway.scan.deletionvectors.LiveRowIterator;
import deltagateway.scan.deletionvectors.LiveRowReader;
import deltagateway.scan.objectstore.VectoredFileSystem;
import deltagateway.scan.rowids.RowTrackingColumns;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.execution.datasources.FileFormat$;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Spark's Parquet reader under the names of a table: Spark plans with the logical columns, files
 * are read by physical names, or by field ids. So there is no projection between the two that would
 * hide columns from pruning and push-down.
 *
 * <p>Rows that are not live are told apart here, see {@link LiveRowReader}.
 *
 * <p>Filters on constants stay out of the files: their values come from the log alone, and a file
 * may hold a column of the same name with other values, or with nulls. Parquet finds columns of
 * filters by name, whether they are read or not.
 *
 * <p>By id, filters are pushed into the files for columns alone of which a name is said that no
 * file has for another one: Spark pushes by name, and a file that was written before columns
 * changed names may hold another column under it.
 */
public final class TableParquetFormat extends ParquetFileFormat {
  private static final String READ_BY_ID = "spark.sql.parquet.fieldId.read.enabled";

  /** Settings that values in files follow from. */
  private static final Pattern READING =
      Pattern.compile(
          "spark\\.sql\\.(parquet|legacy|columnVector|files)\\..*|spark\\.sql\\.(caseSensitive|session\\.timeZone)");

  private static final String IDS_MAY_LACK = "spark.sql.parquet.fieldId.read.ignoreMissing";

  private final PhysicalColumns columns;
  private final boolean byId;
  private final boolean showsRowIds;
  private final String metadata;
  private final TableRoot root;
  private final String place;
  private final VolumePaths places;
  private final String lease;
  private final String deletionVectors;
  private final String selectedRows;
  private final String toldRows;

  /** `showsRowIds`: are the fields of row tracking among those of the column `_metadata`? */
  public TableParquetFormat(StatementRequest.Scan scan, boolean showsRowIds) {
    this.columns = new PhysicalColumns(scan.read, scan.physical);
    this.byId = scan.byId;
    this.showsRowIds = showsRowIds;
    this.metadata = scan.metadata;
    this.root = scan.tableRoot();
    this.place = scan.root;
    this.places = scan.volumePlaces();
    this.lease = scan.lease;
    this.deletionVectors = scan.deletionVectors;
    this.selectedRows = scan.selectedRows;
    this.toldRows = scan.toldRows;
  }

  public scala.collection.immutable.Seq<StructField> metadataSchemaFields() {
    List<StructField> fields = new ArrayList<>(ScalaConversions.list(super.metadataSchemaFields()));
    if (showsRowIds) RowTrackingColumns.addFields(fields);
    return ScalaConversions.seq(fields);
  }

  public scala.collection.immutable.Map<String, scala.Function1<PartitionedFile, Object>>
      fileConstantMetadataExtractors() {
    return VolumePaths.extractors(super.fileConstantMetadataExtractors(), places);
  }

  /** Where a query has several relations, each hidden column may have a name of its own. */
  public AttributeReference createFileMetadataCol() {
    return super.createFileMetadataCol().withName(metadata);
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
    Configuration conf = new TaskConfiguration(asked);
    conf.setBoolean(READ_BY_ID, byId);
    conf.setBoolean(IDS_MAY_LACK, false);
    VendedCredentials.lend(conf, lease, root.path(), spark.sparkContext());
    boolean knowsSizes = VectoredFileSystem.use(conf, root.path());
    StructType read = columns.of(requiredSchema);
    boolean asksForRows =
        requiredSchema
            .getFieldIndex(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME())
            .isDefined();
    int rowIndex =
        asksForRows
            ? requiredSchema.fieldIndex(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME())
            : -1;
    scala.collection.immutable.Seq<Filter> filtered = pushed(filters, partitionSchema);
    scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> reader =
        ofSpark(spark, dataSchema, partitionSchema, read, filtered, options, conf);
    boolean isCacheable = lease == null && OptimizerRule.COLUMN_CACHE.isEnabled();
    int percent = isCacheable ? ColumnCache.percent(spark.sparkContext()) : 0;
    if (percent > 0 && returnsBatches(options) && CachedColumnReader.keeps(read, rowIndex)) {
      scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> whole =
          filtered.isEmpty()
              ? reader
              : ofSpark(
                  spark,
                  dataSchema,
                  partitionSchema,
                  read,
                  ScalaConversions.seq(new ArrayList<>()),
                  options,
                  conf);
      reader =
          new CachedColumnReader(
              reader, whole, read, partitionSchema, rowIndex, settings(spark), percent);
    }
    if (knowsSizes) reader = new KnownLengthReader(reader);
    reader = new ConfinedFileReader(reader, root, places);
    if (!asksForRows) return reader;
    Broadcast<SerializableConfiguration> shared =
        SerializableConfiguration.broadcast(spark.sparkContext(), conf);
    reader =
        live(reader, deletionVectors, LiveRowIterator.Use.DROPS, partitionSchema, rowIndex, shared);
    reader =
        live(reader, selectedRows, LiveRowIterator.Use.SELECTS, partitionSchema, rowIndex, shared);
    return live(reader, toldRows, LiveRowIterator.Use.TELLS, partitionSchema, rowIndex, shared);
  }

  /** Spark's own reader, of columns as the files have them. */
  private scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> ofSpark(
      SparkSession spark,
      StructType dataSchema,
      StructType partitionSchema,
      StructType read,
      scala.collection.immutable.Seq<Filter> filters,
      scala.collection.immutable.Map<String, String> options,
      Configuration conf) {
    return new WholeFileReader(
        super.buildReaderWithPartitionValues(
            spark, columns.of(dataSchema), partitionSchema, read, filters, options, conf));
  }

  private static boolean returnsBatches(scala.collection.immutable.Map<String, String> options) {
    scala.Option<String> found = options.get(FileFormat$.MODULE$.OPTION_RETURNING_BATCH());
    return found.isDefined() && found.get().equals("true");
  }

  /** All that values in files follow from besides the columns that are read. */
  private String settings(SparkSession spark) {
    Map<String, String> all =
        ((org.apache.spark.sql.classic.SparkSession) spark).sessionState().conf().settings();
    Map<String, String> found = new TreeMap<>();
    synchronized (all) {
      for (Map.Entry<String, String> each : all.entrySet()) {
        String name = each.getKey();
        if (READING.matcher(name).matches()) found.put(name, each.getValue());
      }
    }
    return byId + " " + found;
  }

  /**
   * A relation that has no constant of that name reads all rows; nothing is analyzed over its rows
   * but their names.
   */
  private scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> live(
      scala.Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> reader,
      String vectors,
      LiveRowIterator.Use use,
      StructType constants,
      int rowIndex,
      Broadcast<SerializableConfiguration> conf) {
    if (vectors == null || !constants.getFieldIndex(vectors).isDefined()) return reader;
    return new LiveRowReader(reader, constants.fieldIndex(vectors), use, rowIndex, root, conf);
  }

  private scala.collection.immutable.Seq<Filter> pushed(
      scala.collection.immutable.Seq<Filter> filters, StructType constants) {
    List<Filter> logical = ScalaConversions.list(filters);
    List<Filter> physical = new ArrayList<>();
    for (int i = 0; i < logical.size(); i++) {
      Filter filter = columns.of(logical.get(i), constants, byId);
      if (filter != null) physical.add(filter);
    }
    return ScalaConversions.seq(physical);
  }

  /** What decides are the types in the files, where there are no columns without values. */
  public boolean supportBatch(SparkSession spark, StructType schema) {
    return super.supportBatch(spark, columns.of(schema));
  }

  public boolean equals(Object other) {
    if (this == other) return true;
    if (!(other instanceof TableParquetFormat)) return false;
    TableParquetFormat that = (TableParquetFormat) other;
    return byId == that.byId
        && showsRowIds == that.showsRowIds
        && place.equals(that.place)
        && metadata.equals(that.metadata)
        && columns.equals(that.columns);
  }

  public int hashCode() {
    return columns.hashCode();
  }
}
