package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.emptySeq;
import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.none;
import static deltagateway.internals.ScalaConversions.seq;

import com.fasterxml.jackson.databind.JsonNode;
import deltagateway.scan.PrunedFileIndex;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeMap;
import org.apache.spark.sql.catalyst.expressions.AttributeMap$;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.plans.logical.ColumnStat;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
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
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.math.BigInt;

/**
 * Relation with the statistics that Spark's cost model needs, from the {@link ScanEstimate} of its
 * remaining files.
 *
 * <p>Spark has its own arithmetic for each type, and fails for types that it does not expect; so
 * columns have statistics only if their type is supported, and bounds only if their numbers are
 * finite. No log has the distinct count of strings and floating point numbers. Such a column is
 * assumed to be a key if rows are joined or grouped by it, else to have a few values, so that a
 * condition on it is not estimated to accept almost nothing. While joins are ordered, the
 * dictionary of one file ({@link DictionarySizes}) gives distinct counts, also of numbers that rows
 * are joined by: a worse order costs little, except when a join multiplies rows because an assumed
 * key has few values; but a relation that is broadcast because few values were assumed to be rare
 * must fit into memory if one of them is frequent.
 *
 * <p>The class is public because Spark copies it by its constructor. Other copies may be plain
 * relations, whose size is still that of the remaining files.
 */
public final class EstimatedRelation extends LogicalRelation {
  private static final long serialVersionUID = 1L;

  /** Assumed distinct count of a column that is no key. */
  static final long FEW_VALUES = 3;

  private static final AttributeMap<ColumnStat> NO_STATISTICS =
      AttributeMap$.MODULE$.apply(emptySeq());
  private static final Set<DataType> BOUNDED =
      Set.of(
          ByteType$.MODULE$,
          ShortType$.MODULE$,
          IntegerType$.MODULE$,
          LongType$.MODULE$,
          DateType$.MODULE$,
          TimestampType$.MODULE$);
  private static final Set<DataType> UNBOUNDED =
      Set.of(
          FloatType$.MODULE$,
          DoubleType$.MODULE$,
          BooleanType$.MODULE$,
          BinaryType$.MODULE$,
          StringType$.MODULE$);

  public EstimatedRelation(LogicalRelation leaf, PrunedFileIndex files) {
    this(leaf, files, null);
  }

  /** `spark` is the session for a cached plan; null: the leaf's. */
  public EstimatedRelation(LogicalRelation leaf, PrunedFileIndex files, SparkSession spark) {
    this(
        over((HadoopFsRelation) leaf.relation(), files, spark),
        seq(list(leaf.output()).stream().map(AttributeReference.class::cast).toList()),
        leaf.catalogTable(),
        leaf.isStreaming(),
        leaf.stream());
  }

