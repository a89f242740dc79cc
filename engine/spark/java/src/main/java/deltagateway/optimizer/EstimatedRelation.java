package deltagateway.optimizer;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.internals.ScalaConversions;
import deltagateway.scan.PrunedFileIndex;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeMap;
import org.apache.spark.sql.catalyst.expressions.AttributeMap$;
import org.apache.spark.sql.catalyst.plans.logical.ColumnStat;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.BinaryType$;
import org.apache.spark.sql.types.BooleanType$;
import org.apache.spark.sql.types.ByteType$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType$;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType$;
import org.apache.spark.sql.types.FloatType$;
import org.apache.spark.sql.types.IntegerType$;
import org.apache.spark.sql.types.LongType$;
import org.apache.spark.sql.types.ShortType$;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.TimestampType$;

/**
 * A table's files with the {@link ScanEstimate} of those that are left, as Spark's cost model asks
 * for it.
 *
 * <p>Spark estimates with arithmetic of its own for each type, and fails for types that it does not
 * expect; so columns have statistics only if they are of one that it knows, and bounds only if
 * their numbers are finite. How many values of a text or a floating point number differ no log
 * says: where rows are joined or grouped by it, it is taken for a key; else, so that a condition on
 * it is not thought to leave next to nothing, for one of a few values. Only where joins are ordered
 * is it asked how many are in one of the files ({@link DictionarySizes}), of numbers by which rows
 * are joined too: to join in a worse order costs little, unless a join multiplies rows because what
 * was taken for a key has few values; but what is broadcast because few values were taken to be
 * rare has to fit into memory when one of them is not.
 *
 * <p>It is public, for Spark copies it by its constructor. A copy that Spark makes otherwise may be
 * a plain relation, whose size is still that of the files that are left.
 */
public final class EstimatedRelation extends LogicalRelation {
  static final long FEW_VALUES = 3;
  private static final AttributeMap<ColumnStat> NO_STATISTICS =
      AttributeMap$.MODULE$.apply(ScalaConversions.seq(new ArrayList<>()));

  public EstimatedRelation(LogicalRelation leaf, PrunedFileIndex files) {
    this(leaf, files, null);
  }

  /** `spark` is the session of a plan that is kept for others; null: the leaf's. */
  public EstimatedRelation(LogicalRelation leaf, PrunedFileIndex files, SparkSession spark) {
    this(
        over((HadoopFsRelation) leaf.relation(), files, spark),
        leaf.output(),
        leaf.catalogTable(),
        leaf.isStreaming(),
        leaf.stream());
  }

  /** As Spark's, which makes copies by it. */
  public EstimatedRelation(
      BaseRelation relation,
      scala.collection.immutable.Seq output,
      scala.Option table,
      boolean isStreaming,
      scala.Option stream) {
    super(relation, output, table, isStreaming, stream);
  }

  private static HadoopFsRelation over(
      HadoopFsRelation relation, PrunedFileIndex files, SparkSession spark) {
    return new HadoopFsRelation(
        files,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat(),
        relation.options(),
        spark == null ? relation.sparkSession() : spark);
  }

  /**
   * Not to a plain relation of the same files: Spark would keep that one. What is compared to be
   * reused is plain.
   */
  public boolean canEqual(Object other) {
    return other instanceof EstimatedRelation;
  }

  public boolean equals(Object other) {
    return other instanceof EstimatedRelation
        && counted().equals(((EstimatedRelation) other).counted())
        && unbounded().equals(((EstimatedRelation) other).unbounded())
        && super.equals(other);
  }

  public int hashCode() {
    return super.hashCode();
  }

  private Map<String, Long> counted() {
    return RemainingFiles.index(this).counted();
  }

  private Set<String> unbounded() {
    return RemainingFiles.index(this).unbounded();
  }

  /**
   * The one by which nothing is ordered any more; `guessed` are the ids of columns that it is
   * without bounds of.
   */
  EstimatedRelation ordered(Set<?> guessed) {
    Set<String> unbounded = new HashSet<>();
    for (int i = 0; i < output().size(); i++) {
      Attribute column = output().apply(i);
      if (guessed.contains(column.exprId())) unbounded.add(column.name());
    }
    PrunedFileIndex ordered = RemainingFiles.index(this).ordered(unbounded);
    if (counted().equals(ordered.counted()) && unbounded().equals(unbounded)) return this;
    return new EstimatedRelation(this, ordered);
  }

