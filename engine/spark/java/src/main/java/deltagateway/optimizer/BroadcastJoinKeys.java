package deltagateway.optimizer;

import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.InternalRow$;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.util.TypeUtils$;
import org.apache.spark.sql.execution.joins.HashedRelation;
import org.apache.spark.sql.execution.joins.LongHashedRelation;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.math.Ordering;

/**
 * The keys of a broadcast relation, as a condition on each column that is joined with them. No key
 * is null.
 *
 * <p>Spark packs several whole numbers that fit into 64 bits into one, the first in the highest
 * bits (`HashJoin.rewriteKeyExpr`); other keys are rows with a column for each.
 */
final class BroadcastJoinKeys {
  /**
   * More distinct keys become a range, because each listed key is compared with the statistics of
   * each row group of each file.
   */
  private static final int LISTED_MAX = 500;

  /**
   * Share of the column's own range above which a range of keys is no condition: it prunes less
   * than Parquet's reader spends on looking for it in dictionaries.
   */
  private static final double RANGE_SHARE_MAX = 0.95;

  /** Comparing this many values that are not longs takes some ten milliseconds. */
  private static final int COMPARED_MAX = 100_000;

  private final HashedRelation relation;
  private final Seq<Expression> joined;

  /** `joined` are the keys of the other side, in their order. */
  BroadcastJoinKeys(HashedRelation relation, Seq<Expression> joined) {
    this.relation = relation.asReadOnlyCopy();
    this.joined = joined;
  }

  /**
   * Returns the condition on the key at a position; null for a type without an order of its values,
   * for too many keys, and for a range that is nearly all of `bounds`, the minimum and the maximum
   * of the column (null: unknown).
   */
  Expression condition(Expression column, int position, long[] bounds) {
    if (!isOrdered(column.dataType())) return null;
    return relation instanceof LongHashedRelation
        ? ofLongs(column, position, bounds)
        : ofValues(column, position);
  }

  /** Boxes no key that is not listed. */
  private Expression ofLongs(Expression column, int position, long[] bounds) {
    DataType type = column.dataType();
    Set<Object> listed = new HashSet<>();
    long low = Long.MAX_VALUE;
    long high = Long.MIN_VALUE;
    for (Iterator<InternalRow> keys = relation.keys(); keys.hasNext(); ) {
      long value = unpacked(keys.next().getLong(0), position);
      low = Math.min(low, value);
      high = Math.max(high, value);
      if (listed.size() <= LISTED_MAX) listed.add(number(value, type));
    }
    if (listed.size() <= LISTED_MAX) return among(column, listed);
    if (bounds != null && share(low, high, bounds) >= RANGE_SHARE_MAX) return null;
    return between(column, number(low, type), number(high, type));
  }

  /** Returns the share of the bounds that is between two values. */
  private static double share(long low, long high, long[] bounds) {
    double shared = (double) Math.min(high, bounds[1]) - Math.max(low, bounds[0]) + 1;
    return shared / ((double) bounds[1] - bounds[0] + 1);
  }

  private Expression ofValues(Expression column, int position) {
    DataType type = column.dataType();
    Ordering<Object> order = TypeUtils$.MODULE$.getInterpretedOrdering(type);
    Set<Object> listed = new HashSet<>();
    Object low = null;
    Object high = null;
    int count = 0;
    for (Iterator<InternalRow> keys = relation.keys(); keys.hasNext(); count++) {
      if (count == COMPARED_MAX) return null;
      Object value = keys.next().get(position, type);
      if (value == null) continue;
      if (listed.size() <= LISTED_MAX) listed.add(copy(value));
      if (low == null || order.compare(value, low) < 0) low = copy(value);
      if (high == null || order.compare(value, high) > 0) high = copy(value);
    }
    return listed.size() <= LISTED_MAX ? among(column, listed) : between(column, low, high);
  }

  private static Object copy(Object value) {
    return InternalRow$.MODULE$.copyValue(value);
  }

  private static Expression among(Expression column, Set<Object> listed) {
    return new InSet(column, CollectionConverters.asScala(listed).toSet());
  }

  private static Expression between(Expression column, Object low, Object high) {
    Literal lowest = new Literal(low, column.dataType());
    Literal highest = new Literal(high, column.dataType());
    return new And(new GreaterThanOrEqual(column, lowest), new LessThanOrEqual(column, highest));
  }

  /** Returns the bits of one key, with its sign. */
  private long unpacked(long packed, int position) {
    if (joined.size() == 1) return packed;
    int below = 0;
    for (int i = position + 1; i < joined.size(); i++) below += bits(i);
    return packed << (64 - below - bits(position)) >> (64 - bits(position));
  }

  private int bits(int position) {
    return 8 * joined.apply(position).dataType().defaultSize();
  }

  private static boolean isOrdered(DataType type) {
    return type instanceof ByteType
        || type instanceof ShortType
        || type instanceof IntegerType
        || type instanceof LongType
        || type instanceof DateType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType
        || type instanceof DecimalType
        || type.equals(StringType$.MODULE$);
  }

  /** Returns a number in the class in which Spark stores values of the type. */
  private static Object number(long value, DataType type) {
    if (type instanceof ByteType) return (byte) value;
    if (type instanceof ShortType) return (short) value;
    return type instanceof IntegerType ? (Object) (int) value : (Object) value;
  }
}
