package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.emptySeq;
import static deltagateway.internals.ScalaConversions.one;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.execution.PlanLater;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;

/**
 * Strategy that plans a sample of all rows, the form of a security barrier in the plan, as its
 * child: Spark would draw a random number for each row. Conditions have been pushed down by then,
 * and no rule moves them in a physical plan.
 */
public final class FullSamples extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (!(plan instanceof Sample sample) || !isWhole(sample)) return emptySeq();
    if (!OptimizerRule.FULL_SAMPLES.isEnabled()) return emptySeq();
    OptimizerRule.FULL_SAMPLES.count();
    return one(new PlanLater(sample.child()));
  }

  private static boolean isWhole(Sample sample) {
    return !sample.withReplacement() && sample.lowerBound() <= 0 && sample.upperBound() >= 1;
  }
}
