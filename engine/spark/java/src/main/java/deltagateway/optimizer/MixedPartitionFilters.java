package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.one;
import static deltagateway.internals.ScalaConversions.rewrite;
import static deltagateway.internals.ScalaConversions.seq;

import deltagateway.scan.FilteredScan;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Strategy that plans file scans as Spark does, and prunes files by conditions that Spark does not
 * push to a scan: `p = 1 OR x > 5`, where p is a constant of the files and x is not. Spark prunes
 * by conditions on constants or on other columns; {@link deltagateway.scan.PrunedFileIndex} can by
 * both at once. The filter above the scan stays, and may compare longs ({@link
 * UnscaledDecimalComparisons}).
 *
 * <p>These conditions only prune files, so they have a form that Spark does not push into files:
 * Parquet would look for the constant in the file.
 */
public final class MixedPartitionFilters extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    List<SparkPlan> planned = new ArrayList<>(list(FileSourceStrategy.apply(plan)));
    planned.replaceAll(each -> each.transformUp(rewrite(MixedPartitionFilters::rewriteFilter)));
    return seq(planned);
  }

  private static SparkPlan rewriteFilter(SparkPlan plan) {
    if (!(plan instanceof FilterExec filter) || !FilteredScan.isOurs(filter.child())) return plan;
    FilterExec rewritten = UnscaledDecimalComparisons.rewriteFilter(filter);
    if (!OptimizerRule.MIXED_PARTITION_FILTERS.isEnabled()) return rewritten;
    var scan = (FileSourceScanExec) filter.child();
    List<Expression> mixed = new ArrayList<>();
    collect(filter.condition(), scan.relation().partitionSchema(), mixed);
    if (mixed.isEmpty()) return rewritten;
    OptimizerRule.MIXED_PARTITION_FILTERS.count();
    return rewritten.withNewChildren(one(FilteredScan.of(scan, List.of(), mixed)));
  }

  private static void collect(Expression condition, StructType constants, List<Expression> mixed) {
    if (condition instanceof And both) {
      collect(both.left(), constants, mixed);
      collect(both.right(), constants, mixed);
    } else if (isMixed(condition, constants)) {
      mixed.add(new KnownNotNull(condition));
    }
  }

  private static boolean isMixed(Expression condition, StructType constants) {
    if (!condition.deterministic() || SubqueryExpression.hasSubquery(condition)) return false;
    List<Attribute> columns = list(condition.references().toSeq());
    long count =
        columns.stream()
            .filter(column -> constants.getFieldIndex(column.name()).isDefined())
            .count();
    return count > 0 && count < columns.size();
  }
}
