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
import deltagateway.scan.deletionvectors.LiveRowIterator.Use;
import deltagateway.scan.deletionvectors.LiveRowReader;
import deltagateway.scan.objectstore.VectoredFileSystem;
import deltagateway.scan.rowids.RowTrackingColumns;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
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
import scala.Function1;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Reads Parquet files of a table: Spark plans with the logical columns, files are read by physical
 * names or by field ids. So no projection between the two hides columns from pruning and filter
 * push-down.
 *
 * <p>{@link LiveRowReader} marks deleted rows.
 *
 * <p>Filters on constants are not pushed into the files. Their values come from the log alone, and
 * a file may contain a column of the same name with other values or nulls. Parquet finds the
 * columns of filters by name, whether they are read or not.
 *
 * <p>With field ids, only filters on columns with a unique name in all files are pushed. Spark
 * pushes by name, and a file that was written before a column was renamed may have another column
 * of that name.
 */
public final class TableParquetFormat extends ParquetFileFormat {
  private static final long serialVersionUID = 1;
  private static final String READ_BY_ID = "spark.sql.parquet.fieldId.read.enabled";
  private static final String IGNORE_MISSING_IDS = "spark.sql.parquet.fieldId.read.ignoreMissing";

  /** Settings that decoded values depend on. */
  private static final Pattern READING =
      Pattern.compile(
          "spark\\.sql\\.(parquet|legacy|columnVector|files)\\..*"
              + "|spark\\.sql\\.(caseSensitive|session\\.timeZone)");

  private final PhysicalColumns columns;
  private final boolean byId;
  private final boolean hasRowIds;
  private final String metadata;
  private final TableRoot root;
  private final String location;
  private final VolumePaths volumePaths;
  private final String lease;
  private final String deletionVectors;
  private final String selectedRows;
  private final String flaggedRows;

  /** With `hasRowIds`, the column `_metadata` has the fields of row tracking. */
  public TableParquetFormat(StatementRequest.Scan scan, boolean hasRowIds) {
    this.columns = new PhysicalColumns(scan.read, scan.physical);
    this.byId = scan.byId;
    this.hasRowIds = hasRowIds;
    this.metadata = scan.metadata;
    this.root = scan.tableRoot();
    this.location = scan.root;
    this.volumePaths = scan.volumePlaces();
    this.lease = scan.lease;
    this.deletionVectors = scan.deletionVectors;
    this.selectedRows = scan.selectedRows;
    this.flaggedRows = scan.toldRows;
  }

  @Override
  public Option<StructType> inferSchema(
      SparkSession spark,
      scala.collection.immutable.Map<String, String> options,
      Seq<FileStatus> files) {
    return ParquetSchemaInference.columns(spark, options, files);
  }

  @Override
  public Seq<StructField> metadataSchemaFields() {
    List<StructField> fields = new ArrayList<>(ScalaConversions.list(super.metadataSchemaFields()));
    if (hasRowIds) fields.addAll(RowTrackingColumns.fields());
    return ScalaConversions.seq(fields);
  }

  @Override
  public scala.collection.immutable.Map<String, Function1<PartitionedFile, Object>>
      fileConstantMetadataExtractors() {
    return VolumePaths.extractors(super.fileConstantMetadataExtractors(), volumePaths);
  }

