package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.execution.PlanLater;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;

/**
 * A sample of all rows, as which a barrier is in the plan, is planned as its rows: Spark would draw
 * a number for each. By then conditions have been moved; nothing moves them in a physical plan.
 */
public final class FullSamples extends SparkStrategy {
  public scala.collection.immutable.Seq<SparkPlan> apply(LogicalPlan plan) {
    List planned = new ArrayList<>();
    if (plan instanceof Sample && isWhole((Sample) plan))
      planned.add(new PlanLater(plan.children().head()));
    return ScalaConversions.seq(planned);
  }

  private static boolean isWhole(Sample sample) {
    return !sample.withReplacement() && sample.lowerBound() <= 0 && sample.upperBound() >= 1;
  }
}
