package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.rewrite;

import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.SubExprUtils$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.rules.Rule;

/**
 * Prevents Spark from moving conditions of correlated subqueries above their LIMIT, which would
 * give wrong answers; so the rule has no switch.
 *
 * <p>Spark replaces a correlated LIMIT by one for each value of the outer columns. It takes an
 * equality with an expression over such a column, for example `inner_bigint = CAST(outer_int AS
 * BIGINT)`, for a condition that may be moved above the LIMIT, but does not partition the LIMIT by
 * it: the limit then applies to all rows. Spark moves no condition that is compared with true,
 * which accepts the same rows.
 */
public final class CorrelatedLimits extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan analyzed) {
    return analyzed.transformUpWithSubqueries(rewrite(CorrelatedLimits::rewriteLimit));
  }

  private static LogicalPlan rewriteLimit(LogicalPlan plan) {
    boolean isLimit =
        plan instanceof GlobalLimit || plan instanceof LocalLimit || plan instanceof Offset;
    if (!isLimit || !SubExprUtils$.MODULE$.hasOuterReferences(plan)) return plan;
    return plan.transformUp(rewrite(CorrelatedLimits::rewriteFilter));
  }

  private static LogicalPlan rewriteFilter(LogicalPlan plan) {
    if (!(plan instanceof Filter filter)) return plan;
    Expression condition = fixed(filter.condition());
    return condition == filter.condition() ? plan : new Filter(condition, filter.child());
  }

  /** Returns a condition that Spark does not move; the condition itself if Spark handles it. */
  private static Expression fixed(Expression condition) {
    if (condition instanceof And both) {
      Expression left = fixed(both.left());
      Expression right = fixed(both.right());
      return left == both.left() && right == both.right() ? both : new And(left, right);
    }
    boolean isEquality = condition instanceof EqualTo || condition instanceof EqualNullSafe;
    if (!isEquality || !SubExprUtils$.MODULE$.containsOuter(condition)) return condition;
    Expression left = condition.children().apply(0);
    Expression right = condition.children().apply(1);
    // Spark partitions the LIMIT by an inner column that equals an outer one.
    boolean isOfColumns = isColumn(left) && isColumn(right);
    boolean isFixed = right.equals(Literal.TrueLiteral());
    return isOfColumns || isFixed ? condition : new EqualNullSafe(condition, Literal.TrueLiteral());
  }

  private static boolean isColumn(Expression side) {
    return side instanceof Attribute || side instanceof OuterReference;
  }
}
