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
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The keys of a broadcast relation as a condition on each column that is joined with them. Null is
 * never a key.
 *
 * <p>Spark packs several whole numbers that fit into 64 bits into one, the first in the highest
 * bits (`HashJoin.rewriteKeyExpr`); other keys are rows with a column for each.
 */
public final class BroadcastJoinKeys {
  /**
   * More distinct keys than these become a range: each is compared with each group of rows of each
   * file.
   */
  private static final int LISTED_MAX = 500;

  /**
   * A range that leaves out less saves less than Parquet's reader takes to look for its values in
   * dictionaries.
   */
  private static final double NEXT_TO_ALL = 0.95;

  /**
   * To compare this many values that are not longs takes some ten milliseconds, in which the query
   * waits.
   */
  private static final int COMPARED_MAX = 100_000;

  private final HashedRelation relation;
  private final Seq<Expression> joined;

  /** `joined` are the keys of the other side, in their order. */
  BroadcastJoinKeys(HashedRelation relation, Seq<Expression> joined) {
    this.relation = relation.asReadOnlyCopy();
    this.joined = joined;
  }

  /**
   * Of the key at a place; null for a type whose values are not compared by what they are, for too
   * many keys, and for a range that is next to all of `bounds`, the lowest and the highest value of
   * the column (null: unknown).
   */
  Expression condition(Expression column, int at, long[] bounds) {
    DataType type = column.dataType();
    if (!isOrdered(type)) return null;
    return relation instanceof LongHashedRelation
        ? ofLongs(column, at, bounds)
        : ofValues(column, type, at);
  }

  /** No key is made an object of unless it is listed. */
  private Expression ofLongs(Expression column, int at, long[] bounds) {
    DataType type = column.dataType();
    Set<Object> listed = new HashSet<>();
    long low = Long.MAX_VALUE;
    long high = Long.MIN_VALUE;
    for (scala.collection.Iterator<InternalRow> keys = relation.keys(); keys.hasNext(); ) {
      long value = unpacked(keys.next().getLong(0), at);
      low = Math.min(low, value);
      high = Math.max(high, value);
      if (listed.size() <= LISTED_MAX) listed.add(whole(value, type));
    }
    if (listed.size() <= LISTED_MAX) return among(column, listed);
    if (bounds != null && share(low, high, bounds) >= NEXT_TO_ALL) return null;
    return between(column, whole(low, type), whole(high, type));
  }

  /** How much of what is between the bounds is between two values. */
  private static double share(long low, long high, long[] bounds) {
    double shared = (double) Math.min(high, bounds[1]) - Math.max(low, bounds[0]) + 1;
    return shared / ((double) bounds[1] - bounds[0] + 1);
  }

  private Expression ofValues(Expression column, DataType type, int at) {
    scala.math.Ordering<Object> order = TypeUtils$.MODULE$.getInterpretedOrdering(type);
    Set<Object> listed = new HashSet<>();
    Object low = null;
    Object high = null;
    int count = 0;
    for (scala.collection.Iterator<InternalRow> keys = relation.keys(); keys.hasNext(); count++) {
      if (count == COMPARED_MAX) return null;
      Object value = keys.next().get(at, type);
      if (value == null) continue;
      if (listed.size() <= LISTED_MAX) listed.add(InternalRow$.MODULE$.copyValue(value));
      if (low == null || order.compare(value, low) < 0) low = InternalRow$.MODULE$.copyValue(value);
      if (high == null || order.compare(value, high) > 0)
        high = InternalRow$.MODULE$.copyValue(value);
    }
    return listed.size() <= LISTED_MAX ? among(column, listed) : between(column, low, high);
  }

  private static Expression among(Expression column, Set<Object> listed) {
    return new InSet(column, CollectionConverters.asScala(listed).toSet());
  }

  private static Expression between(Expression column, Object low, Object high) {
    Literal lowest = new Literal(low, column.dataType());
    Literal highest = new Literal(high, column.dataType());
    return new And(new GreaterThanOrEqual(column, lowest), new LessThanOrEqual(column, highest));
  }

  /** The bits of one key, with its sign. */
  private long unpacked(long packed, int at) {
    int below = 0;
    for (int i = at + 1; i < joined.size(); i++) below += bits(i);
    return joined.size() == 1 ? packed : packed << (64 - below - bits(at)) >> (64 - bits(at));
  }

  private int bits(int at) {
    return 8 * joined.apply(at).dataType().defaultSize();
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

  /** A whole number as Spark holds one of the type. */
  private static Object whole(long value, DataType type) {
    if (type instanceof ByteType) return Byte.valueOf((byte) value);
    if (type instanceof ShortType) return Short.valueOf((short) value);
    if (type instanceof IntegerType) return Integer.valueOf((int) value);
    return Long.valueOf(value);
  }
}
