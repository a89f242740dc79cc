package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.rewrite;
import static deltagateway.internals.ScalaConversions.seq;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.LongType$;

/**
 * Compares a decimal column of up to 18 digits with values of its type as longs, which accepts the
 * same rows. It applies to filters in a physical plan only: filters that are pushed down to files,
 * and by which files are pruned, stay decimals.
 */
final class UnscaledDecimalComparisons {
  private static final int DIGITS_MAX = 18;

  private UnscaledDecimalComparisons() {}

  /** Returns the filter itself if it has no such comparison. */
  static FilterExec rewriteFilter(FilterExec filter) {
    if (!OptimizerRule.UNSCALED_DECIMAL_COMPARISONS.isEnabled()) return filter;
    Expression condition =
        filter.condition().transformDown(rewrite(UnscaledDecimalComparisons::withLongs));
    if (condition.fastEquals(filter.condition())) return filter;
    OptimizerRule.UNSCALED_DECIMAL_COMPARISONS.count();
    return new FilterExec(condition, filter.child());
  }

  private static Expression withLongs(Expression comparison) {
    if (!(comparison instanceof In) && !(comparison instanceof BinaryComparison)) return comparison;
    List<Expression> operands = list(comparison.children());
    var type = operands.get(0).dataType();
    if (!(type instanceof DecimalType decimal) || decimal.precision() > DIGITS_MAX) {
      return comparison;
    }
    boolean isSupported =
        operands.stream().allMatch(each -> each.dataType().equals(type) && isOperand(each))
            && operands.stream().anyMatch(Attribute.class::isInstance);
    if (!isSupported) return comparison;
    return comparison.withNewChildren(
        seq(operands.stream().map(UnscaledDecimalComparisons::unscaled).toList()));
  }

  private static boolean isOperand(Expression operand) {
    if (!(operand instanceof Literal literal)) return operand instanceof Attribute;
    return literal.value() == null
        || ((Decimal) literal.value()).scale() == ((DecimalType) literal.dataType()).scale();
  }

  private static Expression unscaled(Expression operand) {
    if (!(operand instanceof Literal literal)) return new UnscaledValue(operand);
    if (literal.value() == null) return new Literal(null, LongType$.MODULE$);
    var number = ((Decimal) literal.value()).toJavaBigDecimal();
    return UnscaledDecimalRewrite.literal(number.unscaledValue().longValueExact());
  }
}
