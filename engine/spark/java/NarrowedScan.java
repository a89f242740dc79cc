package deltagateway;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;

/** A planned scan of ours with more conditions, at the places where Spark puts those that it pushes down itself. */
final class NarrowedScan {
  private NarrowedScan() {}

  static boolean isOurs(SparkPlan plan) {
    return plan instanceof FileSourceScanExec
        && ((FileSourceScanExec) plan).relation().location() instanceof ListedFileIndex;
  }

  static FileSourceScanExec of(FileSourceScanExec scan, List<Expression> onConstants, List<Expression> onData) {
    List<Expression> constants = new ArrayList<>(Scala.list(scan.partitionFilters()));
    constants.addAll(onConstants);
    List<Expression> data = new ArrayList<>(Scala.list(scan.dataFilters()));
    data.addAll(onData);
    return scan.copy(
        scan.relation(), scan.stream(), scan.output(), scan.requiredSchema(), Scala.seq(constants),
        scan.optionalBucketSet(), scan.optionalNumCoalescedBuckets(), Scala.seq(data), scan.tableIdentifier(),
        scan.disableBucketedScan(), scan.copy$default$11());
  }
}
