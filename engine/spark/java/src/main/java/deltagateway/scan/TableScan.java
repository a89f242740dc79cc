package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.deletionvectors.LiveRowIterator;
import deltagateway.scan.formats.TableParquetFormat;
import deltagateway.scan.rowids.RowTrackingColumns;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BitwiseNot;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CommandExecutionMode$;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;

/**
 * Plans the rows of one table: the listed files, read by {@link TableParquetFormat}, without
 * deleted rows.
 *
 * <p>Spark analyzes a query over {@link #relation}, which has the table's columns and the hidden
 * column `_metadata` only. Then {@link #rows(SparkSession, LogicalPlan)} replaces it. If rows are
 * deleted or row ids are requested, the replacement is a relation with more columns (constants of
 * the files, a row's index) and a projection to the original columns under their ids. Columns whose
 * type in the files differs from the table's are read with the type of the files, and the
 * projection computes the table's.
 *
 * <p>All columns are in the data schema, so that Spark keeps the table's order; constants take
 * precedence over a file's columns.
 */
public final class TableScan {
  private final SparkSession spark;
  private final PrunedFileIndex files;
  private final StatementRequest.Scan scan;

  public TableScan(SparkSession spark, PrunedFileIndex files) {
    this.spark = spark;
    this.files = files;
    this.scan = files.scan();
  }

  /** Returns the relation that Spark analyzes a query over. */
  public LogicalPlan relation() {
    StructType partitions = new StructType();
    for (StructField constant : scan.constants.fields()) {
      if (scan.schema.getFieldIndex(constant.name()).isDefined())
        partitions = partitions.add(constant);
    }
    return LogicalRelation$.MODULE$.apply(
        source(scan.schema, partitions, scan.rowTracking != null), false);
  }

  private HadoopFsRelation source(StructType columns, StructType constants, boolean hasRowIds) {
    if (scan.format == null) {
      FileFormat parquet = new TableParquetFormat(scan, hasRowIds);
      return source(columns, constants, parquet, ScalaConversions.emptyMap());
    }
    FileFormat format = ExternalFiles.format(scan);
    StructType found =
        scan.format.infers ? ExternalFiles.columns(spark, scan, format, files) : columns;
    return source(found, constants, format, scan.format.options);
  }

  private HadoopFsRelation source(
      StructType columns, StructType constants, FileFormat format, Map<String, String> options) {
    return new HadoopFsRelation(
        files, constants, columns, ScalaConversions.none(), format, options, spark);
  }

  /** Replaces the relations in an analyzed plan by plans that read the files. */
  public static LogicalPlan rows(SparkSession spark, LogicalPlan analyzed) {
    return analyzed.transformDownWithSubqueries(
        ScalaConversions.rewrite(
            node -> {
              if (!(node instanceof LogicalRelation leaf) || PythonRowsRelation.of(node) != null)
                return node;
              TableScan table = new TableScan(spark, (PrunedFileIndex) source(leaf).location());
              return table.isReplaced(leaf) ? node : table.rows(leaf);
            }));
  }

  private static HadoopFsRelation source(LogicalRelation leaf) {
    return (HadoopFsRelation) leaf.relation();
  }

  /** Returns whether a relation has all columns that have to be read. */
  private boolean isReplaced(LogicalRelation leaf) {
    return !hasMoreConstants(leaf) && !hasComputedColumns(leaf);
  }

  /** Returns whether the files have more constants than the columns of `leaf`. */
  private boolean hasMoreConstants(LogicalRelation leaf) {
    return source(leaf).partitionSchema().length() < scan.constants.length();
  }

  private boolean hasComputedColumns(LogicalRelation leaf) {
    StructField[] columns = source(leaf).dataSchema().fields();
    for (int i = 0; i < scan.schema.length() && !scan.shown.isEmpty(); i++) {
      boolean isComputed = scan.shown.containsKey(scan.schema.fields()[i].name());
      if (isComputed && !columns[i].metadata().contains(StatementRequest.Scan.READ)) return true;
    }
    return false;
  }

  private LogicalPlan rows(LogicalRelation leaf) {
    List<NamedExpression> columns = new ArrayList<>(ScalaConversions.list(leaf.output()));
    if (columns.size() > scan.schema.length()) return rowsWithMetadata(leaf, columns);
    return computed(
        leaf, columns, hasMoreConstants(leaf) ? liveRows(leaf) : source(leaf, scan.read));
  }

  private LogicalPlan liveRows(LogicalRelation leaf) {
    String rowIndex = ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME();
    LogicalRelation source = source(leaf, scan.read.add(rowIndex, LongType$.MODULE$));
    return live(source, named(ScalaConversions.list(source.output()), rowIndex));
  }

