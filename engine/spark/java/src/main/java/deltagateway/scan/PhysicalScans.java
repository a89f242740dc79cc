package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;

/** Scans of a physical plan that is explained and does not run. */
public final class PhysicalScans {
  private PhysicalScans() {}

  /**
   * Selects the files of each scan, as an execution would, except for dynamic file pruning, which
   * needs the rows of the other side of a join.
   */
  public static void chooseFiles(SparkPlan plan) {
    if (plan instanceof AdaptiveSparkPlanExec adaptive) {
      chooseFiles(adaptive.executedPlan());
      return;
    }
    if (plan instanceof FileSourceScanExec scan) scan.selectedPartitions();
    ScalaConversions.list(plan.children()).forEach(PhysicalScans::chooseFiles);
    ScalaConversions.list(plan.subqueries()).forEach(PhysicalScans::chooseFiles);
  }
}
