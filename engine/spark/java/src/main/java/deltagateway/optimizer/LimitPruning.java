package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import deltagateway.scan.FileListing;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.TableScan;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.planning.ScanOperation$;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.MarkSingleTaskExecution$;
import org.apache.spark.sql.types.StructType;

/**
 * A query of some rows of one table, whichever they are: a LIMIT without an order. Of a table's
 * files it needs those that have as many rows, by the counts of the log; a list of all files, too,
 * takes long where there are many.
 *
 * <p>Other writers wrote these counts. So where fewer rows are found than were wanted, and files
 * were left out, the query runs again over all of them ({@link #wantAll}).
 */
public final class LimitPruning {
  /**
   * A LIMIT whose rows are estimated below this runs partition by partition until it has enough.
   */
  private static final long BYTES_MAX = 64L << 20;

  private final LogicalRelation relation;
  private final FileListing files;
  private final int wanted;

  private LimitPruning(LogicalRelation relation, FileListing files, int wanted) {
    this.relation = relation;
    this.files = files;
    this.wanted = wanted;
  }

  /**
   * What the query wants, which its files are asked for from now on; null where it is another
   * query.
   */
  public static LimitPruning wantedBy(LogicalPlan optimized) {
    // A subquery may read all rows of the same files.
    if (!(optimized instanceof GlobalLimit) || !optimized.subqueriesAll().isEmpty()) return null;
    GlobalLimit limit = (GlobalLimit) optimized;
    if (!(limit.limitExpr() instanceof Literal) || !(limit.child() instanceof LocalLimit))
      return null;
    int wanted = ((Integer) ((Literal) limit.limitExpr()).value()).intValue();
    scala.Option found = ScanOperation$.MODULE$.unapply(((LocalLimit) limit.child()).child());
    if (found.isEmpty() || wanted < 1 || !areFew(wanted, optimized.schema())) return null;
    scala.Tuple4 operation = (scala.Tuple4) found.get();
    if (!RemainingFiles.isOurs(operation._4()) || !areKnown(operation)) return null;
    LogicalRelation relation = (LogicalRelation) operation._4();
    PrunedFileIndex index = RemainingFiles.index(relation);
    if (index.scan().hidden || index.listing() == null) return null;
    index.listing().want(wanted);
    return new LimitPruning(relation, index.listing(), wanted);
  }

  public static boolean areFew(int rows, StructType schema) {
    return rows >= 0 && (long) rows * schema.defaultSize() <= BYTES_MAX;
  }

  /** Whether the log can say of which files all rows are wanted. */
  private static boolean areKnown(scala.Tuple4 operation) {
    List filters = new ArrayList<>(ScalaConversions.list((scala.collection.Seq) operation._2()));
    filters.addAll(ScalaConversions.list((scala.collection.Seq) operation._3()));
    for (int i = filters.size() - 1; i >= 0; i--) {
      if (TableScan.isLive((Expression) filters.get(i))) filters.remove(i);
    }
    return EstimatedFilters.areAll(filters);
  }

  /** Whether files were left out that may have such rows. */
  public boolean leavesOut() {
    return files.leavesOut();
  }

  /** Whether there may be more rows than these in files that were left out. */
  public boolean mayHaveMore(int rows) {
    return rows < wanted && leavesOut();
  }

  /** From now on all files are listed, which may be too many for one task. */
  public void wantAll() {
    files.want(0);
    relation.unsetTagValue(MarkSingleTaskExecution$.MODULE$.markTag());
  }
}
