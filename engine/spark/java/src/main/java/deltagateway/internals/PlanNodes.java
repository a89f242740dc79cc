package deltagateway.internals;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;

/** Nodes of logical plans that several packages create, with Spark's default arguments. */
public final class PlanNodes {
  private PlanNodes() {}

  /** Returns the expression under a name and a new id. */
  public static Alias alias(Expression expression, String name) {
    return new Alias(
        expression,
        name,
        NamedExpression$.MODULE$.newExprId(),
        ScalaConversions.emptySeq(),
        ScalaConversions.none(),
        ScalaConversions.emptySeq());
  }

  /** Returns a relation of one row without columns, which the optimizer evaluates without a job. */
  public static LocalRelation oneRow() {
    return new LocalRelation(
        ScalaConversions.emptySeq(),
        ScalaConversions.one(InternalRow.empty()),
        false,
        ScalaConversions.none());
  }
}
