package deltagateway;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;

/**
 * Queries that differ in the values they compare with run the same code. Spark writes numbers, dates and times into
 * the code that it generates, so each key of a look-up is another class: to be compiled, and interpreted at first, for
 * many times what the look-up takes. Here the values of comparisons and of lists are what the code is given
 * ({@link LiteralReference}, {@link SortedValues}).
 *
 * What is compared stays Spark's, and how. It is done in filters and projections, last before code is made of a plan:
 * by then all is settled that depends on what the values are, such as what is pushed down to files. Aggregates know one
 * another by ids that a changed one has no more, so theirs are changed in the optimized plan, as it is planned. Other
 * literals stay in the code, where they are worth something: a division by a constant is a multiplication.
 */
final class SharedCode extends ColumnarRule {
  public Rule preColumnarTransitions() {
    return new References();
  }

  /** An optimized plan whose aggregates compare with references. */
  static LogicalPlan inAggregates(LogicalPlan plan) {
    return (LogicalPlan) plan.transformDown(new Operators());
  }

  private static final class References extends Rule {
    public TreeNode apply(TreeNode plan) {
      return ((SparkPlan) plan).transformUp(new Operators());
    }
  }

  private static final class Operators extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof FilterExec || node instanceof ProjectExec || node instanceof Aggregate;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      return ((QueryPlan) node).mapExpressions(new scala.runtime.AbstractFunction1() {
        public Object apply(Object expression) {
          return ((Expression) expression).transformDown(new Comparisons());
        }
      });
    }
  }

  private static final class Comparisons extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      if (SortedValues.isInlined(node)) return true;
      if (!(node instanceof BinaryComparison) && !(node instanceof In)) return false;
      List operands = Scala.list(((Expression) node).children());
      for (int i = 0; i < operands.size(); i++) {
        if (LiteralReference.isInlined((Expression) operands.get(i))) return true;
      }
      return false;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      if (node instanceof InSet) return new SortedValues(((InSet) node).child(), ((InSet) node).hset());
      List operands = new ArrayList();
      for (scala.collection.Iterator all = ((Expression) node).children().iterator(); all.hasNext(); ) {
        Expression each = (Expression) all.next();
        operands.add(LiteralReference.isInlined(each) ? new LiteralReference((Literal) each) : each);
      }
      return ((Expression) node).withNewChildren(Scala.seq(operands));
    }
  }
}
