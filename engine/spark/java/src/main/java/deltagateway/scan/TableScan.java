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
import org.apache.spark.sql.catalyst.expressions.BitwiseNot;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CommandExecutionMode$;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of one table as Spark plans them: the listed files read by {@link TableParquetFormat},
 * without the deleted rows.
 *
 * <p>Spark analyzes a query over {@link #relation}, which has the table's columns and the hidden
 * column `_metadata`, and nothing else. Then {@link #rows(SparkSession, LogicalPlan)} puts there
 * what has to be read for them: where rows are deleted or row ids are asked for, a relation with
 * more columns (constants of the files, a row's index) and a projection that leaves the columns of
 * before, under their ids. Columns that files hold as another type than the table shows are read as
 * that, and the projection makes of them what is shown.
 *
 * <p>All columns are in the data schema, so that Spark keeps the table's order; constants win over
 * a file's columns.
 */
public final class TableScan {
  private final SparkSession spark;
  private final FileIndex files;
  private final StatementRequest.Scan scan;

  public TableScan(SparkSession spark, PrunedFileIndex files) {
    this.spark = spark;
    this.files = files;
    this.scan = files.scan();
  }

  /** What a query is analyzed over. */
  public LogicalPlan relation() {
    StructType partitions = new StructType();
    for (int i = 0; i < scan.constants.length(); i++) {
      String name = scan.constants.fields()[i].name();
      if (scan.schema.getFieldIndex(name).isDefined())
        partitions = partitions.add(scan.constants.fields()[i]);
    }
    return LogicalRelation$.MODULE$.apply(
        source(scan.schema, partitions, scan.rowTracking != null), false);
  }

  private HadoopFsRelation source(StructType columns, StructType constants, boolean showsRowIds) {
    if (scan.format != null) {
      FileFormat other = ExternalFiles.format(scan);
      StructType found =
          scan.format.infers
              ? ExternalFiles.columns(spark, scan, other, (PrunedFileIndex) files)
              : columns;
      return new HadoopFsRelation(
          files, constants, found, ScalaConversions.none(), other, scan.format.options, spark);
    }
    TableParquetFormat format = new TableParquetFormat(scan, showsRowIds);
    return new HadoopFsRelation(
        files,
        constants,
        columns,
        ScalaConversions.none(),
        format,
        ScalaConversions.emptyMap(),
        spark);
  }

  /**
   * An analyzed plan over what has to be read; the same plan where that is what it is over already.
   */
  public static LogicalPlan rows(SparkSession spark, LogicalPlan analyzed) {
    return analyzed.transformDownWithSubqueries(new Reading(spark));
  }

  private static final class Reading extends scala.runtime.AbstractPartialFunction {
    private final SparkSession spark;

    Reading(SparkSession spark) {
      this.spark = spark;
    }

    public boolean isDefinedAt(Object node) {
      if (!(node instanceof LogicalRelation) || PythonRowsRelation.of(node) != null) return false;
      return scan((LogicalRelation) node).isMoreThan((LogicalRelation) node);
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      return scan((LogicalRelation) node).rows((LogicalRelation) node);
    }

    private TableScan scan(LogicalRelation leaf) {
      return new TableScan(
          spark, (PrunedFileIndex) ((HadoopFsRelation) leaf.relation()).location());
    }
  }

  /**
   * Are the rows that are read others than those of `leaf`? A leaf that was read is what is read.
   */
  private boolean isMoreThan(LogicalRelation leaf) {
    return hasMoreConstants(leaf) || isOfShown(leaf);
  }

  /** Do the files have more constants than `leaf` knows? Its rows would not fit. */
  private boolean hasMoreConstants(LogicalRelation leaf) {
    return ((HadoopFsRelation) leaf.relation()).partitionSchema().length()
        < scan.constants.length();
  }

  private boolean isOfShown(LogicalRelation leaf) {
    StructType columns = ((HadoopFsRelation) leaf.relation()).dataSchema();
    for (int i = 0; i < scan.schema.length() && !scan.shown.isEmpty(); i++) {
      boolean isShown = scan.shown.containsKey(scan.schema.fields()[i].name());
      if (isShown && !columns.fields()[i].metadata().contains(StatementRequest.Scan.READ))
        return true;
    }
    return false;
  }

  private Attribute metadata(LogicalRelation leaf) {
    return leaf.output().size() > scan.schema.length()
        ? leaf.output().apply(scan.schema.length())
        : null;
  }

  private LogicalPlan rows(LogicalRelation leaf) {
    Attribute metadata = metadata(leaf);
    if (metadata != null) return rowsWithMetadata(leaf, metadata);
    return hasMoreConstants(leaf)
        ? liveRows(leaf)
        : shown(leaf, ScalaConversions.list(leaf.output()), whole(leaf, scan.read));
  }

  private LogicalPlan liveRows(LogicalRelation leaf) {
    String index = ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME();
    LogicalRelation whole = whole(leaf, scan.read.add(index, LongType$.MODULE$));
    return shown(
        leaf,
        ScalaConversions.list(leaf.output()),
        live(whole, named(ScalaConversions.list(whole.output()), index)));
  }

  /** Spark knows a row's index as a field of `_metadata`, and would read it wrongly twice. */
  private LogicalPlan rowsWithMetadata(LogicalRelation leaf, Attribute asked) {
    StructType columns =
        scan.rowTracking == null
            ? scan.read
            : RowTrackingColumns.addColumns(scan.read, scan.rowTracking);
    LogicalRelation whole = whole(leaf, columns).withMetadataColumns();
    List output = ScalaConversions.list(whole.output());
    Attribute given = (Attribute) output.get(output.size() - 1);
    List shown = new ArrayList<>(ScalaConversions.list(leaf.output()));
    shown.set(
        scan.schema.length(), new RowTrackingColumns(scan.rowTracking).shown(asked, given, output));
    return shown(leaf, shown, live(whole, field(given, ParquetFileFormat.ROW_INDEX())));
  }

  /**
   * A projection of `columns`, but for those that are made of what was read, which have the ids of
   * `leaf`.
   */
  private LogicalPlan shown(LogicalRelation leaf, List columns, LogicalPlan rows) {
    if (scan.shown.isEmpty()) return new Project(ScalaConversions.seq(columns), rows);
    List all = new ArrayList<>(columns);
    try {
      for (int i = 0; i < scan.schema.length(); i++) {
        String text = (String) scan.shown.get(scan.schema.fields()[i].name());
        if (text == null) continue;
        Attribute asked = leaf.output().apply(i);
        Expression value = spark.sessionState().sqlParser().parseExpression(text);
        all.set(
            i,
            new Alias(
                value,
                asked.name(),
                asked.exprId(),
                asked.qualifier(),
                scala.Option.apply(asked.metadata()),
                ScalaConversions.seq(new ArrayList<>())));
      }
    } catch (ParseException failure) {
      throw new IllegalStateException(failure);
    }
    QueryExecution execution =
        spark
            .sessionState()
            .executePlan(
                new Project(ScalaConversions.seq(all), rows), CommandExecutionMode$.MODULE$.SKIP());
    return execution.analyzed();
  }

  /** The projection that makes the columns that are shown, as it stands in an optimized query. */
  LogicalPlan optimizedColumns() {
    LogicalRelation leaf = (LogicalRelation) relation();
    LogicalPlan columns =
        shown(
            leaf,
            ScalaConversions.list(leaf.output()).subList(0, scan.schema.length()),
            whole(leaf, scan.read));
    return spark.sessionState().optimizer().execute(columns);
  }

  /**
   * A relation of these columns and all constants; the columns that are shown as they are keep the
   * ids of `leaf`.
   */
  private LogicalRelation whole(LogicalRelation leaf, StructType columns) {
    LogicalRelation whole =
        LogicalRelation$.MODULE$.apply(source(columns, scan.constants, false), false);
    List output = new ArrayList<>(ScalaConversions.list(whole.output()));
    for (int i = 0; i < scan.schema.length(); i++) {
      if (!scan.shown.containsKey(scan.schema.fields()[i].name()))
        output.set(i, leaf.output().apply(i));
    }
    return whole.copy(
        whole.relation(),
        ScalaConversions.seq(output),
        ScalaConversions.none(),
        false,
        ScalaConversions.none());
  }

  /**
   * Without the rows that {@link LiveRowIterator} marks; in a form that Spark does not push into
   * the files.
   */
  private LogicalPlan live(LogicalPlan plan, Expression rowIndex) {
    if (!scan.dropsRows()) return plan;
    Literal dead = new Literal(Long.valueOf(~LiveRowIterator.DEAD), LongType$.MODULE$);
    Expression place = new BitwiseNot(rowIndex);
    return new Filter(
        scan.toldRows == null ? new LessThan(place, dead) : new Not(new EqualTo(place, dead)),
        plan);
  }

  /**
   * Whether a condition is that of {@link #live}, which the counts of the log have regard to, or
   * follows from it.
   */
  public static boolean isLive(Expression condition) {
    scala.collection.Iterator<Attribute> all = condition.references().iterator();
    boolean isLive = all.hasNext();
    while (all.hasNext()) {
      isLive &= all.next().name().equals(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME());
    }
    return isLive;
  }

  public static Attribute named(List<Attribute> output, String name) {
    for (int i = output.size() - 1; i >= 0; i--) {
      if (output.get(i).name().equals(name)) return output.get(i);
    }
    throw new IllegalArgumentException(name + " is no column of the scan");
  }

  public static GetStructField field(Attribute struct, String name) {
    int position = ((StructType) struct.dataType()).fieldIndex(name);
    return new GetStructField(struct, position, scala.Option.apply(name));
  }
}
