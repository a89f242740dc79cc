package deltagateway.optimizer;

import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * BIGINT expression with the unscaled values of a decimal expression, null where that is null, and
 * the expected range of its values.
 */
record UnscaledDecimal(Expression expression, ValueRange range) {}
