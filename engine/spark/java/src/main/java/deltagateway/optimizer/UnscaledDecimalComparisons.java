package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.math.BigDecimal;
import java.util.ArrayList;
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
 * Comparisons of a decimal column of up to 18 digits with values of its type, in longs: which row a
 * filter leaves is the same. It is for filters that are planned: what is pushed down to files, and
 * what files are chosen by, are decimals.
 */
public final class UnscaledDecimalComparisons extends scala.runtime.AbstractPartialFunction {
  private static final int DIGITS_MAX = 18;

  private UnscaledDecimalComparisons() {}

  static FilterExec in(FilterExec filter) {
    Expression condition = filter.condition().transformDown(new UnscaledDecimalComparisons());
    return condition.fastEquals(filter.condition())
        ? filter
        : new FilterExec(condition, filter.child());
  }

  public boolean isDefinedAt(Object node) {
    if (!(node instanceof In) && !(node instanceof BinaryComparison)) return false;
    List<Expression> operands = ScalaConversions.list(((Expression) node).children());
    int columns = 0;
    for (int i = 0; i < operands.size(); i++) {
      Expression each = operands.get(i);
      if (!isNarrow(each) || !each.dataType().equals(operands.get(0).dataType())) return false;
      if (each instanceof Attribute) columns++;
      else if (!isValue(each)) return false;
    }
    return columns > 0;
  }

  private static boolean isNarrow(Expression operand) {
    return operand.dataType() instanceof DecimalType
        && ((DecimalType) operand.dataType()).precision() <= DIGITS_MAX;
  }

  private static boolean isValue(Expression operand) {
    if (!(operand instanceof Literal)) return false;
    Object value = ((Literal) operand).value();
    return value == null || ((Decimal) value).scale() == ((DecimalType) operand.dataType()).scale();
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    List<Expression> operands = ScalaConversions.list(((Expression) node).children());
    List longs = new ArrayList<>();
    for (int i = 0; i < operands.size(); i++) {
      Expression each = operands.get(i);
      longs.add(each instanceof Literal ? unscaled((Literal) each) : new UnscaledValue(each));
    }
    return ((Expression) node).withNewChildren(ScalaConversions.seq(longs));
  }

  private static Literal unscaled(Literal decimal) {
    if (decimal.value() == null) return new Literal(null, LongType$.MODULE$);
    BigDecimal number = ((Decimal) decimal.value()).toJavaBigDecimal();
    return UnscaledDecimalRewrite.literal(number.unscaledValue().longValueExact());
  }
}
