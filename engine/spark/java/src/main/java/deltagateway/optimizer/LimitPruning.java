package deltagateway.optimizer;

import deltagateway.scan.FileListing;
import deltagateway.scan.PrunedFileIndex;
import deltagateway.scan.TableScan;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.MarkSingleTaskExecution$;
import org.apache.spark.sql.types.StructType;

/**
 * Prunes the files of a query with a LIMIT without an order over one table: it reads files until
 * they have enough rows, by the row counts in the log. Even the list of all files takes long for a
 * large table.
 *
 * <p>The counts may be wrong, since other writers wrote them. If fewer rows than the limit are
 * found, and files were pruned, the query runs again over all files ({@link #readAllFiles}).
 */
public final class LimitPruning {
  /**
   * Estimated size of the rows above which Spark's LIMIT is left to read partition by partition.
   */
  private static final long BYTES_MAX = 64L << 20;

  private final LogicalRelation relation;
  private final FileListing files;
  private final int limit;

  private LimitPruning(LogicalRelation relation, FileListing files, int limit) {
    this.relation = relation;
    this.files = files;
    this.limit = limit;
  }

  /** Prunes the files of the query from now on; returns null for any other query. */
  public static LimitPruning of(LogicalPlan optimized) {
    if (!OptimizerRule.LIMIT_PRUNING.isEnabled()) return null;
    // A subquery may read all rows of the same files.
    if (!(optimized instanceof GlobalLimit limit) || !optimized.subqueriesAll().isEmpty()) {
      return null;
    }
    if (!(limit.limitExpr() instanceof Literal literal)
        || !(limit.child() instanceof LocalLimit local)) {
      return null;
    }
    int rows = (Integer) literal.value();
    var scan = FilteredRelation.of(local.child());
    if (scan == null || rows < 1 || !areFew(rows, optimized.schema())) return null;
    PrunedFileIndex index = RemainingFiles.index(scan.relation());
    if (!areEstimable(scan) || index.scan().hidden || index.listing() == null) return null;
    index.listing().want(rows);
    OptimizerRule.LIMIT_PRUNING.count();
    return new LimitPruning(scan.relation(), index.listing(), rows);
  }

  public static boolean areFew(int rows, StructType schema) {
    return rows >= 0 && (long) rows * schema.defaultSize() <= BYTES_MAX;
  }

  /** Returns whether the log can report which files have only rows that the filters accept. */
  private static boolean areEstimable(FilteredRelation scan) {
    List<Expression> filters = new ArrayList<>(scan.upperFilters());
    filters.addAll(scan.filters());
    filters.removeIf(TableScan::isLive);
    return EstimatedFilters.areAll(filters);
  }

  /** Returns whether files were pruned that may have accepted rows. */
  public boolean hasPrunedFiles() {
    return files.leavesOut();
  }

  /** Returns whether pruned files may have more rows, if `rows` were found in the others. */
  public boolean mayHaveMore(int rows) {
    return rows < limit && hasPrunedFiles();
  }

  /** Lists all files from now on, which may be too many for one task. */
  public void readAllFiles() {
    files.want(0);
    relation.unsetTagValue(MarkSingleTaskExecution$.MODULE$.markTag());
  }
}
