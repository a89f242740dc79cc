package deltagateway.guard;

import deltagateway.internals.ScalaConversions;
import deltagateway.protocol.RejectionException;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.ArrayRepeat;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Sequence;
import org.apache.spark.sql.catalyst.expressions.StringLPad;
import org.apache.spark.sql.catalyst.expressions.StringRPad;
import org.apache.spark.sql.catalyst.expressions.StringRepeat;
import org.apache.spark.sql.catalyst.expressions.StringSpace;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Values whose size the text of a statement says: `repeat('x', 1000000000)` fills the heap of a
 * Spark that all share, some times even before anything runs, since constants are evaluated while a
 * query is planned.
 *
 * <p>What depends on rows is not known here, nor is the number of rows; for these there is {@link
 * MemoryGuard}.
 */
public final class ValueSizeLimits {
  static final long BYTES_MAX = 256L << 20;

  private static final long ELEMENT_BYTES = 8;

  private ValueSizeLimits() {}

  /** Raises a refusal. What `expression` is made of has passed already. */
  static void ensureSmall(Expression expression) {
    if (bytes(expression) > BYTES_MAX)
      throw new RejectionException("cell size", expression.prettyName());
  }

  /** At least so many; 1 where nothing is known. */
  private static double bytes(Expression expression) {
    List<Expression> children = ScalaConversions.list(expression.children());
    if (expression instanceof Literal) {
      Object value = ((Literal) expression).value();
      return value instanceof UTF8String ? ((UTF8String) value).numBytes() : 1;
    }
    if (expression instanceof StringRepeat)
      return bytes(child(children, 0)) * number(child(children, 1));
    if (expression instanceof ArrayRepeat) {
      return Math.max(ELEMENT_BYTES, bytes(child(children, 0))) * number(child(children, 1));
    }
    if (expression instanceof StringSpace) return number(child(children, 0));
    if (expression instanceof StringLPad || expression instanceof StringRPad)
      return number(child(children, 1));
    if (expression instanceof Sequence) return elements(children) * ELEMENT_BYTES;
    return 1;
  }

  /** Of whole numbers; of times the steps are no numbers. */
  private static double elements(List<Expression> children) {
    if (!(child(children, 0).dataType() instanceof IntegralType)) return 1;
    Number start = value(child(children, 0)), stop = value(child(children, 1));
    if (start == null || stop == null) return 1;
    double distance = Math.abs(stop.doubleValue() - start.doubleValue());
    if (children.size() < 3) return distance;
    Number step = value(child(children, 2));
    return step == null || step.doubleValue() == 0 ? 1 : distance / Math.abs(step.doubleValue());
  }

  private static Expression child(List<Expression> children, int position) {
    return children.get(position);
  }

  private static double number(Expression expression) {
    Number found = value(expression);
    return found == null ? 1 : found.doubleValue();
  }

  /** Null where it depends on rows, or is no number. */
  private static Number value(Expression expression) {
    if (!expression.foldable()) return null;
    try {
      Object found = expression.eval(null);
      return found instanceof Number ? (Number) found : null;
    } catch (RuntimeException failure) {
      return null; // the statement will fail of it
    }
  }
}
