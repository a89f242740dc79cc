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
import scala.jdk.javaapi.CollectionConverters;

/** The keys of a broadcast relation as a condition on the column that is joined with it. Null is never a key. */
final class JoinKeys {
  /** More distinct keys than these become a range. */
  private static final int LISTED_MAX = 1000;

  private JoinKeys() {}

  /** Null for a type whose values are not compared by what they are. */
  static Expression condition(Expression column, HashedRelation relation) {
    DataType type = column.dataType();
    if (!isOrdered(type)) return null;
    HashedRelation readable = (HashedRelation) relation.asReadOnlyCopy();
    boolean isLong = readable instanceof LongHashedRelation;
    scala.math.Ordering order = TypeUtils$.MODULE$.getInterpretedOrdering(type);
    Set listed = new HashSet();
    Object low = null;
    Object high = null;
    for (scala.collection.Iterator keys = readable.keys(); keys.hasNext(); ) {
      InternalRow key = (InternalRow) keys.next();
      Object value = isLong ? whole(key.getLong(0), type) : InternalRow$.MODULE$.copyValue(key.get(0, type));
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
