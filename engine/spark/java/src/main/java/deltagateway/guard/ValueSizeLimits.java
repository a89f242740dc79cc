package deltagateway.guard;

import deltagateway.protocol.RejectionException;
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
 * Limits of values whose size is determined by the text of a statement: `repeat('x', 1000000000)`
 * fills the heap that all statements share, sometimes before anything runs, since constants are
 * evaluated while a query is planned.
 *
 * <p>Sizes that depend on rows, and the number of rows, are unknown here; {@link MemoryGuard}
 * limits these.
 */
final class ValueSizeLimits {
  static final long BYTES_MAX = 256L << 20;

  private static final long ELEMENT_BYTES = 8;

  private ValueSizeLimits() {}

  /** Rejects an expression whose children have passed already. */
  static void ensureSmall(Expression expression) {
    if (minimumBytes(expression) > BYTES_MAX)
      throw new RejectionException("cell size", expression.prettyName());
  }

  /** Returns a lower bound of the value's size; 1 if it is unknown. */
  private static double minimumBytes(Expression expression) {
    if (expression instanceof Literal literal)
      return literal.value() instanceof UTF8String text ? text.numBytes() : 1;
    if (expression instanceof StringRepeat repeat)
      return minimumBytes(repeat.str()) * number(repeat.times());
    if (expression instanceof ArrayRepeat repeat)
      return Math.max(ELEMENT_BYTES, minimumBytes(repeat.left())) * number(repeat.right());
    if (expression instanceof StringSpace space) return number(space.child());
    if (expression instanceof StringLPad || expression instanceof StringRPad)
      return number(expression.children().apply(1));
    if (expression instanceof Sequence sequence) return elements(sequence) * ELEMENT_BYTES;
    return 1;
  }

  /** Returns the length of a sequence of integers; steps between times are no numbers. */
  private static double elements(Sequence sequence) {
    if (!(sequence.start().dataType() instanceof IntegralType)) return 1;
    Number start = value(sequence.start());
    Number stop = value(sequence.stop());
    if (start == null || stop == null) return 1;
    double distance = Math.abs(stop.doubleValue() - start.doubleValue());
    if (sequence.stepOpt().isEmpty()) return distance;
    Number step = value(sequence.stepOpt().get());
    return step == null || step.doubleValue() == 0 ? 1 : distance / Math.abs(step.doubleValue());
  }

  private static double number(Expression expression) {
    Number value = value(expression);
    return value == null ? 1 : value.doubleValue();
  }

  /** Returns null if the value depends on rows, or is not a number. */
  private static Number value(Expression expression) {
    if (!expression.foldable()) return null;
    try {
      return expression.eval(null) instanceof Number number ? number : null;
    } catch (RuntimeException failure) {
      return null; // the statement will fail
    }
  }
}