  /**
   * Takes the row index from `_metadata`: Spark would read a column of row indexes beside that
   * field incorrectly.
   */
  private LogicalPlan rowsWithMetadata(LogicalRelation leaf, List<NamedExpression> columns) {
    StructType read =
        scan.rowTracking == null
            ? scan.read
            : RowTrackingColumns.addColumns(scan.read, scan.rowTracking);
    LogicalRelation source = source(leaf, read).withMetadataColumns();
    List<Attribute> output = ScalaConversions.list(source.output());
    Attribute metadata = output.get(output.size() - 1);
    int position = scan.schema.length();
    columns.set(
        position,
        new RowTrackingColumns(scan.rowTracking)
            .replacement(leaf.output().apply(position), metadata, output));
    return computed(leaf, columns, live(source, field(metadata, ParquetFileFormat.ROW_INDEX())));
  }

  /** Projects the columns, with the expressions of computed columns under the ids of `leaf`. */
  private LogicalPlan computed(
      LogicalRelation leaf, List<? extends NamedExpression> columns, LogicalPlan rows) {
    List<NamedExpression> all = new ArrayList<>(columns);
    for (int i = 0; i < scan.schema.length() && !scan.shown.isEmpty(); i++) {
      String text = scan.shown.get(scan.schema.fields()[i].name());
      if (text != null) all.set(i, alias(parse(text), leaf.output().apply(i)));
    }
    LogicalPlan projected = new Project(ScalaConversions.seq(all), rows);
    if (scan.shown.isEmpty()) return projected;
    return spark
        .sessionState()
        .executePlan(projected, CommandExecutionMode$.MODULE$.SKIP())
        .analyzed();
  }

  private Expression parse(String text) {
    try {
      return spark.sessionState().sqlParser().parseExpression(text);
    } catch (ParseException failure) {
      throw new IllegalStateException(failure);
    }
  }

  /** Returns the projection of computed columns as it is in an optimized query. */
  LogicalPlan optimizedColumns() {
    LogicalRelation leaf = (LogicalRelation) relation();
    List<Attribute> columns = ScalaConversions.list(leaf.output()).subList(0, scan.schema.length());
    return spark
        .sessionState()
        .optimizer()
        .execute(computed(leaf, columns, source(leaf, scan.read)));
  }

  /** Returns a relation of the columns and all constants, with the ids of `leaf`. */
  private LogicalRelation source(LogicalRelation leaf, StructType columns) {
    LogicalRelation source =
        LogicalRelation$.MODULE$.apply(source(columns, scan.constants, false), false);
    List<AttributeReference> output = new ArrayList<>();
    for (int i = 0; i < source.output().size(); i++) {
      boolean isStored =
          i < scan.schema.length() && !scan.shown.containsKey(scan.schema.fields()[i].name());
      output.add((AttributeReference) (isStored ? leaf : source).output().apply(i));
    }
    return source.copy(
        source.relation(),
        ScalaConversions.seq(output),
        ScalaConversions.none(),
        false,
        ScalaConversions.none());
  }

  /**
   * Filters the rows that {@link LiveRowIterator} marks as deleted. The condition has a form that
   * Spark does not push into the files.
   */
  private LogicalPlan live(LogicalPlan plan, Expression rowIndex) {
    if (!scan.dropsRows()) return plan;
    Literal dead = new Literal(~LiveRowIterator.DEAD, LongType$.MODULE$);
    Expression inverted = new BitwiseNot(rowIndex);
    return new Filter(
        scan.toldRows == null ? new LessThan(inverted, dead) : new Not(new EqualTo(inverted, dead)),
        plan);
  }

  /**
   * Returns whether a condition is on the row index alone. Such a condition filters deleted rows,
   * which the log's counts leave out.
   */
  public static boolean isLive(Expression condition) {
    List<Attribute> references = ScalaConversions.list(condition.references().toSeq());
    return !references.isEmpty()
        && references.stream()
            .allMatch(
                column ->
                    column.name().equals(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME()));
  }

  /** Returns the last column of that name. */
  public static Attribute named(List<Attribute> output, String name) {
    for (int i = output.size() - 1; i >= 0; i--) {
      if (output.get(i).name().equals(name)) return output.get(i);
    }
    throw new IllegalArgumentException(name + " is no column of the scan");
  }

  public static GetStructField field(Attribute struct, String name) {
    int position = ((StructType) struct.dataType()).fieldIndex(name);
    return new GetStructField(struct, position, Option.apply(name));
  }

  /** Returns a value with the name, id and metadata of a column. */
  public static Alias alias(Expression value, Attribute column) {
    return new Alias(
        value,
        column.name(),
        column.exprId(),
        column.qualifier(),
        Option.apply(column.metadata()),
        ScalaConversions.emptySeq());
  }
}