  public Statistics computeStats() {
    PrunedFileIndex files = RemainingFiles.index(this);
    ScanEstimate estimate = files.estimate();
    if (estimate == null || estimate.rows == null) return super.computeStats();
    if (estimate.columns.isEmpty()) return ofUnknownRows(estimate.rows.longValue());
    List<scala.Tuple2<Attribute, ColumnStat>> columns = new ArrayList<>();
    for (int i = 0; i < output().size(); i++) {
      Attribute column = output().apply(i);
      JsonNode known = estimate.columns.get(column.name());
      if (known == null || !hasStatistics(column.dataType())) continue;
      long rows = estimate.rows.longValue();
      Long counted = counted().get(column.name());
      long unknown = files.isKey(column.name()) ? Long.MAX_VALUE : FEW_VALUES;
      ColumnStat found =
          statistics(
              known,
              column.dataType(),
              rows,
              counted,
              unknown,
              unbounded().contains(column.name()));
      // Spark takes it that nothing is joined by columns without bounds, but for texts.
      boolean isBounded =
          found.min().isDefined() && found.max().isDefined() || isText(column.dataType());
      if (isBounded || !files.isJoinKey(column.name()))
        columns.add(new scala.Tuple2<>(column, found));
    }
    AttributeMap<ColumnStat> byColumn = AttributeMap$.MODULE$.apply(ScalaConversions.seq(columns));
    return new Statistics(
        big(Math.max(estimate.bytes, 1)),
        new scala.Some<>(big(estimate.rows.longValue())),
        byColumn,
        false);
  }

  /**
   * `counted` is how many values differ in one of the files, `unknown` how many do where nothing is
   * known.
   */
  private static ColumnStat statistics(
      JsonNode known, DataType type, long rows, Long counted, long unknown, boolean isUnbounded) {
    long nulls = known.get("nulls").isNull() ? 0 : Math.min(known.get("nulls").longValue(), rows);
    long distinct = Math.min(counted == null ? unknown : counted.longValue(), rows - nulls);
    if (counted == null && !known.get("distinct").isNull())
      distinct = known.get("distinct").longValue();
    scala.Option<Object> size = new scala.Some<>(Long.valueOf(type.defaultSize()));
    return new ColumnStat(
        new scala.Some<>(big(Math.max(Math.min(distinct, rows), 1))),
        isUnbounded ? ScalaConversions.none() : bound(known.get("low"), type),
        isUnbounded ? ScalaConversions.none() : bound(known.get("high"), type),
        new scala.Some<>(big(nulls)),
        size,
        size,
        ScalaConversions.none(),
        2);
  }

  /**
   * Nobody knows how many of the rows a filter leaves. They take no more memory than all, which is
   * more than the files take: Spark would broadcast what it takes to be as small as these.
   */
  private Statistics ofUnknownRows(long rows) {
    scala.math.BigInt bytes =
        big(rows).$times(EstimationUtils$.MODULE$.getSizePerRow(output(), NO_STATISTICS));
    return new Statistics(bytes.max(big(1)), ScalaConversions.none(), NO_STATISTICS, false);
  }

  private static boolean isText(DataType type) {
    return type instanceof StringType || type.equals(BinaryType$.MODULE$);
  }

  private static boolean hasStatistics(DataType type) {
    return type instanceof DecimalType
        || hasWholeBounds(type)
        || type.equals(FloatType$.MODULE$)
        || type.equals(DoubleType$.MODULE$)
        || type.equals(BooleanType$.MODULE$)
        || type.equals(BinaryType$.MODULE$)
        || type.equals(StringType$.MODULE$);
  }

  private static boolean hasWholeBounds(DataType type) {
    return type.equals(ByteType$.MODULE$)
        || type.equals(ShortType$.MODULE$)
        || type.equals(IntegerType$.MODULE$)
        || type.equals(LongType$.MODULE$)
        || type.equals(DateType$.MODULE$)
        || type.equals(TimestampType$.MODULE$);
  }

  /** A bound as Spark holds a value of the type. */
  private static scala.Option<Object> bound(JsonNode value, DataType type) {
    if (value.isNull()) return ScalaConversions.none();
    if (type instanceof DecimalType) {
      java.math.BigDecimal number = new java.math.BigDecimal(value.textValue());
      return new scala.Some<>(Decimal.apply(new scala.math.BigDecimal(number)));
    }
    if (!hasWholeBounds(type)) return ScalaConversions.none();
    long number = value.longValue();
    if (type.equals(ByteType$.MODULE$)) return new scala.Some<>(Byte.valueOf((byte) number));
    if (type.equals(ShortType$.MODULE$)) return new scala.Some<>(Short.valueOf((short) number));
    boolean isInt = type.equals(IntegerType$.MODULE$) || type.equals(DateType$.MODULE$);
    return new scala.Some<>(isInt ? (Object) Integer.valueOf((int) number) : Long.valueOf(number));
  }

  private static scala.math.BigInt big(long number) {
    return scala.math.BigInt.apply(number);
  }
}
