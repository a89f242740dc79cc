package deltagateway.session;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
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

/**
 * Puts checks into physical plans that end a task soon after it was killed: for each row of the
 * operators that produce rows without taking one for each ({@link InterruptibleRowsExec}), and for
 * the elements that a lambda function is called with ({@link InterruptibleExpression}).
 *
 * <p>Spark itself checks when a task asks for rows of a file or of an exchange, and after each
 * thousand numbers of a range, but not there if what consumes them returns after each row. A sort,
 * a window or an aggregate then takes in all of its rows, and gives out all of its results, before
 * the task ends.
 */
public final class InterruptibleTasks extends ColumnarRule {
  public Rule<SparkPlan> postColumnarTransitions() {
    return new Checks();
  }

  private static final class Checks extends Rule {
    public TreeNode apply(TreeNode plan) {
      return checked((SparkPlan) plan);
    }
  }

  private static SparkPlan checked(SparkPlan plan) {
    if (plan instanceof InterruptibleRowsExec) return plan;
    List<SparkPlan> children = ScalaConversions.list(plan.children());
    List<SparkPlan> better = new ArrayList<>();
    boolean isChanged = false;
    for (int i = 0; i < children.size(); i++) {
      better.add(checked(children.get(i)));
      isChanged |= better.get(i) != children.get(i);
    }
    SparkPlan over = isChanged ? plan.withNewChildren(ScalaConversions.seq(better)) : plan;
    SparkPlan inLambdas = over.transformExpressionsUp(new InLambdas());
    return makesRows(inLambdas) ? new InterruptibleRowsExec(inLambdas) : inLambdas;
  }

  private static boolean makesRows(SparkPlan plan) {
    if (plan.supportsColumnar()) return false;
    if (plan instanceof BaseAggregateExec)
      return !((BaseAggregateExec) plan).groupingExpressions().isEmpty();
    return plan instanceof RangeExec
        || plan instanceof FileSourceScanLike
        || plan instanceof InMemoryTableScanExec
        || plan instanceof ColumnarToRowExec
        || plan instanceof GenerateExec
        || plan instanceof SortExec
        || plan instanceof BaseJoinExec
        || plan instanceof WindowExecBase;
  }

  private static final class InLambdas extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof LambdaFunction
          && !(((LambdaFunction) node).function() instanceof InterruptibleExpression);
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      LambdaFunction lambda = (LambdaFunction) node;
      return new LambdaFunction(
          new InterruptibleExpression(lambda.function()), lambda.arguments(), lambda.hidden());
    }
  }
}
