package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import java.util.List;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;

/** The scans of a physical plan that does not run, wherever they are in it. */
public final class PhysicalScans {
  private PhysicalScans() {}

  /**
   * Asks for the files of each scan, as running it would, except for what only running tells (a
   * join's other side).
   */
  public static void chooseFiles(SparkPlan plan) {
    if (plan instanceof AdaptiveSparkPlanExec) {
      chooseFiles(((AdaptiveSparkPlanExec) plan).executedPlan());
      return;
    }
    if (plan instanceof FileSourceScanExec) ((FileSourceScanExec) plan).selectedPartitions();
    chooseAll(ScalaConversions.list(plan.children()));
    chooseAll(ScalaConversions.list(plan.subqueries()));
  }

  private static void chooseAll(List<SparkPlan> plans) {
    for (int i = 0; i < plans.size(); i++) chooseFiles(plans.get(i));
  }
}
