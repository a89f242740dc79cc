package deltagateway.aggregate;

import deltagateway.internals.ScalaConversions;
import deltagateway.optimizer.OptimizerRule;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Partial$;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.aggregate.HashAggregateExec;

/**
 * Spark rule that replaces partial aggregations over batches by {@link VectorizedAggregateExec},
 * where it supports their keys, functions and filter.
 */
public final class VectorizedAggregates extends ColumnarRule {
  @Override
  public Rule<SparkPlan> postColumnarTransitions() {
    return new Replacement();
  }

  private static final class Replacement extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      return OptimizerRule.VECTORIZED_AGGREGATES.isEnabled() ? replaceAll(plan) : plan;
    }

    private static SparkPlan replaceAll(SparkPlan plan) {
      List<SparkPlan> children = ScalaConversions.list(plan.children());
      List<SparkPlan> replaced = new ArrayList<>();
      boolean isChanged = false;
      for (SparkPlan child : children) {
        SparkPlan other = replaceAll(child);
        replaced.add(other);
        isChanged |= other != child;
      }
      SparkPlan own = isChanged ? plan.withNewChildren(ScalaConversions.seq(replaced)) : plan;
      return own instanceof HashAggregateExec aggregate ? replaced(aggregate) : own;
    }
  }

  private static SparkPlan replaced(HashAggregateExec aggregate) {
    if (!isPartial(aggregate)) return aggregate;
    SparkPlan below = aggregate.child();
    scala.collection.immutable.Seq<NamedExpression> projection = ScalaConversions.seq(List.of());
    if (below instanceof ProjectExec project) {
      projection = project.projectList();
      below = project.child();
    }
    scala.Option<Expression> condition = ScalaConversions.none();
    if (below instanceof FilterExec filter) {
      condition = scala.Option.apply(filter.condition());
      below = filter.child();
    }
    if (!(below.getClass() == ColumnarToRowExec.class)) return aggregate;
    SparkPlan batches = below.children().head();
    VectorizedAggregateExec vectorized =
        new VectorizedAggregateExec(aggregate, condition, projection, batches);
    if (vectorized.task() == null) return aggregate;
    OptimizerRule.VECTORIZED_AGGREGATES.count();
    return vectorized;
  }

  /** Returns whether rows go to a final aggregation, which merges several rows of a group. */
  private static boolean isPartial(HashAggregateExec aggregate) {
    if (aggregate.requiredChildDistributionExpressions().isDefined() || aggregate.isStreaming())
      return false;
    if (aggregate.initialInputBufferOffset() != 0) return false;
    for (AggregateExpression each : ScalaConversions.list(aggregate.aggregateExpressions())) {
      if (!each.mode().equals(Partial$.MODULE$) || each.isDistinct() || each.filter().isDefined()) {
        return false;
      }
    }
    return true;
  }
}
