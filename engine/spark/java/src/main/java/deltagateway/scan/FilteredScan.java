package deltagateway.scan;

import deltagateway.internals.ScalaConversions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.Seq;

/** Adds filters to planned scans of the gateway, where Spark puts those that it pushes down. */
public final class FilteredScan {
  private FilteredScan() {}

  /** Returns whether the plan is a scan of the gateway's files. */
  public static boolean isOurs(SparkPlan plan) {
    return plan instanceof FileSourceScanExec scan
        && scan.relation().location() instanceof PrunedFileIndex;
  }

  /** Returns the scan with more filters on its constants and on columns of its files. */
  public static FileSourceScanExec of(
      FileSourceScanExec scan, List<Expression> onConstants, List<Expression> onData) {
    return scan.copy(
        scan.relation(),
        scan.stream(),
        scan.output(),
        scan.requiredSchema(),
        appended(scan.partitionFilters(), onConstants),
        scan.optionalBucketSet(),
        scan.optionalNumCoalescedBuckets(),
        appended(scan.dataFilters(), onData),
        scan.tableIdentifier(),
        scan.disableBucketedScan(),
        scan.copy$default$11());
  }

  private static Seq<Expression> appended(Seq<Expression> filters, List<Expression> more) {
    List<Expression> all = new ArrayList<>(ScalaConversions.list(filters));
    all.addAll(more);
    return ScalaConversions.seq(all);
  }
}