  /** Returns the hidden column, whose name is unique in a query of several relations. */
  @Override
  public AttributeReference createFileMetadataCol() {
    return super.createFileMetadataCol().withName(metadata);
  }

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
      SparkSession spark,
      StructType dataSchema,
      StructType constants,
      StructType requiredSchema,
      Seq<Filter> filters,
      scala.collection.immutable.Map<String, String> options,
      Configuration sessionConf) {
    Configuration conf = new TaskConfiguration(sessionConf);
    conf.setBoolean(READ_BY_ID, byId);
    conf.setBoolean(IGNORE_MISSING_IDS, false);
    VendedCredentials.lend(conf, lease, root.path(), spark.sparkContext());
    boolean isVectored = VectoredFileSystem.use(conf, root.path());
    StructType read = columns.of(requiredSchema);
    int rowIndex =
        List.of(requiredSchema.fieldNames())
            .indexOf(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME());
    Seq<Filter> pushed = pushed(filters, constants);
    Function1<Seq<Filter>, Function1<PartitionedFile, Iterator<InternalRow>>> build =
        some -> reader(spark, dataSchema, constants, read, some, options, conf);
    Function1<PartitionedFile, Iterator<InternalRow>> reader = build.apply(pushed);
    boolean isCacheable = lease == null && OptimizerRule.COLUMN_CACHE.isEnabled();
    int percent = isCacheable ? ColumnCache.percent(spark.sparkContext()) : 0;
    if (percent > 0 && returnsBatches(options) && CachedColumnReader.supports(read, rowIndex)) {
      Function1<PartitionedFile, Iterator<InternalRow>> unfiltered =
          pushed.isEmpty() ? reader : build.apply(ScalaConversions.emptySeq());
      reader =
          new CachedColumnReader(
              reader, unfiltered, read, constants, rowIndex, settings(spark), percent);
    }
    if (isVectored) reader = new KnownLengthReader(reader);
    reader = new ConfinedFileReader(reader, root, volumePaths);
    if (rowIndex < 0) return reader;
    Broadcast<SerializableConfiguration> shared =
        SerializableConfiguration.broadcast(spark.sparkContext(), conf);
    reader = live(reader, deletionVectors, Use.DROPS, constants, rowIndex, shared);
    reader = live(reader, selectedRows, Use.SELECTS, constants, rowIndex, shared);
    return live(reader, flaggedRows, Use.FLAGS, constants, rowIndex, shared);
  }

  /** Returns Spark's own reader of physical columns. */
  private Function1<PartitionedFile, Iterator<InternalRow>> reader(
      SparkSession spark,
      StructType dataSchema,
      StructType constants,
      StructType read,
      Seq<Filter> filters,
      scala.collection.immutable.Map<String, String> options,
      Configuration conf) {
    return new WholeFileReader(
        super.buildReaderWithPartitionValues(
            spark, columns.of(dataSchema), constants, read, filters, options, conf));
  }

  private static boolean returnsBatches(scala.collection.immutable.Map<String, String> options) {
    return options.get(FileFormat$.MODULE$.OPTION_RETURNING_BATCH()).contains("true");
  }

  /** Returns the settings that decoded values depend on, besides the columns that are read. */
  private String settings(SparkSession spark) {
    Map<String, String> all =
        ((org.apache.spark.sql.classic.SparkSession) spark).sessionState().conf().settings();
    Map<String, String> found;
    synchronized (all) { // a synchronized map; its copies need the lock
      found = new TreeMap<>(all);
    }
    found.keySet().removeIf(name -> !READING.matcher(name).matches());
    return byId + " " + found;
  }

  /** Returns the reader itself if the relation has no such constant. */
  private Function1<PartitionedFile, Iterator<InternalRow>> live(
      Function1<PartitionedFile, Iterator<InternalRow>> reader,
      String vectors,
      Use use,
      StructType constants,
      int rowIndex,
      Broadcast<SerializableConfiguration> conf) {
    if (vectors == null || constants.getFieldIndex(vectors).isEmpty()) return reader;
    return new LiveRowReader(reader, constants.fieldIndex(vectors), use, rowIndex, root, conf);
  }

  private Seq<Filter> pushed(Seq<Filter> filters, StructType constants) {
    return ScalaConversions.seq(
        ScalaConversions.list(filters).stream()
            .map(filter -> columns.of(filter, constants, byId))
            .filter(Objects::nonNull)
            .toList());
  }

  /**
   * Returns whether the types in the files, which have no columns without values, allow batches.
   */
  @Override
  public boolean supportBatch(SparkSession spark, StructType schema) {
    return super.supportBatch(spark, columns.of(schema));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TableParquetFormat that
        && byId == that.byId
        && hasRowIds == that.hasRowIds
        && location.equals(that.location)
        && metadata.equals(that.metadata)
        && columns.equals(that.columns);
  }

  @Override
  public int hashCode() {
    return columns.hashCode();
  }
}
