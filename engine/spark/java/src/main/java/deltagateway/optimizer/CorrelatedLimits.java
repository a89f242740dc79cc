package deltagateway.optimizer;

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

/**
 * Keeps conditions of correlated subqueries below their LIMIT.
 *
 * <p>Spark makes of a correlated LIMIT one for each value of the columns from outside. It takes an
 * equality with something made of such a column, as in `inner_bigint = CAST(outer_int AS BIGINT)`,
 * for a condition that may be moved above the LIMIT, where it has no partition for it: the limit is
 * then one of all rows. It moves no condition that is compared with true, which leaves out the same
 * rows.
 */
public final class CorrelatedLimits extends scala.runtime.AbstractPartialFunction {
  private final boolean isBelow;

  private CorrelatedLimits(boolean isBelow) {
    this.isBelow = isBelow;
  }

  public static LogicalPlan kept(LogicalPlan analyzed) {
    return analyzed.transformUpWithSubqueries(new CorrelatedLimits(false));
  }

  public boolean isDefinedAt(Object node) {
    if (isBelow)
      return node instanceof Filter
          && SubExprUtils$.MODULE$.containsOuter(((Filter) node).condition());
    boolean isLimit =
        node instanceof GlobalLimit || node instanceof LocalLimit || node instanceof Offset;
    return isLimit && SubExprUtils$.MODULE$.hasOuterReferences((LogicalPlan) node);
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    if (!isBelow) return ((LogicalPlan) node).transformUp(new CorrelatedLimits(true));
    Filter filter = (Filter) node;
    Expression condition = kept(filter.condition());
    return condition == filter.condition() ? filter : new Filter(condition, filter.child());
  }

  private static Expression kept(Expression condition) {
    if (condition instanceof And) {
      And both = (And) condition;
      Expression left = kept(both.left());
      Expression right = kept(both.right());
      return left == both.left() && right == both.right() ? both : new And(left, right);
    }
    boolean isMoved =
        (condition instanceof EqualTo || condition instanceof EqualNullSafe)
            && SubExprUtils$.MODULE$.containsOuter(condition)
            && !isOfColumns(condition.children().apply(0), condition.children().apply(1))
            && !isCompared(condition);
    return isMoved ? new EqualNullSafe(condition, Literal.TrueLiteral()) : condition;
  }

  /** Of these Spark knows by which column of its own it limits. */
  private static boolean isOfColumns(Expression left, Expression right) {
    return isPlain(left) && isPlain(right);
  }

  private static boolean isPlain(Expression side) {
    return side instanceof Attribute || side instanceof OuterReference;
  }

  /** Is it a condition that was kept here before? */
  private static boolean isCompared(Expression condition) {
    return condition.children().apply(1).equals(Literal.TrueLiteral());
  }
}