  /** Has the parameters of Spark's constructor, which it makes copies by. */
  public EstimatedRelation(
      BaseRelation relation,
      Seq<AttributeReference> output,
      Option<CatalogTable> table,
      boolean isStreaming,
      Option<SparkDataStream> stream) {
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
   * Returns false for a plain relation of the same files: a rule's result that is equal to its
   * input is discarded. Exchanges that may be reused have plain relations.
   */
  @Override
  public boolean canEqual(Object other) {
    return other instanceof EstimatedRelation;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof EstimatedRelation that
        && counted().equals(that.counted())
        && unbounded().equals(that.unbounded())
        && super.equals(other);
  }

  @Override
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
   * Returns the relation without the statistics that only serve to order joins, and without the
   * bounds of the columns with ids in `compared`.
   */
  EstimatedRelation forBroadcasts(Set<ExprId> compared) {
    Set<String> unbounded = new HashSet<>();
    for (Attribute column : list(output())) {
      if (compared.contains(column.exprId())) unbounded.add(column.name());
    }
    PrunedFileIndex files = RemainingFiles.index(this).ordered(unbounded);
    boolean isSame = counted().equals(files.counted()) && unbounded().equals(unbounded);
    return isSame ? this : new EstimatedRelation(this, files);
  }

  @Override
  public Statistics computeStats() {
    PrunedFileIndex files = RemainingFiles.index(this);
    ScanEstimate estimate = files.estimate();
    if (estimate == null || estimate.rows == null) return super.computeStats();
    if (estimate.columns.isEmpty()) return ofAllRows(estimate.rows);
    List<Tuple2<Attribute, ColumnStat>> columns = new ArrayList<>();
    for (Attribute column : list(output())) {
      JsonNode known = estimate.columns.get(column.name());
      if (known == null || !hasStatistics(column.dataType())) continue;
      ColumnStat statistics = statistics(column, known, estimate.rows);
      // Spark estimates that a join by a column without bounds returns no rows, except for strings.
      boolean isBounded =
          statistics.min().isDefined() && statistics.max().isDefined() || isText(column.dataType());
      if (isBounded || !files.isJoinKey(column.name())) {
        columns.add(new Tuple2<>(column, statistics));
      }
    }
    return new Statistics(
        BigInt.apply(Math.max(estimate.bytes, 1)),
        new Some<>(BigInt.apply(estimate.rows)),
        AttributeMap$.MODULE$.apply(seq(columns)),
        false);
  }

  private ColumnStat statistics(Attribute column, JsonNode known, long rows) {
    DataType type = column.dataType();
    boolean isKey = RemainingFiles.index(this).isKey(column.name());
    Long counted = counted().get(column.name());
    long nulls = known.get("nulls").isNull() ? 0 : Math.min(known.get("nulls").longValue(), rows);
    long assumed = isKey ? Long.MAX_VALUE : FEW_VALUES;
    long distinct = Math.min(counted == null ? assumed : counted, rows - nulls);
    if (counted == null && !known.get("distinct").isNull()) {
      distinct = known.get("distinct").longValue();
    }
    boolean hasBounds = !unbounded().contains(column.name());
    Option<Object> bytes = new Some<>((long) type.defaultSize());
    return new ColumnStat(
        new Some<>(BigInt.apply(Math.max(Math.min(distinct, rows), 1))),
        hasBounds ? bound(known.get("low"), type) : none(),
        hasBounds ? bound(known.get("high"), type) : none(),
        new Some<>(BigInt.apply(nulls)),
        bytes,
        bytes,
        none(),
        2);
  }

  /**
   * Returns the size of all rows in memory, for filters with an unknown selectivity. Files are
   * smaller: by their size Spark would broadcast too much.
   */
  private Statistics ofAllRows(long rows) {
    BigInt rowBytes = EstimationUtils$.MODULE$.getSizePerRow(output(), NO_STATISTICS);
    BigInt bytes = BigInt.apply(rows).$times(rowBytes).max(BigInt.apply(1));
    return new Statistics(bytes, none(), NO_STATISTICS, false);
  }

  private static boolean isText(DataType type) {
    return type instanceof StringType || type.equals(BinaryType$.MODULE$);
  }

  private static boolean hasStatistics(DataType type) {
    return type instanceof DecimalType || BOUNDED.contains(type) || UNBOUNDED.contains(type);
  }

  /** Returns a bound in the class in which Spark stores values of the type. */
  private static Option<Object> bound(JsonNode value, DataType type) {
    if (value.isNull()) return none();
    if (type instanceof DecimalType) {
      var number = new BigDecimal(value.textValue());
      return new Some<>(Decimal.apply(new scala.math.BigDecimal(number)));
    }
    if (!BOUNDED.contains(type)) return none();
    long number = value.longValue();
    if (type.equals(ByteType$.MODULE$)) return new Some<>((byte) number);
    if (type.equals(ShortType$.MODULE$)) return new Some<>((short) number);
    boolean isInt = type.equals(IntegerType$.MODULE$) || type.equals(DateType$.MODULE$);
    return isInt ? new Some<>((int) number) : new Some<>(number);
  }
}
