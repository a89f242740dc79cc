package deltagateway.optimizer;

import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * A decimal expression in longs: one of type BIGINT whose values are the unscaled values of the
 * decimal's, null where that is null, and the range in which they are expected.
 */
public final class UnscaledDecimal {
  final Expression expression;
  final ValueRange range;

  UnscaledDecimal(Expression expression, ValueRange range) {
    this.expression = expression;
    this.range = range;
  }
}
