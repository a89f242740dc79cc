package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;

/**
 * A planned scan of ours with more conditions, at the places where Spark puts those that it pushes
 * down itself.
 */
public final class FilteredScan {
  private FilteredScan() {}

  public static boolean isOurs(SparkPlan plan) {
    return plan instanceof FileSourceScanExec
        && ((FileSourceScanExec) plan).relation().location() instanceof PrunedFileIndex;
  }

  public static FileSourceScanExec of(
      FileSourceScanExec scan, List<Expression> onConstants, List<Expression> onData) {
    List<Expression> constants = new ArrayList<>(ScalaConversions.list(scan.partitionFilters()));
    constants.addAll(onConstants);
    List<Expression> data = new ArrayList<>(ScalaConversions.list(scan.dataFilters()));
    data.addAll(onData);
    return scan.copy(
        scan.relation(),
        scan.stream(),
        scan.output(),
        scan.requiredSchema(),
        ScalaConversions.seq(constants),
        scan.optionalBucketSet(),
        scan.optionalNumCoalescedBuckets(),
        ScalaConversions.seq(data),
        scan.tableIdentifier(),
        scan.disableBucketedScan(),
        scan.copy$default$11());
  }
}
