package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.FileSourceScanLike;
import org.apache.spark.sql.execution.GenerateExec;
import org.apache.spark.sql.execution.RangeExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.joins.BaseJoinExec;
import org.apache.spark.sql.execution.window.WindowExecBase;
import scala.PartialFunction;

/**
 * Adds checks to physical plans that end a task soon after it was killed: for each row of operators
 * that produce rows without taking one for each ({@link InterruptibleRowsExec}), and for the
 * elements that a lambda function is called with ({@link InterruptibleExpression}).
 *
 * <p>Spark checks when a task requests rows of a file or of an exchange, and after each thousand
 * numbers of a range, but not if their consumer returns after each row. A sort, a window or an
 * aggregate then takes in all of its rows, and returns all of its results, before the task ends.
 */
final class InterruptibleTasks extends ColumnarRule {
  private static final PartialFunction<Expression, Expression> LAMBDAS =
      ScalaConversions.rewrite(
          node ->
              node instanceof LambdaFunction lambda
                      && !(lambda.function() instanceof InterruptibleExpression)
                  ? new LambdaFunction(
                      new InterruptibleExpression(lambda.function()),
                      lambda.arguments(),
                      lambda.hidden())
                  : node);

  @Override
  public Rule<SparkPlan> postColumnarTransitions() {
    return new Rule<>() {
      @Override
      public SparkPlan apply(SparkPlan plan) {
        return withChecks(plan);
      }
    };
  }

  private static SparkPlan withChecks(SparkPlan plan) {
    if (plan instanceof InterruptibleRowsExec) return plan;
    List<SparkPlan> children = new ArrayList<>();
    boolean isChanged = false;
    for (SparkPlan child : ScalaConversions.list(plan.children())) {
      SparkPlan checked = withChecks(child);
      isChanged |= checked != child;
      children.add(checked);
    }
    SparkPlan over = isChanged ? plan.withNewChildren(ScalaConversions.seq(children)) : plan;
    SparkPlan checked = over.transformExpressionsUp(LAMBDAS);
    return producesRows(checked) ? new InterruptibleRowsExec(checked) : checked;
  }

  private static boolean producesRows(SparkPlan plan) {
    if (plan.supportsColumnar()) return false;
    if (plan instanceof BaseAggregateExec aggregate)
      return !aggregate.groupingExpressions().isEmpty();
    return plan instanceof RangeExec
        || plan instanceof FileSourceScanLike
        || plan instanceof InMemoryTableScanExec
        || plan instanceof ColumnarToRowExec
        || plan instanceof GenerateExec
        || plan instanceof SortExec
        || plan instanceof BaseJoinExec
        || plan instanceof WindowExecBase;
  }
}
