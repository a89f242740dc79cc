package deltagateway;

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
 * The keys of a broadcast relation as a condition on each column that is joined with them. Null is never a key.
 *
 * Spark packs several whole numbers that fit into 64 bits into one, the first in the highest bits
 * (`HashJoin.rewriteKeyExpr`); other keys are rows with a column for each.
 */
final class JoinKeys {
  /** More distinct keys than these become a range: each is compared with each group of rows of each file. */
  private static final int LISTED_MAX = 500;

  private final HashedRelation relation;
  private final Seq joined;

  /** `joined` are the keys of the other side, in their order. */
  JoinKeys(HashedRelation relation, Seq joined) {
    this.relation = (HashedRelation) relation.asReadOnlyCopy();
    this.joined = joined;
  }

  /** Of the key at a place; null for a type whose values are not compared by what they are. */
  Expression condition(Expression column, int at) {
    DataType type = column.dataType();
    if (!isOrdered(type)) return null;
    boolean isLong = relation instanceof LongHashedRelation;
    scala.math.Ordering order = TypeUtils$.MODULE$.getInterpretedOrdering(type);
    Set listed = new HashSet();
    Object low = null;
    Object high = null;
    for (scala.collection.Iterator keys = relation.keys(); keys.hasNext(); ) {
      InternalRow key = (InternalRow) keys.next();
      Object value = isLong ? whole(unpacked(key.getLong(0), at), type) : InternalRow$.MODULE$.copyValue(key.get(at, type));
      if (value == null) continue;
      if (low == null || order.compare(value, low) < 0) low = value;
      if (high == null || order.compare(value, high) > 0) high = value;
      if (listed.size() <= LISTED_MAX) listed.add(value);
    }
    if (listed.size() <= LISTED_MAX) {
      return new InSet(column, CollectionConverters.asScala(listed).toSet());
    }
    return new And(
        new GreaterThanOrEqual(column, new Literal(low, type)), new LessThanOrEqual(column, new Literal(high, type)));
  }

  /** The bits of one key, with its sign. */
  private long unpacked(long packed, int at) {
    int below = 0;
    for (int i = at + 1; i < joined.size(); i++) below += bits(i);
    return joined.size() == 1 ? packed : packed << (64 - below - bits(at)) >> (64 - bits(at));
  }

  private int bits(int at) {
    return 8 * ((Expression) joined.apply(at)).dataType().defaultSize();
  }

  private static boolean isOrdered(DataType type) {
    return type instanceof ByteType || type instanceof ShortType || type instanceof IntegerType
        || type instanceof LongType || type instanceof DateType || type instanceof TimestampType
        || type instanceof TimestampNTZType || type instanceof DecimalType || type.equals(StringType$.MODULE$);
  }

  /** A whole number as Spark holds one of the type. */
  private static Object whole(long value, DataType type) {
    if (type instanceof ByteType) return Byte.valueOf((byte) value);
    if (type instanceof ShortType) return Short.valueOf((short) value);
    if (type instanceof IntegerType) return Integer.valueOf((int) value);
    return Long.valueOf(value);
  }
}
